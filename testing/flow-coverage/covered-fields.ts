/** Which fields of forms conversations answered: a field is answered if it gets a value, in whatever way. */
import type { SessionDocument } from '../../src/index.js'
import { countField, type FlowCounts, noteForm } from './coverage-counts.js'
import type { FlowOutline } from './flow-outline.js'

/** A field of a form, and how often it was answered. @inline */
export interface CoveredField {
  /** The step that is the form. */
  readonly step: string
  readonly name: string
  readonly answered: number
}

/**
 * Counts the fields that got a value in a turn.
 *
 * @param before - The session before the turn; `undefined` if the turn began it.
 */
export function countAnswers(
  { forms }: FlowOutline,
  counts: FlowCounts,
  before: SessionDocument | undefined,
  after: SessionDocument,
): void {
  for (const { step: form } of forms) {
    if (!Object.hasOwn(after.flow.steps, form)) continue
    noteForm(counts, form)
    const known = valuesOf(before, form)
    for (const [name, value] of Object.entries(valuesOf(after, form))) {
      if (JSON.stringify(known[name]) !== JSON.stringify(value)) countField(counts, form, name)
    }
  }
}

function valuesOf(document: SessionDocument | undefined, form: string): Readonly<Record<string, unknown>> {
  return Object(document?.flow.steps[form]?.state.values)
}

/**
 * The declared fields of the forms that conversations were in, and those that were answered and depend on the state of
 * their form. Of other forms it is not known which fields have a value.
 */
export function fieldsOf(fields: FlowOutline['fields'], counts: FlowCounts): CoveredField[] {
  const covered = fields
    .filter(({ step }) => counts.fields.has(step))
    .map((one) => ({ ...one, answered: counts.fields.get(one.step)?.get(one.name) ?? 0 }))
  for (const [step, byName] of counts.fields) {
    for (const [name, answered] of byName) {
      if (!covered.some((one) => one.step === step && one.name === name)) covered.push({ step, name, answered })
    }
  }
  return covered
}
