/**
 * Finds a misspelt name in a line such as `State of AskName: nmae = nothing`, which would always be true. Which names a
 * state may have is not known, so a name is compared with those that are.
 */
import { hintAt } from '../../src/util/options.js'
import { isObject } from '../expectations/value-kinds.js'

/**
 * What is wrong with the name that a line expects to be missing.
 *
 * @param part - What the line expects: objects with one property each, the last one `undefined`.
 * @param known - States of the step, and other expectations about it.
 * @returns `undefined` if the line expects a value, or the name is not close to a known one.
 */
export function misspeltNameText(part: object, known: readonly object[]): string | undefined {
  const [[name, inner] = ['', null]] = Object.entries(part)
  const names = [...new Set(known.flatMap((state) => Object.keys(state)))]
  const values = known.map((state) => (state as Readonly<Record<string, unknown>>)[name])
  if (inner !== undefined) return isObject(inner) ? misspeltNameText(inner, values.filter(isObject)) : undefined
  if (values.some((value) => value !== undefined)) return undefined
  const hint = hintAt(
    name,
    names.filter((other) => other !== name),
  )
  return hint === '' ? undefined : `The state has no '${name}' in any case.${hint}`
}
