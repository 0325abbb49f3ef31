/** How a model reads one message into a form. */
import { type Tool, tool } from '../flow/tool.js'
import { Transition } from '../flow/transition.js'
import type { Turn } from '../flow/turn.js'
import type { Form } from './form.js'
import type { NamedField } from './form-fields.js'
import { propertiesOf } from './form-part.js'
import type { Reading } from './read-message.js'
import { anyObject } from './submission.js'

const nothingToRead = 'Answer with: ok'

const instructions = `Read the user's last message into a form. Call set_fields with each value that the message gives or corrects; null leaves an optional field empty. Do not guess. If a value is refused, give another one only if the user said it.
Then, if the message asks or says anything else, answer that briefly, in the user's language; otherwise answer: ok
The form itself asks and confirms: never ask for a field, and never say that anything is done.`

export class ModelReading {
  readonly #form: Form
  /** Which message the rest belongs to. */
  #of: string | undefined
  /** What the message says without a model. */
  #reading: Reading = { kind: 'text' }
  #hasSet = false
  #hasAccepted = false
  /** What is wrong, by field. */
  #problems: Record<string, string> = {}

  constructor(form: Form) {
    this.#form = form
  }

  /** The tools for the message. */
  async tools(turn: Turn): Promise<readonly Tool[]> {
    await this.#begin(turn)
    if (this.#isRead) return []
    return [
      tool({
        name: 'set_fields',
        description: 'Sets fields of the form.',
        input: anyObject,
        inputJsonSchema: {
          type: 'object',
          properties: await propertiesOf(this.#fields, this.#form.answers, false, turn),
          additionalProperties: false,
        },
        execute: (values) => this.#set(values, turn),
      }),
    ]
  }

  async prompt(turn: Turn): Promise<string> {
    await this.#begin(turn)
    if (this.#isRead) return nothingToRead
    const { next, answers } = this.#form
    const { values, open } = answers
    const fields = this.#fields.map((one) => {
      const value = answers.has(one) ? JSON.stringify(values[one.name]) : undefined
      const empty = open.includes(one) ? 'open' : 'empty'
      return `- ${one.name} (${one.label}${one.optional === true ? ', optional' : ''}): ${value ?? empty}`
    })
    const asked = next === undefined ? 'Is all of this right?' : await this.#form.question(next, turn)
    return [
      instructions,
      `Now: ${new Date(turn.now).toISOString()}`,
      'The form:',
      ...fields,
      `The user was asked: ${asked}`,
    ].join('\n')
  }

  /** The fields that a model may know. */
  get #fields(): readonly NamedField[] {
    return this.#form.answers.fields.filter(({ secret }) => !secret)
  }

  /** Whether there is nothing for a model to read. */
  get #isRead(): boolean {
    return this.#reading.kind !== 'text'
  }

  async #begin(turn: Turn): Promise<void> {
    const of = `${turn.entry} ${turn.returned?.from}`
    if (this.#of === of) return
    this.#of = of
    this.#hasSet = false
    this.#hasAccepted = false
    this.#problems = { ...(await this.#form.begin(turn)) }
    // After a question in between, the model reads only that it was answered.
    if (turn.returned !== undefined) this.#reading = { kind: 'again' }
    else this.#reading = turn.entered ? { kind: 'text' } : this.#form.read(turn)
  }

  /** @returns what the model reads */
  async #set(values: Readonly<Record<string, unknown>>, turn: Turn): Promise<object> {
    const { next, answers } = this.#form
    const given: Record<string, unknown> = {}
    const other: Record<string, string> = {}
    for (const [name, value] of Object.entries(values)) {
      const one = this.#fields.find((known) => known.name === name)
      if (one === undefined) other[name] = 'There is no such field.'
      // Some models give null for each field that the message does not name.
      else if (value === null && one !== next && !answers.has(one)) other[name] = 'It was not asked yet.'
      else given[name] = value
    }
    const { accepted, refused, dropped } = await this.#form.take(given, turn)
    this.#hasSet ||= Object.keys(given).length > 0
    this.#hasAccepted ||= accepted.length > 0
    for (const name of accepted) delete this.#problems[name]
    Object.assign(this.#problems, dropped, refused)
    return { accepted, refused: { ...refused, ...other }, dropped }
  }

  /** What the form says after the model's answer. */
  async end(answer: string, turn: Turn): Promise<Transition> {
    await this.#begin(turn)
    const transition = await this.#go(answer, turn)
    const { kind, feedback, ...fields } = transition?.fields ?? {}
    // From `onReply`, it would have the model answer again, and `done` run again.
    return kind === 'stay' && feedback !== undefined
      ? new Transition({ ...fields, kind: 'reply', reply: feedback })
      : transition
  }

  async #go(answer: string, turn: Turn): Promise<Transition> {
    const form = this.#form
    if (this.#isRead) {
      const reading = this.#reading
      this.#reading = { kind: 'again' }
      return form.follow(reading, turn)
    }
    const problems = Object.values(this.#problems)
    if (this.#hasSet) return form.goOn(turn, problems, !this.#hasAccepted)
    const text = answer.trim()
    return form.ask(turn, /^\W*ok(ay)?\W*$/i.test(text) ? problems : [...problems, text])
  }

  /** What the form says if no model answers: `undefined` if that needs one. */
  async withoutModel(turn: Turn): Promise<Transition | undefined> {
    return this.#isRead ? this.end('', turn) : undefined
  }
}
