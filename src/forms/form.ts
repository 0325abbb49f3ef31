/** One form in one turn: what a message or a page changes, and what the form says next. Both kinds of steps use it. */
import { flowCodeError } from '../errors/engine-errors.js'
import type { Awaitable } from '../flow/base-step.js'
import { Transition } from '../flow/transition.js'
import type { Turn } from '../flow/turn.js'
import type { ReplyPart } from '../model/reply-part.js'
import type { JsonValue } from '../util/json.js'
import { Answers, type Outcome } from './answers.js'
import type { FormFields } from './field.js'
import { type NamedField, namedFields } from './form-fields.js'
import { formPart } from './form-part.js'
import { buttonsFor, replyWith } from './form-reply.js'
import { changeValue, type Reading, readMessage } from './read-message.js'
import { english, type FormWords } from './words.js'

/** The state of a form's step. */
export interface FormState {
  /**
   * The values so far, by field. A transition may give some: `go(Booking).withState({ values: { day } })`. They are
   * checked like answers when the form begins.
   */
  values: Record<string, JsonValue>
  /** The optional fields that the user left empty. */
  skipped?: string[]
  /** The field whose question is open. */
  asking?: string
  /** Whether the user was asked for a yes to these values. */
  reviewing?: boolean
  /** Wrong answers in a row. */
  wrong?: number
  /** The entry of the step for which the form has begun: see `Turn.entry`. */
  entry?: string
}

/** What the step of a form gives: see `FormStep`. */
export interface FormHost {
  state: FormState
  readonly words: Partial<FormWords>
  readonly attempts: number
  fields(turn: Turn): FormFields
  review(values: object, turn: Turn): Awaitable<string>
  done(values: object, turn: Turn): Awaitable<Transition>
  onGaveUp(turn: Turn): Awaitable<Transition | void>
}

export class Form {
  readonly id: string
  readonly #host: FormHost
  /** The fields and their values, once the form has begun. */
  declare answers: Answers

  constructor(id: string, host: FormHost) {
    this.id = id
    this.#host = host
  }

  get words(): FormWords {
    return { ...english, ...this.#host.words }
  }

  get #state(): FormState {
    return this.#host.state
  }

  /** The field whose question is open or comes next; `undefined`: the review. */
  get next(): NamedField | undefined {
    const { fields, open } = this.answers
    const asked = fields.find(({ name }) => name === this.#state.asking)
    return open.find(({ name }) => asked === undefined || asked.before.includes(name)) ?? asked
  }

  /**
   * Begins a form whose step was entered: checks the values that it has from before, or was given.
   *
   * @returns what is wrong with them, by field
   */
  async begin(turn: Turn): Promise<Outcome['refused']> {
    this.answers ??= this.#answersOf(turn)
    if (this.#state.entry === turn.entry) return {}
    // Another release may have stored something else.
    const { values, skipped } = this.#state
    const given = Object(values) as FormState['values']
    const isEmpty = Object.keys(given).length === 0
    this.#host.state = { values: {}, entry: turn.entry, ...(skipped && !isEmpty && { skipped }) }
    const { refused } = await this.take(given, turn)
    delete this.#state.asking
    return refused
  }

  /** @throws `FlowCodeError` for fields or words that cannot be used */
  #answersOf(turn: Turn): Answers {
    const { words } = this
    if (!words.change.every((pattern) => pattern.includes('{field}'))) {
      throw flowCodeError(`words.change of form '${this.id}' must have {field} in each pattern.`)
    }
    return new Answers(namedFields(this.id, this.#host.fields(turn)), words, () => this.#state)
  }

  /** Takes answers. The first field whose answer is refused is asked again, or else the first whose value is dropped. */
  async take(inputs: Readonly<Record<string, unknown>>, turn: Turn): Promise<Outcome> {
    const outcome = await this.answers.take(inputs, turn)
    const state = this.#state
    const [again] = Object.keys({ ...outcome.refused, ...outcome.dropped })
    if (again !== undefined) state.asking = again
    else if (outcome.accepted.includes(state.asking ?? '')) delete state.asking
    // The user has not seen the review of these values.
    delete state.reviewing
    return outcome
  }

  /**
   * Whether the question that the user has been asked is the one that is open. A deploy may have changed the fields since,
   * and an event the values.
   */
  get #isAsked(): boolean {
    const { asking, reviewing = false } = this.#state
    const { next } = this
    return next === undefined ? reviewing : !reviewing && (asking ?? next.name) === next.name
  }

  /** Reads a message, and hides it if it answers a secret field. */
  read(turn: Turn): Reading {
    const { id, next, words } = this
    const { fields } = this.answers
    const { asking } = this.#state
    const isAsked = this.#isAsked
    const asked = isAsked ? next : undefined
    const isReview = isAsked && next === undefined
    const read = readMessage(turn, { id, fields, asked, isReview, words })
    if (read.kind === 'set' && read.field.secret && read.value !== null) hide(read.field, turn)
    if (read.kind !== 'text') return read
    if (asked?.secret) {
      const { message: value } = turn
      hide(asked, turn)
      return { kind: 'set', field: asked, value }
    }
    if (isAsked || asking === undefined) return read
    // Its question was asked, and is not the open one any more, or even gone: nothing is taken.
    const former = fields.find(({ name }) => name === asking)
    if (former !== undefined && !former.secret) return read
    hide(former, turn)
    return { kind: 'again' }
  }

  get #hasSecrets(): boolean {
    return this.answers.fields.some(({ secret }) => secret)
  }

  /** Does what a message says. */
  async follow(reading: Reading, turn: Turn): Promise<Transition> {
    switch (reading.kind) {
      case 'yes':
        // If it stays here, the next yes needs a new review.
        delete this.#state.reviewing
        return this.#done(turn)
      case 'again':
        return this.ask(turn)
      case 'no':
        delete this.#state.wrong
        return this.#askWhatToChange(turn)
      case 'change':
        delete this.#state.wrong
        this.#state.asking = reading.field.name
        return this.ask(turn)
      case 'set':
        return this.#answer(reading.field.name, reading.value, turn)
      default: {
        if (!this.#isAsked) return this.ask(turn)
        const { next } = this
        if (next !== undefined) return this.#answer(next.name, turn.message, turn)
        // It may have named a secret, and holds nothing that is taken.
        if (this.#hasSecrets) hide(undefined, turn)
        return (await this.#countWrong(turn)) ?? this.#askWhatToChange(turn)
      }
    }
  }

  async #done(turn: Turn): Promise<Transition> {
    const transition: unknown = await this.#host.done(this.answers.values, turn)
    if (Transition.isInstance(transition)) return transition
    throw flowCodeError(`done() of form '${this.id}' must return a transition, such as finish().`)
  }

  async #answer(name: string, value: string | null, turn: Turn): Promise<Transition> {
    const { refused, dropped } = await this.take({ [name]: value }, turn)
    return this.goOn(turn, Object.values({ ...refused, ...dropped }), Object.hasOwn(refused, name))
  }

  #askWhatToChange(turn: Turn): Transition {
    const { fields } = this.answers
    const options = fields.map(({ name, label }) => ({ value: changeValue(name), label }))
    const text = this.words.whatToChange(fields.map(({ label }) => label))
    return replyWith([text], buttonsFor(this.id, options, turn))
  }

  /**
   * Asks the next question, unless the user gave too many wrong answers in a row.
   *
   * @param problems - What to say before.
   */
  async goOn(turn: Turn, problems: readonly string[], isWrong: boolean): Promise<Transition> {
    if (!isWrong) delete this.#state.wrong
    const gaveUp = isWrong ? await this.#countWrong(turn) : undefined
    return gaveUp ?? this.ask(turn, problems)
  }

  async #countWrong(turn: Turn): Promise<Transition | undefined> {
    const state = this.#state
    state.wrong = (state.wrong ?? 0) + 1
    if (state.wrong < this.#host.attempts) return undefined
    delete state.wrong
    return (await this.#host.onGaveUp(turn)) ?? undefined
  }

  /** Asks the next question, or for a yes. */
  async ask(turn: Turn, before: readonly string[] = []): Promise<Transition> {
    const state = this.#state
    const { next, answers } = this
    if (next === undefined) {
      delete state.asking
      state.reviewing = true
      const text = await this.#host.review(answers.values, turn)
      const { yes, no } = this.words
      const options = Object.entries({ yes, no }).map(([value, [label = value]]) => ({ value, label }))
      return replyWith([...before, text], buttonsFor(this.id, options, turn))
    }
    state.asking = next.name
    delete state.reviewing
    const text = await this.question(next, turn)
    return replyWith([...before, text], buttonsFor(next.name, await answers.optionsOf(next, turn), turn))
  }

  /** The question of a field. */
  question(one: NamedField, turn: Turn): Awaitable<string> {
    return typeof one.ask === 'string' ? one.ask : one.ask(this.answers.neededBy(one), turn)
  }

  /** Removes a value, and asks again. */
  async askAgain(name: string, problem: string, turn: Turn): Promise<Transition> {
    await this.begin(turn)
    if (!this.answers.fields.some((one) => one.name === name)) {
      throw flowCodeError(`askAgain: form '${this.id}' has no field '${name}'.`)
    }
    this.answers.remove(name)
    this.#state.asking = name
    return this.ask(turn, [problem])
  }

  /** Takes what a page has sent. */
  async submit(payload: Readonly<Record<string, unknown>>, turn: Turn): Promise<Transition> {
    await this.begin(turn)
    const { answers, words } = this
    // A page may be older than the names of the fields.
    if (this.#hasSecrets) turn.hideMessage('')
    const { refused, dropped } = await this.take(payload, turn)
    const { open } = answers
    const wrong: Record<string, string> = {}
    for (const one of answers.fields) {
      const isMissing = one.optional !== true && open.includes(one)
      const problem = refused[one.name] ?? dropped[one.name] ?? (isMissing ? words.needed(one.label) : undefined)
      if (problem !== undefined) wrong[one.name] = problem
    }
    const [first] = Object.keys(wrong)
    if (first === undefined) {
      // The user has seen the other fields, and left them empty.
      await this.take(Object.fromEntries(open.map(({ name }) => [name, null])), turn)
      return this.goOn(turn, [], false)
    }
    const gaveUp = await this.#countWrong(turn)
    if (gaveUp !== undefined) return gaveUp
    this.#state.asking = first
    delete this.#state.reviewing
    return replyWith(Object.values(wrong), [await this.asPart(turn, wrong)])
  }

  /** The form for a page. */
  async asPart(turn: Turn, errors?: Readonly<Record<string, string>>): Promise<ReplyPart> {
    await this.begin(turn)
    return formPart(this.id, this.answers, turn, errors)
  }

  /** The default review. */
  async review(turn: Turn): Promise<string> {
    const { answers } = this
    const { values } = answers
    const rows: [string, string][] = []
    for (const one of answers.fields) {
      if (!answers.has(one)) continue
      const value = values[one.name]
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      const option = (await answers.optionsOf(one, turn)).find((option) => option.value === text)
      rows.push([one.label, one.secret ? '•••' : (option?.label ?? text)])
    }
    return this.words.review(rows)
  }
}

/** Hides a message that holds, or may hold, a secret. */
function hide(field: NamedField | undefined, turn: Turn): void {
  turn.hideMessage(`[${field?.label ?? '?'}]`)
}
