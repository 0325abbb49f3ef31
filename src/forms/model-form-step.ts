/** Forms that a model reads: several fields in a message, in the user's words. */
import type { Awaitable, StepConstructor } from '../flow/base-step.js'
import type { FlowEvent } from '../flow/event.js'
import { Step } from '../flow/step.js'
import type { Tool } from '../flow/tool.js'
import type { Transition } from '../flow/transition.js'
import type { Turn } from '../flow/turn.js'
import type { ReplyPart } from '../model/reply-part.js'
import type { FormFields } from './field.js'
import { Form, type FormState } from './form.js'
import { ModelReading } from './model-reading.js'
import { submission } from './submission.js'
import type { FormWords } from './words.js'

/**
 * A form like `FormStep`, with the same members, whose user writes freely: a model reads several fields out of a message,
 * and corrections ("no, the date was the 4th"). The form checks every value, asks its own questions, and calls `done`
 * after the user's own yes; the model can do neither.
 *
 * Each message is one model call or more. Buttons, `skip`, `change day`, a yes, and the answer to a secret field are
 * read without the model, and work if no model answers. If a message holds no value, the model's text is said before the
 * question.
 *
 * @example
 * ```ts
 * class Booking extends ModelFormStep {
 *   static override readonly id = 'Booking'
 *   override fields() { return { day: field(Day, { ask: 'Which day?' }), name: field(Name, { ask: 'Your name?' }) } }
 *   override done({ day, name }: FormValues<Booking>) { return finish(`Booked, ${name}: ${day}.`) }
 * }
 * ```
 */
export abstract class ModelFormStep extends Step<FormState> {
  readonly #form = new Form((this.constructor as StepConstructor).id, this)
  readonly #reading = new ModelReading(this.#form)

  /** What the form understands and says, where that differs from the English defaults. */
  readonly words: Partial<FormWords> = {}

  /**
   * The number of wrong answers in a row after which `onGaveUp` is called. A message in which the model finds no value
   * does not count. Default 3.
   */
  readonly attempts: number = 3

  /** See `FormStep.fields`. */
  abstract fields(turn: Turn): FormFields

  /** See `FormStep.review`. */
  review(_values: object, turn: Turn): Awaitable<string> {
    return this.#form.review(turn)
  }

  /** See `FormStep.done`. */
  abstract done(values: object, turn: Turn): Awaitable<Transition>

  /** See `FormStep.onGaveUp`. */
  onGaveUp(_turn: Turn): Awaitable<Transition | void> {}

  /** See `FormStep.askAgain`. */
  askAgain(name: string, problem: string, turn: Turn): Promise<Transition> {
    return this.#form.askAgain(name, problem, turn)
  }

  /** See `FormStep.asPart`. */
  asPart(turn: Turn): Promise<ReplyPart> {
    return this.#form.asPart(turn)
  }

  override initialState(): FormState {
    return { values: {} }
  }

  /** See `FormStep.events`. */
  override events(): readonly FlowEvent[] {
    return [submission(this.#form)]
  }

  /** What the model must know. To add to it: `${await super.prompt(turn)}\n\nBe brief.` */
  override prompt(turn: Turn): Promise<string> {
    return this.#reading.prompt(turn)
  }

  /** `set_fields`. A form's own tools come beside it: `[...(await super.tools(turn)), prices]`. */
  override async tools(turn: Turn): Promise<readonly Tool[]> {
    return this.#reading.tools(turn)
  }

  /** What the form says next. */
  override onReply(answer: string, turn: Turn): Promise<Transition> {
    return this.#reading.end(answer, turn)
  }

  /** What the form reads itself needs no model. */
  override onModelError(_error: unknown, turn: Turn): Awaitable<Transition | void> {
    return this.#reading.withoutModel(turn)
  }

  /** What the form reads itself needs no model. */
  override onModelBlocked(_details: unknown, turn: Turn): Awaitable<Transition | void> {
    return this.#reading.withoutModel(turn)
  }
}
