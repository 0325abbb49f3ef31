/**
 * Helpers for prompts: templates whose variables must all have values, and joining parts of a prompt.
 * Nothing is read from files.
 */
import { flowCodeError } from '../errors/engine-errors.js'

/** A value of a variable. Convert any other value to a text before. */
export type PromptValue = string | number | boolean

/** The names in the double braces of a template literal type; `string` if the type of the template is not a literal. */
export type PromptVariables<Text extends string, Found extends string = never> = string extends Text
  ? string
  : Text extends `${string}{{${infer Rest}`
    ? Rest extends `{{${infer After}`
      ? PromptVariables<After, Found>
      : Rest extends `${infer Inner}}}${infer After}`
        ? PromptVariables<After, Found | PromptVariableName<Inner>>
        : Found
    : Found

/** A name without the white space around it. */
export type PromptVariableName<Inner extends string> = Inner extends `${' ' | '\n' | '\t'}${infer Rest}`
  ? PromptVariableName<Rest>
  : Inner extends `${infer Rest}${' ' | '\n' | '\t'}`
    ? PromptVariableName<Rest>
    : Inner

/** A function that fills in a template. It takes a value for each of the variables, and no others. */
export type PromptTemplate<Variable extends string> = (
  ...values: [Variable] extends [never] ? [] : [values: Readonly<Record<Variable, PromptValue>>]
) => string

/**
 * Four braces stand for two; a pair of double braces is a variable; other double braces have no match. The bound keeps
 * a template with many of those from being searched to its end at each.
 */
const tokens = /\{{4}|\}{4}|\{\{(.{0,500}?)\}\}|\{\{|\}\}/gs
/** The names of JavaScript variables. */
const namePattern = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u

/** More shared indentation than this is not removed. */
const maxIndentation = 99

/**
 * Creates a function that fills in a prompt. `{{name}}` is a variable, with or without spaces in the braces. Values are
 * inserted as they are, including braces in them. Single braces are text; `{{{{` and `}}}}` stand
 * for literal double braces.
 *
 * The indentation that all lines of a template share is removed, and so are a blank first line and a blank last line.
 * The line of the opening backtick does not count for the indentation.
 *
 * @param text - The template. If it is a literal, the compiler checks that the names of the values match.
 * @returns The function. It throws a `FlowCodeError` that names the variable if a value is missing, `undefined`,
 *   `null`, or anything else than a string, a boolean or a finite number, and if the template has no such variable.
 * @throws `FlowCodeError` for double braces without a match, and for double braces around something that is not a name.
 * @example
 * ```ts
 * const greet = promptTemplate('You speak with {{name}} of {{company}}.')
 * greet({ name: 'Ada', company: 'Fern & Kettle' }) // You speak with Ada of Fern & Kettle.
 * ```
 */
export function promptTemplate<const Text extends string>(text: Text): PromptTemplate<PromptVariables<Text>> {
  if (typeof text !== 'string') throw flowCodeError('promptTemplate needs a string.')
  const template = withoutIndentation(text)
  const refuse = (problem: string): Error => {
    const start = template.length > 40 ? `${template.slice(0, 40)}...` : template
    return flowCodeError(`The prompt template '${start}' ${problem}.`)
  }
  const fillIn = (replacementFor: (name: string) => string): string =>
    template.replace(tokens, (token: string, inner: string | undefined) => {
      if (inner !== undefined) return replacementFor(inner.trim())
      if (token.length === 4) return token.slice(2)
      const match = token === '{{' ? '}}' : '{{'
      throw refuse(`has ${token} without ${match}. Write ${token}${token} for literal braces`)
    })
  const names = new Set<string>()
  fillIn((name) => {
    if (!namePattern.test(name)) throw refuse(`has '${name.slice(0, 40)}' in double braces, which is not a valid name`)
    names.add(name)
    return ''
  })
  return function prompt(given?: unknown) {
    const values = (given ?? {}) as Readonly<Record<string, unknown>>
    const problems = problemsOf(values, names)
    if (problems.length > 0) throw refuse(problems.join(', and '))
    return fillIn((name) => String(values[name]))
  }
}

/**
 * Joins the parts of a prompt with blank lines between them. Parts that are `undefined`, `false` or empty are left out.
 *
 * @throws `FlowCodeError` for a part of any other type.
 * @example
 * ```ts
 * joinPrompts('You answer for a shop.', isLate && 'The parcel is late: say so first.')
 * ```
 */
export function joinPrompts(...parts: readonly (string | false | undefined)[]): string {
  const wrong = parts.findIndex((part) => typeof part !== 'string' && part !== undefined && part !== false)
  if (wrong < 0) return parts.filter(Boolean).join('\n\n')
  throw flowCodeError(`joinPrompts takes strings, undefined and false; part ${wrong + 1} is something else.`)
}

/** What is wrong with the values for these variables. */
function problemsOf(values: Readonly<Record<string, unknown>>, names: ReadonlySet<string>): string[] {
  const problems: string[] = []
  for (const name of names) {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    if (value === undefined || value === null) problems.push(`has no value for '${name}'`)
    else if (!isPromptValue(value)) problems.push(`needs a string, a boolean or a finite number for '${name}'`)
  }
  for (const name of Object.keys(values)) if (!names.has(name)) problems.push(`has no variable '${name}'`)
  return problems
}

function isPromptValue(value: unknown): value is PromptValue {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

function withoutIndentation(text: string): string {
  const indentations = Array.from(text.matchAll(/\n([ \t]*)\S/g), ([, space = '']) => space.length)
  const shared = Math.min(maxIndentation, ...indentations)
  const firstLineIfBlank = /^[ \t\r]*\n/
  const lastLineIfBlank = /\n[ \t]*$/
  return text
    .replace(new RegExp(`\n[ \t]{0,${shared}}`, 'g'), '\n')
    .replace(firstLineIfBlank, '')
    .replace(lastLineIfBlank, '')
}
