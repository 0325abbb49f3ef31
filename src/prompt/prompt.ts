/**
 * Prompts as text: templates that are filled in strictly, and parts that are joined. What a prompt says, and when a step
 * asks for it, is the step's. Nothing is read from files.
 */
import { FlowCodeError } from '../errors/engine-errors.js'

/** What may stand in a prompt. Of anything else its author makes a text. */
export type PromptValue = string | number | boolean

/** The names in the double braces of a template, told from its literal; any name where the template is no literal. */
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

/** Fills a template in: takes a value for each of its variables, and nothing else. */
export type PromptTemplate<Variable extends string> = (
  ...values: [Variable] extends [never] ? [] : [values: Readonly<Record<Variable, PromptValue>>]
) => string

const tokens = /\{{4}|\}{4}|\{\{(.*?)\}\}|\{\{|\}\}/gs
const namePattern = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u

/**
 * Makes a function that fills in a prompt. `{{name}}` is a variable, with or without spaces in the braces. Values are put in
 * as they are: braces in them mean nothing. Single braces are text; `{{{{` and `}}}}` stand for double ones.
 *
 * A template of several lines loses the indentation that they share, and a blank line at its beginning and at its end. Text
 * on the line of the opening backtick has no part in that.
 *
 * @param text - The template. Of a literal the compiler knows the names, and finds one that is missing or misspelt.
 * @returns The function. It throws a `FlowCodeError` that names the variable where a value is missing, `undefined` or
 *   `null`, where it is no string, boolean or finite number, and where the template has no such variable.
 * @throws `FlowCodeError` for braces that are empty or have no other end, and where no name is between them.
 * @example
 * ```ts
 * const greet = promptTemplate('You speak with {{name}} of {{company}}.')
 * greet({ name: 'Ada', company: 'Fern & Kettle' }) // You speak with Ada of Fern & Kettle.
 * ```
 */
export function promptTemplate<const Text extends string>(text: Text): PromptTemplate<PromptVariables<Text>> {
  if (typeof text !== 'string') throw new FlowCodeError({ message: 'promptTemplate needs a text.' })
  const template = withoutIndentation(text)
  const refuse = (problem: string): Error => {
    const start = template.length > 40 ? `${template.slice(0, 40)}...` : template
    return new FlowCodeError({ message: `The prompt template '${start}' ${problem}.` })
  }
  const fillIn = (put: (name: string) => string): string =>
    template.replace(tokens, (token: string, inner: string | undefined) => {
      if (inner !== undefined) return put(inner.trim())
      if (token.length === 4) return token.slice(2)
      throw refuse(`has ${token} without its other end. Braces that are no variable are written ${token}${token}`)
    })
  const names = new Set<string>()
  fillIn((name) => {
    if (!namePattern.test(name)) throw refuse(`has '${name.slice(0, 40)}' in double braces, and that is no name`)
    names.add(name)
    return ''
  })
  return function prompt(given?: unknown) {
    const values = (given ?? {}) as Readonly<Record<string, unknown>>
    const problems: string[] = []
    for (const name of names) {
      const value = Object.hasOwn(values, name) ? values[name] : undefined
      if (value === undefined || value === null) problems.push(`has no value for '${name}'`)
      else if (typeof value !== 'string' && typeof value !== 'boolean' && !Number.isFinite(value)) {
        problems.push(`needs a text, a boolean or a finite number for '${name}'`)
      }
    }
    for (const name of Object.keys(values)) if (!names.has(name)) problems.push(`has no variable '${name}'`)
    if (problems.length > 0) throw refuse(problems.join(', and '))
    return fillIn((name) => String(values[name]))
  }
}

/**
 * Joins the parts of a prompt with a blank line between them. Those that are `undefined`, `false` or empty are left out.
 *
 * @throws `FlowCodeError` for a part that is no text.
 * @example
 * ```ts
 * joinPrompts('You answer for a shop.', isLate && 'The parcel is late: say so first.')
 * ```
 */
export function joinPrompts(...parts: readonly (string | false | undefined)[]): string {
  const wrong = parts.findIndex((part) => typeof part !== 'string' && part !== undefined && part !== false)
  if (wrong < 0) return parts.filter(Boolean).join('\n\n')
  throw new FlowCodeError({
    message: `joinPrompts takes texts, undefined and false; part ${wrong + 1} is none of them.`,
  })
}

function withoutIndentation(text: string): string {
  const shared = Math.min(99, ...Array.from(text.matchAll(/\n([ \t]*)\S/g), ([, space = '']) => space.length))
  return text.replace(new RegExp(`\n[ \t]{0,${shared}}`, 'g'), '\n').replace(/^[ \t\r]*\n|\n[ \t]*$/g, '')
}
