/** Forms without a model: one field a message. */
import type { Awaitable, StepConstructor } from '../flow/base-step.js'
import type { FlowEvent } from '../flow/event.js'
import { LogicStep } from '../flow/logic-step.js'
import type { Transition } from '../flow/transition.js'
import type { Turn } from '../flow/turn.js'
import type { ReplyPart } from '../model/reply-part.js'
import type { FormFields } from './field.js'
import { Form, type FormState } from './form.js'
import { submission } from './submission.js'
import type { FormWords } from './words.js'

/**
 * A form: asks for its fields one after the other, lets the user correct each at any moment (`change day`, `change day to
 * Friday`), and calls `done` after the user's yes to the review.
 *
 * If the step is entered by `go`, the form keeps its values, checks them again, and asks for what is missing, or for a
 * new yes.
 *
 * @example
 * ```ts
 * class Booking extends FormStep {
 *   static override readonly id = 'Booking'
 *   override fields() {
 *     return {
 *       day: field(Day, { ask: 'Which day?' }),
 *       name: field(z.string().min(2, 'The name is missing.'), { ask: 'Your name?' }),
 *     }
 *   }
 *   override review({ day, name }: FormValues<Booking>) { return `${day}, for ${name}. Right?` }
 *   override async done({ day, name }: FormValues<Booking>, turn: Turn) {
 *     await turn.once('book', () => calendar.book(day, name))
 *     return finish(`Booked, ${name}.`)
 *   }
 * }
 * ```
 */
export abstract class FormStep extends LogicStep<FormState> {
  readonly #form = new Form((this.constructor as StepConstructor).id, this)

  /** What the form understands and says, where that differs from the English defaults. */
  readonly words: Partial<FormWords> = {}

  /**
   * The number of wrong answers in a row after which `onGaveUp` is called. Default 3.
   */
  readonly attempts: number = 3

  /**
   * The fields, in the order of the questions. Called once in a turn; which fields there are may not depend on the turn.
   * Make schemas once, outside the step, unless one needs the turn, such as the time for "next Tuesday".
   */
  abstract fields(turn: Turn): FormFields

  /** The question to which the user's yes calls `done`. Default: labels and values, as `words.review` puts them. */
  review(_values: object, turn: Turn): Awaitable<string> {
    return this.#form.review(turn)
  }

  /**
   * Called after the user's yes. Declare the type of `values` as {@link FormValues} of the form's class. Return any
   * transition: `finish`, `go`, `back(values)`; if a value is not possible any more, {@link askAgain}.
   */
  abstract done(values: object, turn: Turn): Awaitable<Transition>

  /** Called after too many wrong answers in a row. May return a transition. Default: the form asks again. */
  onGaveUp(_turn: Turn): Awaitable<Transition | void> {}

  /**
   * Removes the value of a field, and asks for it again: for `done`, if a slot was taken meanwhile.
   *
   * @param problem - What to say before the question.
   * @throws `FlowCodeError` for an unknown field.
   */
  askAgain(name: string, problem: string, turn: Turn): Promise<Transition> {
    return this.#form.askAgain(name, problem, turn)
  }

  /**
   * The form for a page, with the values so far. It is named after the step, and what the page sends is the user's event
   * of that name, which the step takes at any time. An empty text or `null` empties a field; a field that is left out
   * stays as it is.
   *
   * @example
   * ```ts
   * override async onEnter(turn: Turn) {
   *   return reply('Please fill in the form, or just tell me the day.').withParts([await this.asPart(turn)])
   * }
   * ```
   */
  asPart(turn: Turn): Promise<ReplyPart> {
    return this.#form.asPart(turn)
  }

  override initialState(): FormState {
    return { values: {} }
  }

  /** The submission of {@link asPart}. A form with other events lists both: `[...super.events(), approve]`. */
  override events(): readonly FlowEvent[] {
    return [submission(this.#form)]
  }

  override async run(turn: Turn): Promise<Transition> {
    const problems = await this.#form.begin(turn)
    return turn.entered ? this.#form.ask(turn, Object.values(problems)) : this.#form.follow(this.#form.read(turn), turn)
  }
}
