/** The values of a form in one turn: which answers are taken, and which values go with them. It makes no reply. */
import { flowCodeError } from '../errors/engine-errors.js'
import type { Turn } from '../flow/turn.js'
import { issueText } from '../model/schema-issues.js'
import type { JsonValue } from '../util/json.js'
import { inputFor, type NamedField, type Option, optionsOf } from './form-fields.js'
import type { FormWords } from './words.js'

/** The part of a form's state that holds its values. */
interface Answered {
  values: Record<string, JsonValue>
  skipped?: string[]
}

/** What happened to answers: sentences for the user, by field, in the order of the fields. */
export interface Outcome {
  readonly accepted: readonly string[]
  /** What was given, and is not right. */
  readonly refused: Readonly<Record<string, string>>
  /** Values that are not right any more. */
  readonly dropped: Readonly<Record<string, string>>
}

type Read = { readonly problem: string } | { readonly value: JsonValue | undefined }

export class Answers {
  readonly fields: readonly NamedField[]
  readonly #state: () => Answered
  readonly #words: FormWords

  constructor(fields: readonly NamedField[], words: FormWords, state: () => Answered) {
    this.fields = fields
    this.#words = words
    this.#state = state
  }

  /** The values, without those of fields that a deploy removed. */
  get values(): Record<string, JsonValue> {
    return this.#valuesOf(this.fields)
  }

  /** The values that a field needs. */
  neededBy({ needs }: NamedField): Record<string, JsonValue> {
    return this.#valuesOf(this.fields.filter(({ name }) => needs.includes(name)))
  }

  #valuesOf(fields: readonly NamedField[]): Record<string, JsonValue> {
    const { values } = this.#state()
    return Object.fromEntries(
      fields.filter((one) => this.has(one)).map(({ name }) => [name, values[name] as JsonValue]),
    )
  }

  /** The fields without an answer. */
  get open(): readonly NamedField[] {
    return this.fields.filter((one) => !this.#isSettled(one))
  }

  has({ name }: NamedField): boolean {
    return Object.hasOwn(this.#state().values, name)
  }

  remove(name: string): void {
    delete this.#state().values[name]
  }

  #isSettled(one: NamedField): boolean {
    return this.has(one) || (one.optional === true && this.#state().skipped?.includes(one.name) === true)
  }

  /** Whether a field has what it needs. */
  #isReady({ needs }: NamedField): boolean {
    return this.open.every(({ name }) => !needs.includes(name))
  }

  /** What can be chosen for a field now. */
  async optionsOf(one: NamedField, turn: Turn): Promise<readonly Option[]> {
    return this.#isReady(one) ? optionsOf(one, this.neededBy(one), turn, this.#words) : []
  }

  /**
   * Takes answers, in the order of the fields, and drops the values whose check fails after that.
   *
   * @param inputs - By field; empty texts and `null` leave a field empty.
   */
  async take(inputs: Readonly<Record<string, unknown>>, turn: Turn): Promise<Outcome> {
    const accepted: string[] = []
    // Fields may have names such as `constructor`.
    const refused: Record<string, string> = Object.create(null)
    const dropped: Record<string, string> = Object.create(null)
    const changed = new Set<string>()
    for (const one of this.fields) {
      const { name } = one
      if (Object.hasOwn(inputs, name)) {
        const problem = await this.#put(one, inputs[name], turn, changed)
        if (problem === undefined) {
          accepted.push(name)
          continue
        }
        refused[name] = problem
      }
      const lost = await this.#checkAgain(one, turn, changed)
      if (lost !== undefined && refused[name] === undefined) dropped[name] = lost
    }
    return { accepted, refused, dropped }
  }

  /** @returns what is wrong */
  async #put(one: NamedField, given: unknown, turn: Turn, changed: Set<string>): Promise<string | undefined> {
    const state = this.#state()
    const { name } = one
    const read = await this.#read(one, given, turn)
    if ('problem' in read) return read.problem
    const before = JSON.stringify([state.values[name], state.skipped?.includes(name)])
    const others = (state.skipped ?? []).filter((skipped) => skipped !== name)
    if (read.value === undefined) {
      delete state.values[name]
      state.skipped = [...others, name]
    } else {
      state.values[name] = read.value
      if (others.length > 0) state.skipped = others
      else delete state.skipped
    }
    if (JSON.stringify([state.values[name], state.skipped?.includes(name)]) !== before) changed.add(name)
    return undefined
  }

  async #read(one: NamedField, given: unknown, turn: Turn): Promise<Read> {
    const empty = one.optional === true ? { value: undefined } : { problem: this.#words.needed(one.label) }
    if (isEmpty(given)) return empty
    const options = typeof given === 'string' ? await this.optionsOf(one, turn) : []
    const result = await one.schema['~standard'].validate(inputFor(one, given, options, this.#words))
    if (result.issues !== undefined) return { problem: issueText(result.issues) }
    const value = result.value as JsonValue | undefined
    if (isEmpty(value)) return empty
    const problem = await this.#check(one, value, turn)
    return problem === undefined ? { value } : { problem }
  }

  /** Drops a value whose check fails since a field that it needs has changed. */
  async #checkAgain(one: NamedField, turn: Turn, changed: Set<string>): Promise<string | undefined> {
    const { name, needs } = one
    if (!this.has(one) || !needs.some((need) => changed.has(need))) return undefined
    const problem = await this.#check(one, this.#state().values[name], turn)
    if (problem === undefined) return undefined
    this.remove(name)
    return problem
  }

  /** What `check` says, once the field has what it needs. */
  async #check(one: NamedField, value: unknown, turn: Turn): Promise<string | undefined> {
    if (one.check === undefined || !this.#isReady(one)) return undefined
    const said: unknown = await one.check(value, this.neededBy(one), turn)
    if (said === true) return undefined
    if (typeof said === 'string' && said.trim() !== '') return said
    throw flowCodeError(`check of the field '${one.name}' must return true, or a text that says what is wrong.`)
  }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '')
}
