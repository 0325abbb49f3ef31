// Reads docs/security.md: the tests that it names, its promises, and the rows of its tables against lists of OWASP.
// What must hold of them is up to security-page.test.ts.
import ts from 'typescript'
import { findTestTitles, literalText } from './test-titles.js'

/** A test that the page names. */
export interface NamedTest {
  readonly path: string
  readonly title: string
}

/** One row of a table against a list of OWASP. */
export interface Row {
  /** Such as `7.2.3`, `API1` or `LLM06`. */
  readonly id: string
  /** Such as `met` or `met, yours`. */
  readonly verdict: string
  /** The last cell: the place that meets it, its owner, or the reason that it is not met. */
  readonly where: string
}

/** The tests that a text names, in its order: a path, and one or more titles after it. */
export function namedTests(page: string): NamedTest[] {
  const found = page.matchAll(/`((?:src|adapters|testing|examples)\/[\w./-]+\.ts)` ("[^"|]+"(?:, "[^"|]+")*)/g)
  return Array.from(found, ([, path = '', titles = '']) =>
    Array.from(titles.matchAll(/"([^"]+)"/g), ([, title = '']) => ({ path, title })),
  ).flat()
}

/** The promises of the page by number, `P1` and so on, each with its row. */
export function promisesOf(page: string): Map<string, string> {
  return new Map(Array.from(page.matchAll(/^\| (P\d+) \| (.*) \|$/gm), ([, id = '', row = '']) => [id, row]))
}

/** The rows of the tables that begin with a number of OWASP and have a verdict. */
export function rowsOf(page: string): Row[] {
  const rows = page.matchAll(/^\| ((?:API|LLM)\d+|\d+\.[\d.]+) \| [^|]+ \| ([^|]+) \| ([^|]+) \|$/gm)
  return Array.from(rows, ([, id = '', verdict = '', where = '']) => ({ id, verdict, where }))
}

/** The names of the cases in a file of a suite: the property `name` of each. */
function caseNames(source: string): string[] {
  const names: string[] = []
  function visit(node: ts.Node): void {
    if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name) && node.name.text === 'name') {
      const name = literalText(node.initializer)
      if (name !== undefined) names.push(name)
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('scanned.ts', source, ts.ScriptTarget.Latest))
  return names
}

/**
 * The titles that a file may be named for. A test that needs a program counts: CI counts it as failed if it is skipped.
 */
export function titlesIn(path: string, source: string): string[] {
  const titles = findTestTitles(source, { alsoForms: ['skipIf'] })
  return path.endsWith('-cases.ts') ? [...titles, ...caseNames(source)] : titles
}
