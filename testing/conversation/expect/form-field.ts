/** Checks the value of a field of a form. */
import type { BaseStep, FlowConstructor, StepConstructor } from '../../../src/index.js'
import { differences, list, show } from '../../expectations/expectation-error.js'
import { isStep, isText, shownStep } from '../../expectations/value-kinds.js'
import { type ListedStep, listedSteps, stepIdIn } from '../../flow-steps/flow-steps.js'
import { formOf, isForm } from '../../flow-steps/form-steps.js'
import { type FormPlace, unknownField } from '../turns/filled-form.js'
import type { Problem } from './problem.js'

/** The class of a form of `turnkeeper/forms`. @inline */
export type FormConstructor = StepConstructor & {
  new (): BaseStep & {
    /** See `FormStep.fields`. */
    fields(turn: never): object
  }
}

/** The fields of a form, by its class. */
type FieldsOf<Target> = Target extends { new (): { fields(turn: never): infer Fields } } ? Fields : never

/** The names of the fields of a form; any text if the form is named by its ID. @inline */
export type FieldNameOf<Target> = Target extends string ? string : keyof FieldsOf<Target> & string

/** What the schema of a field returns; anything if the form is named by its ID. @inline */
export type FieldValueOf<Target, Name> = Target extends string
  ? unknown
  : Name extends keyof FieldsOf<Target>
    ? FieldsOf<Target>[Name] extends { readonly schema: infer Schema }
      ? OutputOf<Schema>
      : unknown
    : never

type OutputOf<Schema> = Schema extends { readonly '~standard': { readonly types?: infer Types } }
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : unknown

/** What is expected of which field. */
interface ExpectedField {
  readonly form: StepConstructor | string
  readonly name: string
  readonly expected: unknown
}

/** Checks the value of a field. */
export function fieldProblem(
  { flow, turn, document }: FormPlace,
  { form, name, expected }: ExpectedField,
): Problem | undefined {
  const named = formNamed(flow, form)
  if (typeof named === 'string') return { text: named }
  const { id } = named
  if (!isText(name)) return { text: `expectField needs the name of a field; got ${show(name)}.` }
  const known = formOf(named, turn, document).fields.map((one) => one.name)
  if (known.length > 0 && !known.includes(name)) return { text: unknownField('expectField', id, name, known) }
  if (show(expected) === '{}') {
    return { text: 'expectField would check nothing, because {} has no properties.' }
  }
  const { steps = {} } = document?.flow ?? {}
  if (!Object.hasOwn(steps, id)) return { text: `Expected a field of form '${id}', but it was never entered.` }
  const values = Object(steps[id]?.state.values) as Readonly<Record<string, unknown>>
  const actual = Object.hasOwn(values, name) ? values[name] : undefined
  const differing = differences(expected, actual, name)
  if (differing.length === 0) return undefined
  return {
    text: `Field '${name}' of form '${id}' is not what was expected:\n${differing.map((line) => `  ${line}`).join('\n')}\n  all values: ${show(values, 1000)}`,
    expected,
    actual,
  }
}

/** The form that a test names; a problem as a text. */
function formNamed(flow: FlowConstructor, form: StepConstructor | string): ListedStep | string {
  if (!isStep(form)) return `expectField needs a form of the flow, or its ID; got ${shownStep(form)}.`
  const id = stepIdIn('expectField', flow, form)
  const steps = listedSteps('expectField', flow)
  const step = steps.find((one) => one.id === id)
  if (step !== undefined && isForm(step.stepClass)) return step
  const forms = steps.filter(({ stepClass }) => isForm(stepClass)).map((one) => one.id)
  const problem = step === undefined ? `the flow has no step '${id}'` : `step '${id}' is not a form`
  return `expectField: ${problem}; its forms: ${list(forms)}.`
}
