// Finds the requirement ids that tests cite in their titles. A citation counts only in the title of a test that runs:
// the first argument of `test(...)`, `it(...)` and of their `each`, `for`, `concurrent`, `sequential` and `only` forms.
// Comments, names of groups, skipped tests and tests in a skipped group do not count. Which files are read, and what
// is done about an uncited requirement, is up to coverage.test.ts.
import ts from 'typescript'

const COUNTED_FORMS: ReadonlySet<string> = new Set(['each', 'for', 'concurrent', 'sequential', 'only'])
const CITATION = /\[((?:\d+(?:\.\d+)?-\d+)(?: \d+(?:\.\d+)?-\d+)*)\]/g

/** The function that is called in the end, and the forms on the way: `test.concurrent.each(rows)` is `test`, [concurrent, each]. */
function unwrapCallee(callee: ts.Expression): { name: string; forms: string[] } {
  if (ts.isCallExpression(callee)) return unwrapCallee(callee.expression)
  if (ts.isTaggedTemplateExpression(callee)) return unwrapCallee(callee.tag)
  if (ts.isPropertyAccessExpression(callee)) {
    const { name, forms } = unwrapCallee(callee.expression)
    return { name, forms: [...forms, callee.name.text] }
  }
  return { name: ts.isIdentifier(callee) ? callee.text : '', forms: [] }
}

/** The text of a string literal or template, without what a template computes; `undefined` for any other expression. */
function literalText(node: ts.Expression | undefined): string | undefined {
  if (node === undefined) return undefined
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isTemplateExpression(node))
    return [node.head, ...node.templateSpans.map((span) => span.literal)].map((part) => part.text).join('')
  return undefined
}

/** The ids in the title of a test; `undefined` where the call is neither a test nor a skipped group of tests. */
function readCall(call: ts.CallExpression): { ids: string[] } | 'skipped group' | undefined {
  const { name, forms } = unwrapCallee(call.expression)
  const counted = forms.every((form) => COUNTED_FORMS.has(form))
  if (name === 'describe' && !counted) return 'skipped group'
  if ((name !== 'test' && name !== 'it') || !counted) return undefined
  const title = literalText(call.arguments[0]) ?? ''
  return { ids: Array.from(title.matchAll(CITATION), ([, ids = '']) => ids.split(' ')).flat() }
}

/**
 * The ids cited by the tests of one file, each once, in the order they appear.
 *
 * @param source the text of a TypeScript file
 *
 * @example
 * ```ts
 * findCitedIds("test('[4.1-3 4.1-9] a failure is an envelope', run)") // ['4.1-3', '4.1-9']
 * findCitedIds("test.skip('[4.1-3] later', run)") // []
 * ```
 */
export function findCitedIds(source: string): string[] {
  const cited = new Set<string>()
  function visit(node: ts.Node): void {
    const found = ts.isCallExpression(node) ? readCall(node) : undefined
    if (found === 'skipped group') return
    for (const id of found?.ids ?? []) cited.add(id)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('scanned.ts', source, ts.ScriptTarget.Latest))
  return [...cited]
}

/**
 * The relative imports of a test file that hold shared test bodies: files whose names end in `cases` or `suite`. They
 * are not test files themselves, so their titles count for the test files that run them.
 */
export function findSharedBodies(source: string): string[] {
  return ts
    .preProcessFile(source)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((name) => /^\.{1,2}\/(?:.*[/-])?(?:cases|suite)\.js$/.test(name))
}
