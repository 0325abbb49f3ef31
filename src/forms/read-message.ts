/** What a message says to a form, without a model: a yes, a correction, an answer. */
import type { Turn } from '../flow/turn.js'
import type { NamedField } from './form-fields.js'
import { type FormWords, isSaid, plainText } from './words.js'

/** What the user wants. */
export type Reading =
  | { readonly kind: 'yes' | 'no' }
  /** Nothing: the question is asked again. */
  | { readonly kind: 'again' }
  /** Ask a field again. */
  | { readonly kind: 'change'; readonly field: NamedField }
  /** Take an answer; `null` leaves the field empty. */
  | { readonly kind: 'set'; readonly field: NamedField; readonly value: string | null }
  /** Anything else: the answer to the open question. */
  | { readonly kind: 'text' }

/** What the user has been asked. */
interface Open {
  /** The form's ID, the name of its buttons. */
  readonly id: string
  readonly fields: readonly NamedField[]
  /** The field that was asked. */
  readonly asked: NamedField | undefined
  readonly isReview: boolean
  readonly words: FormWords
}

/** The value of the option that asks a field again. */
export const changeValue = (name: string): string => `change ${name}`

export function readMessage({ message, choice }: Pick<Turn, 'message' | 'choice'>, open: Open): Reading {
  const { id, fields, asked, isReview, words } = open
  const said = message.trim().normalize()
  if (asked !== undefined && choice?.name === asked.name) return { kind: 'set', field: asked, value: choice.value }
  const correction = correctionOf(said, fields, words)
  if (correction !== undefined) return correction
  if (asked !== undefined && isOneOf(words.skip, said)) return { kind: 'set', field: asked, value: null }
  // A button of another list may have the same label.
  const isForForm = isReview && (choice === undefined || choice.name === id)
  return isForForm ? readAtReview(said, choice?.value, open) : { kind: 'text' }
}

function readAtReview(said: string, pressed: string | undefined, { fields, words }: Open): Reading {
  if (pressed === 'yes' || isOneOf(words.yes, said)) return { kind: 'yes' }
  if (pressed === 'no' || isOneOf(words.no, said)) return { kind: 'no' }
  const named = fields.find((one) => pressed === changeValue(one.name) || isOneOf(namesOf(one), said))
  return named === undefined ? { kind: 'text' } : { kind: 'change', field: named }
}

function correctionOf(said: string, fields: readonly NamedField[], { change, skip }: FormWords): Reading | undefined {
  const compared = plainText(said)
  // Most messages are answers and name no field, so that no pattern is made.
  const named = fields
    .flatMap((field) => namesOf(field).map((name) => ({ field, name })))
    .filter(({ name }) => compared.includes(plainText(name)))
    // "time to call" before "time"
    .sort((one, other) => other.name.length - one.name.length)
  for (const { field, name } of named) {
    const match = change.map((pattern) => patternFor(pattern, name).exec(said)).find((one) => one !== null)
    if (match === undefined) continue
    const value = match?.groups?.value
    if (value === undefined) return { kind: 'change', field }
    return { kind: 'set', field, value: isOneOf(skip, value) ? null : value }
  }
  return undefined
}

function namesOf({ name, label }: NamedField): readonly string[] {
  return [label, name]
}

function patternFor(pattern: string, name: string): RegExp {
  const source = pattern
    .split(/(\{field\}|\{value\}|\s+)/)
    .map((piece) => {
      if (piece === '{field}') return escaped(name)
      return piece === '{value}' ? '(?<value>\\S(?:.*?\\S)?)' : escaped(piece)
    })
    .join('')
  return new RegExp(`^¡?${source}\\s*[.!…。！]{0,3}$`, 'isu')
}

function escaped(text: string): string {
  const literal = text.normalize().replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
  return literal.replaceAll(/\s+/g, '\\s+').replaceAll(/['’]/g, "['’]")
}

function isOneOf(words: readonly string[], said: string): boolean {
  return words.some((word) => isSaid(word, said))
}
