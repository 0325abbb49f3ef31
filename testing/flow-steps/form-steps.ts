/**
 * Steps that are forms of `turnkeeper/forms`, as tests, coverage and simulations see them: their fields, what they
 * understand, and which question is open.
 */
import { type NamedField, namedFields } from '../../src/forms/form-fields.js'
import { english, type FormWords } from '../../src/forms/words.js'
import { type BaseStep, type SessionDocument, Step, type StepConstructor, type Turn } from '../../src/index.js'
import { type ListedStep, stepWithState } from './flow-steps.js'

/** The state that a form stores. */
interface StoredForm {
  readonly values?: Readonly<Record<string, unknown>>
  readonly skipped?: readonly string[]
  readonly asking?: string
  readonly entry?: string
}

/** A form, with the state that a session has of it. */
export interface FormOfSession {
  /** The ID of its step. */
  readonly id: string
  /** The name of the event with which a page sends it. */
  readonly event: string
  /** Empty if `fields()` needs more of a turn than there is without one. */
  readonly fields: readonly NamedField[]
  readonly words: FormWords
  /** Whether a model reads it. */
  readonly isRead: boolean
  /** The name of the field whose question is open; `undefined`: the review is. */
  readonly asked: string | undefined
}

/** What both kinds of forms have. */
interface FormMembers {
  readonly words?: Partial<FormWords>
  fields(turn: Turn): Parameters<typeof namedFields>[1]
}

/** Whether a step is a form, of this copy of the package or another. */
export function isForm({ prototype }: StepConstructor & { readonly prototype?: unknown }): boolean {
  const { askAgain, asPart } = Object(prototype) as Readonly<Record<string, unknown>>
  return typeof askAgain === 'function' && typeof asPart === 'function'
}

/**
 * A form with its state in a session.
 *
 * @param turn - What `fields()` may read.
 * @param document - Default: none, so that the form is as it begins.
 */
export function formOf(listed: ListedStep, turn: Partial<Turn>, document?: SessionDocument): FormOfSession {
  const { id, stepClass } = listed
  const { frames = [] } = document?.flow ?? {}
  const form = stepWithState(listed, document) as BaseStep & FormMembers
  const state: StoredForm = form.state
  const fields = fieldsOf(stepClass.id, form, turn)
  // A form that has not begun since it was entered asks for what is missing.
  const asking = frames.at(-1)?.entry === state.entry ? state.asking : undefined
  return {
    id,
    event: stepClass.id,
    fields,
    words: { ...english, ...form.words },
    isRead: form instanceof Step,
    asked: openField(fields, { ...state, asking }),
  }
}

function fieldsOf(id: string, form: FormMembers, turn: Partial<Turn>): readonly NamedField[] {
  try {
    return namedFields(id, form.fields(turnWith(turn)))
  } catch {
    return []
  }
}

/** Stands in place of a turn: what is not given depends on the turn, and throws. */
export function turnWith(given: Partial<Turn>): Turn {
  return new Proxy(given as Turn, {
    get(turn, key) {
      if (key in turn) return Reflect.get(turn, key, turn)
      throw new Error(`There is no turn here: '${String(key)}' is not known.`)
    },
  })
}

/** The field whose question is open or comes next. */
function openField(
  fields: readonly NamedField[],
  { values = {}, skipped = [], asking }: { readonly [Key in keyof StoredForm]: StoredForm[Key] | undefined },
): string | undefined {
  const isOpen = ({ name, optional }: NamedField): boolean =>
    !Object.hasOwn(values, name) && !(optional === true && skipped.includes(name))
  return asking ?? fields.find(isOpen)?.name
}

/** Whether a field has an answer: a value, or none on purpose. */
export function isAnswered(name: string, document: SessionDocument | undefined, formId: string): boolean {
  const { values = {}, skipped = [] }: StoredForm = document?.flow.steps[formId]?.state ?? {}
  return Object.hasOwn(values, name) || skipped.includes(name)
}

/** The message that corrects a field; `undefined` if the words of the form have none. */
export function correctionOf({ change }: FormWords, label: string, value: string): string | undefined {
  const pattern = change.find((one) => one.includes('{field}') && one.includes('{value}'))
  return pattern?.replace('{field}', () => label).replace('{value}', () => value)
}
