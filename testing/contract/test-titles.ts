// Finds the titles of the tests in a file: the first argument of `test(...)`, `it(...)` and of their `each`, `for`,
// `concurrent`, `sequential` and `only` forms. Comments, names of groups, skipped tests and tests in a skipped group do
// not count. What the titles are compared with is up to cited-ids.ts and security-page.ts.
import ts from 'typescript'

/** The forms of a test that always runs. */
const runningForms: readonly string[] = ['each', 'for', 'concurrent', 'sequential', 'only']

export interface TitleOptions {
  /** Further forms whose tests count. With `skipIf`, tests that are skipped if a program is not installed count too. */
  readonly alsoForms?: readonly string[]
}

/**
 * The function that is called in the end, and the forms on the way: `test.concurrent.each(rows)` is
 * `test`, [concurrent, each].
 */
function unwrapCallee(callee: ts.Expression): { name: string; forms: string[] } {
  if (ts.isCallExpression(callee)) return unwrapCallee(callee.expression)
  if (ts.isTaggedTemplateExpression(callee)) return unwrapCallee(callee.tag)
  if (ts.isPropertyAccessExpression(callee)) {
    const { name, forms } = unwrapCallee(callee.expression)
    return { name, forms: [...forms, callee.name.text] }
  }
  return { name: ts.isIdentifier(callee) ? callee.text : '', forms: [] }
}

/**
 * The text of a string literal or template, with `…` for what a template computes; `undefined`
 * for any other expression.
 */
export function literalText(node: ts.Expression | undefined): string | undefined {
  if (node === undefined) return undefined
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isTemplateExpression(node))
    return [node.head, ...node.templateSpans.map((span) => span.literal)].map((part) => part.text).join('…')
  return undefined
}

/**
 * The title of a test; `undefined` if the call is neither a test with a literal title nor a skipped group of tests.
 */
function readCall(
  call: ts.CallExpression,
  forms: ReadonlySet<string>,
): { readonly title: string } | 'skipped group' | undefined {
  const callee = unwrapCallee(call.expression)
  const runs = callee.forms.every((form) => forms.has(form))
  if (callee.name === 'describe' && !runs) return 'skipped group'
  if ((callee.name !== 'test' && callee.name !== 'it') || !runs) return undefined
  const title = literalText(call.arguments[0])
  return title === undefined ? undefined : { title }
}

/**
 * The titles of the tests of one file, in the order they appear, as they are written: `%s`
 * represents a value of `each`.
 *
 * @param source the text of a TypeScript file
 *
 * @example
 * ```ts
 * findTestTitles("test('a failure is an envelope', run)") // ['a failure is an envelope']
 * findTestTitles("test.skip('later', run)") // []
 * ```
 */
export function findTestTitles(source: string, { alsoForms = [] }: TitleOptions = {}): string[] {
  const forms = new Set([...runningForms, ...alsoForms])
  const titles: string[] = []
  function visit(node: ts.Node): void {
    const found = ts.isCallExpression(node) ? readCall(node, forms) : undefined
    if (found === 'skipped group') return
    if (found !== undefined) titles.push(found.title)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('scanned.ts', source, ts.ScriptTarget.Latest))
  return titles
}
