// One small named mutation of one source file. It names code by symbol (a function, a method, a constant) and changes a
// piece within it, so that what is renamed, moved or reformatted elsewhere in the file does not unfit it.
import ts from 'typescript'

/**
 * How the code of a symbol changes. A piece of code is compared by its words and signs: white space, line breaks,
 * comments and the comma before a closing bracket do not count, and `@name` stands for any one name.
 *
 * - `piece` and `becomes`: the piece is replaced; `@name` in the replacement is what it stood for.
 * - `statement` and `becomes`: the innermost statement that has the piece is replaced, with all that is in it.
 * - `condition` and `becomes`: the condition of the one `if` that has the piece in its condition is replaced.
 * - `body`: the whole body of the function is replaced.
 *
 * @typedef {{ piece: string, becomes: string }
 *   | { statement: string, becomes: string }
 *   | { condition: string, becomes: string }
 *   | { body: string }} Edit
 */

/**
 * @typedef {object} Mutation
 * @property {string} name what goes wrong, in a few words
 * @property {string} file the source file, from the root of the repository
 * @property {string} symbol `name`, or `Class.member`
 * @property {Edit} edit
 * @property {readonly string[]} tests parts of the paths of the test files, one of which must fail
 */

/**
 * Mutations as they are written down: by file, a handful of test files for each, so that one mutation costs seconds.
 *
 * @typedef {readonly {
 *   file: string,
 *   tests: readonly string[],
 *   rows: readonly (readonly [name: string, symbol: string, edit: Edit])[],
 * }[]} MutationGroups
 */

/** @typedef {{ start: number, end: number }} Range */

/**
 * @param {string} source the text of the file
 * @param {Pick<Mutation, 'symbol' | 'edit'>} mutation
 * @returns {string} the changed text
 * @throws {Error} where the symbol or the piece is not found, is found more than once, or nothing would change
 */
export function applyMutation(source, { symbol, edit }) {
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.ES2022, true)
  const found = findSymbol(file, symbol)
  const { start, end, text } = change(file, found, edit)
  const mutated = source.slice(0, start) + text + source.slice(end)
  if (mutated === source) throw new Error('its replacement changes nothing')
  return mutated
}

/**
 * @param {ts.SourceFile} file
 * @param {ts.Node} node
 * @param {Edit} edit
 * @returns {Range & { text: string }}
 */
function change(file, node, edit) {
  if ('body' in edit) {
    const body = bodyOf(node)
    return { start: body.getStart(), end: body.end, text: `{ ${edit.body} }` }
  }
  const code = withoutComments(file)
  if ('piece' in edit) {
    const { start, end, names } = findPiece(code, node, edit.piece)
    return { start, end, text: edit.becomes.replaceAll(/@(\w+)/g, (whole, name) => names[name] ?? whole) }
  }
  const target =
    'statement' in edit ? statementWith(code, node, edit.statement) : conditionWith(code, node, edit.condition)
  return { start: target.getStart(), end: target.end, text: edit.becomes }
}

/**
 * The declaration of `symbol`. Of overloads it is the one with a body.
 *
 * @param {ts.SourceFile} file
 * @param {string} symbol
 * @returns {ts.Node}
 */
function findSymbol(file, symbol) {
  /** @type {ts.Node[]} */
  const found = []
  /** @param {ts.Node} node @param {string} path */
  const visit = (node, path) => {
    const name = nameOf(node)
    const here = name === undefined ? path : `${path}.${name}`
    if (name !== undefined && `${here}.`.endsWith(`.${symbol}.`) && !isOverload(node)) found.push(node)
    ts.forEachChild(node, (child) => visit(child, here))
  }
  visit(file, '')
  const [first, second] = found
  if (first === undefined) throw new Error(`'${symbol}' is not in the file`)
  if (second !== undefined)
    throw new Error(`'${symbol}' is in the file ${found.length} times; name what it is in as well`)
  return first
}

/** @param {ts.Node} node */
function nameOf(node) {
  if (ts.isConstructorDeclaration(node)) return 'constructor'
  const isNamed =
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isClassElement(node) ||
    ts.isVariableDeclaration(node) ||
    ts.isPropertyAssignment(node) ||
    ts.isMethodDeclaration(node)
  const name = isNamed ? node.name : undefined
  return name !== undefined && (ts.isIdentifier(name) || ts.isPrivateIdentifier(name)) ? name.text : undefined
}

/** @param {ts.Node} node */
function isOverload(node) {
  return (
    (ts.isFunctionDeclaration(node) || ts.isMethodDeclaration(node) || ts.isConstructorDeclaration(node)) &&
    node.body === undefined
  )
}

/** @param {ts.Node} node */
function bodyOf(node) {
  const owner =
    (ts.isVariableDeclaration(node) || ts.isPropertyAssignment(node) || ts.isPropertyDeclaration(node)) &&
    node.initializer !== undefined
      ? node.initializer
      : node
  const { body } = /** @type {{ body?: ts.Node }} */ (owner)
  if (body === undefined || !ts.isBlock(body)) throw new Error('it has no body in braces')
  return body
}

/**
 * The text of the file with blanks in place of comments, so that every place is where it was.
 *
 * @param {ts.SourceFile} file
 */
function withoutComments(file) {
  /** @type {string[]} */
  const texts = []
  /** @param {ts.Node} node */
  const visit = (node) => {
    if (ts.isToken(node)) {
      const start = node.getStart(file, false)
      texts.push(file.text.slice(node.pos, start).replaceAll(/\S/g, ' '), file.text.slice(start, node.end))
    }
    for (const child of node.getChildren(file)) if (!ts.isJSDoc(child)) visit(child)
  }
  visit(file)
  return texts.join('')
}

/**
 * @param {string} code
 * @param {ts.Node} node
 * @param {string} piece
 * @returns {Range & { names: Record<string, string> }}
 */
function findPiece(code, node, piece) {
  const start = node.getStart()
  const [match, ...others] = code.slice(start, node.end).matchAll(patternOf(piece))
  if (match === undefined) throw new Error(`its piece is not in the symbol: ${piece}`)
  if (others.length > 0) throw new Error(`its piece is in the symbol ${others.length + 1} times: ${piece}`)
  const at = start + match.index
  return { start: at, end: at + match[0].length, names: { ...match.groups } }
}

/** @param {string} piece */
function patternOf(piece) {
  const tokens = piece.match(/@\w+|[#\w]+|[^\w\s]/g) ?? []
  /** @type {Set<string>} */
  const names = new Set()
  const parts = tokens.map((token) => {
    if (/^[)\]}]$/.test(token)) return `(?:,\\s*)?\\${token}`
    if (!/^@\w/.test(token)) return token.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')
    const name = token.slice(1)
    if (names.has(name)) return `\\k<${name}>`
    names.add(name)
    return `(?<${name}>[#\\w$]+)`
  })
  // A word does not begin or end in the middle of another one.
  const isWord = (/** @type {string | undefined} */ sign) => sign !== undefined && /[\w#]/.test(sign)
  const before = isWord(tokens[0]?.[0]) || tokens[0]?.startsWith('@') ? '(?<![\\w$#])' : ''
  const after = isWord(tokens.at(-1)?.at(-1)) ? '(?![\\w$])' : ''
  return new RegExp(`${before}${parts.join('\\s*')}${after}`, 'g')
}

/**
 * @param {string} code
 * @param {ts.Node} node
 * @param {string} piece
 */
function statementWith(code, node, piece) {
  const range = findPiece(code, node, piece)
  const statement = innermost(node, range, (child) => ts.isStatement(child) && !ts.isBlock(child))
  if (statement === undefined) throw new Error(`its piece is in no statement: ${piece}`)
  return statement
}

/**
 * @param {string} code
 * @param {ts.Node} node
 * @param {string} piece
 */
function conditionWith(code, node, piece) {
  /** @type {ts.Expression[]} */
  const found = []
  /** @param {ts.Node} child */
  const visit = (child) => {
    if (
      ts.isIfStatement(child) &&
      patternOf(piece).test(code.slice(child.expression.getStart(), child.expression.end))
    ) {
      found.push(child.expression)
    }
    ts.forEachChild(child, visit)
  }
  visit(node)
  const [first, second] = found
  if (first === undefined) throw new Error(`its piece is in no condition of the symbol: ${piece}`)
  if (second !== undefined) throw new Error(`its piece is in ${found.length} conditions of the symbol: ${piece}`)
  return first
}

/**
 * @param {ts.Node} node
 * @param {Range} range
 * @param {(node: ts.Node) => boolean} isWanted
 * @returns {ts.Node | undefined}
 */
function innermost(node, range, isWanted) {
  let found = isWanted(node) ? node : undefined
  ts.forEachChild(node, (child) => {
    if (child.getStart() <= range.start && range.end <= child.end) found = innermost(child, range, isWanted) ?? found
  })
  return found
}
