/** How the questions of a form are answered, one message after the other. */
import type { FlowConstructor, SessionDocument, Turn } from '../../../src/index.js'
import { hintAt } from '../../../src/util/options.js'
import { list, show } from '../../expectations/expectation-error.js'
import { isObject } from '../../expectations/value-kinds.js'
import { listedSteps } from '../../flow-steps/flow-steps.js'
import { correctionOf, type FormOfSession, formOf, isAnswered, isForm } from '../../flow-steps/form-steps.js'
import type { ConversationReply } from './conversation-turn.js'

/** What a user says for the fields of a form, by name. `undefined` and `null`: that a field stays empty. */
export type FormAnswers = Readonly<Record<string, string | number | boolean | null | undefined>>

/** A session of a flow. */
export interface FormPlace {
  readonly flow: FlowConstructor
  /** What `fields()` of a form may read. */
  readonly turn: Partial<Turn>
  readonly document: SessionDocument | undefined
}

/** The next message to a form, and the field that it answers. */
export interface FormMessage {
  readonly form: FormOfSession
  readonly name: string
  readonly text: string
}

/** What is wrong with the answers that a test gives; `undefined` if nothing is. */
export function answersProblem(answers: unknown): string | undefined {
  const rule = "fill needs what a user says, by field, as in fill({ day: 'Friday', phone: undefined })"
  if (!isObject(answers) || Object.keys(answers).length === 0) return `${rule}; got ${show(answers)}.`
  const wrong = Object.entries(answers).find(([, answer]) => !isSaid(answer))
  return wrong && `${rule}; got ${show(wrong[1])} for '${wrong[0]}'. Of other values, write what the user says.`
}

function isSaid(answer: unknown): boolean {
  return answer === undefined || answer === null || ['string', 'number', 'boolean'].includes(typeof answer)
}

/**
 * The next message that answers a field.
 *
 * @param left - The answers that are not said yet.
 * @returns a problem as a text
 */
export function nextMessage(place: FormPlace, left: ReadonlyMap<string, FormAnswers[string]>): FormMessage | string {
  const form = openForm(place)
  const names = list(left.keys())
  if (typeof form === 'string') return `fill needs a form that asks, and ${form}. Left to say: ${names}.`
  const known = form.fields.map(({ name }) => name)
  const unknown = [...left.keys()].find((name) => known.length > 0 && !known.includes(name))
  if (unknown !== undefined) return unknownField('fill', form.id, unknown, known)
  const { asked, words } = form
  const [skip = ''] = words.skip
  const said = (name: string): string => String(left.get(name) ?? skip)
  if (asked !== undefined && left.has(asked)) return { form, name: asked, text: said(asked) }
  const next = known.find((name) => left.has(name)) ?? ([...left.keys()][0] as string)
  // A form understands the name as well.
  const label = form.fields.find(({ name }) => name === next)?.label ?? next
  const text = correctionOf(words, label, said(next))
  if (text !== undefined) return { form, name: next, text }
  const open = asked === undefined ? 'asks for a yes' : `asks for '${asked}', which fill was not given`
  return `Form '${form.id}' ${open}, and its words.change has no '... {field} ... {value}' to say another field with. Left to say: ${names}.`
}

/** The form whose question is open; in words what there is in its place. */
function openForm({ flow, turn, document }: FormPlace): FormOfSession | string {
  if (document === undefined) return 'nothing is stored yet'
  if (document.runStatus !== 'running') return `the session is stored as '${document.runStatus}'`
  const { currentStep } = document.flow
  const step = listedSteps('fill', flow).find(({ id }) => id === currentStep)
  if (step !== undefined && isForm(step.stepClass)) return formOf(step, turn, document)
  return currentStep === null ? 'no step was entered yet' : `step '${currentStep}' is not one`
}

/** What is wrong with the name of a field. */
export function unknownField(caller: string, form: string, name: string, known: readonly string[]): string {
  return `${caller}: form '${form}' has no field '${name}'. Its fields: ${list(known)}.${hintAt(name, known)}`
}

/** What is wrong if a form has not taken an answer; `undefined` if it has. */
export function refusal(
  place: FormPlace,
  { form, name, text }: FormMessage,
  { message }: ConversationReply,
): string | undefined {
  const now = openForm(place)
  // A wrong correction keeps the old value.
  const isAskedAgain = typeof now !== 'string' && now.id === form.id && now.asked === name
  if (!isAskedAgain && isAnswered(name, place.document, form.id)) return undefined
  const advice = form.isRead ? '\nA model reads this form: its script must call set_fields.' : ''
  return `Form '${form.id}' did not take ${show(text, 60)} for '${name}'. It said: ${show(message, 1000)}${advice}`
}
