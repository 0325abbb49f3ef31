/** Checks and completes the stored states of a session with the `stateSchema` of each step. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { flowCodeError } from '../../../errors/engine-errors.js'
import { SessionFlowInvariantError } from '../../../errors/session-errors.js'
import { issueText } from '../../../model/schema-issues.js'
import type { SessionDocument, SessionStep } from '../../../session/session-document.js'
import { copyJson, isPlainObject, type JsonObject } from '../../../util/json.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TurnDraft } from '../draft/turn-draft.js'

/** Fields that an error message names. */
const maxFields = 5

/**
 * The document with the states returned by the schemas. Only stored states are checked: a step that the session has not
 * visited begins with `initialState()`.
 *
 * @throws `SessionFlowInvariantError` that names the step and the field. Values of the conversation appear only in its
 * cause.
 */
export async function parseStates(
  control: TurnControl,
  document: SessionDocument,
  schemas: ReadonlyMap<string, StandardSchemaV1>,
): Promise<SessionDocument> {
  const steps: Record<string, SessionStep> = { ...document.flow.steps }
  for (const [stepId, schema] of schemas) {
    const stored = Object.hasOwn(steps, stepId) ? steps[stepId] : undefined
    if (stored === undefined) continue
    const refuse = (problem: string, cause?: unknown): SessionFlowInvariantError =>
      new SessionFlowInvariantError({ sessionId: document.id, problem, cause })
    const returned = await validate(schema, stored.state, stepId, refuse)
    control.work.check()
    const state = storableState(returned, stepId, control, refuse)
    // A state that the schema leaves unchanged stays the stored object, and need not be checked again before it is
    // stored.
    if (JSON.stringify(state) !== JSON.stringify(stored.state)) steps[stepId] = { ...stored, state }
  }
  return { ...document, flow: { ...document.flow, steps } }
}

/**
 * Checks changed states before they are stored: a state that its own schema refuses could never be loaded again.
 *
 * @throws `FlowCodeError` that names the step and the field.
 */
export async function checkStates(
  control: TurnControl,
  { draft, document }: { readonly draft: TurnDraft; readonly document: SessionDocument },
  schemas: ReadonlyMap<string, StandardSchemaV1>,
): Promise<void> {
  for (const [stepId, schema] of schemas) {
    const state = document.flow.steps[stepId]?.state
    if (state === undefined || state === draft.loaded?.flow.steps[stepId]?.state) continue
    await validate(schema, state, stepId, (problem, cause) =>
      flowCodeError(`The session cannot be stored: ${problem}.`, cause),
    )
    control.work.check()
  }
}

type Refuse = (problem: string, cause?: unknown) => Error

async function validate(schema: StandardSchemaV1, state: JsonObject, stepId: string, refuse: Refuse): Promise<unknown> {
  let result: unknown
  try {
    // A copy: a schema may change its input, and this one belongs to the loaded document.
    result = await schema['~standard'].validate(copyJson(state, 'state', Number.POSITIVE_INFINITY))
  } catch (cause) {
    throw refuse(`the stateSchema of step '${stepId}' failed`, cause)
  }
  const { issues, value } = Object(result) as { readonly issues?: unknown; readonly value?: unknown }
  if (!Array.isArray(issues)) return value
  throw refuse(
    `the state of step '${stepId}' does not fit its stateSchema at ${fieldsOf(issues)}`,
    new Error(issueText(issues)),
  )
}

/**
 * The paths of the issues: `name, address.city`. The reasons may quote the conversation, so they are not part of a
 * message.
 */
function fieldsOf(issues: readonly StandardSchemaV1.Issue[]): string {
  const paths = issues.map(({ path = [] }) => {
    const field = path.map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.')
    return field === '' ? 'its root' : field
  })
  const unique = [...new Set(paths)]
  const more = unique.length > maxFields ? ` and ${unique.length - maxFields} more` : ''
  return (unique.slice(0, maxFields).join(', ') || 'its root') + more
}

function storableState(value: unknown, stepId: string, control: TurnControl, refuse: Refuse): JsonObject {
  const problem = (reason: string): string =>
    `the stateSchema of step '${stepId}' returned a state that cannot be stored: ${reason}`
  if (!isPlainObject(value)) throw refuse(problem('it is not a plain object'))
  const { maxJsonDepth } = control.engine.limits
  return copyJson(value, 'state', maxJsonDepth, (reason, cause) => refuse(problem(reason), cause)) as JsonObject
}
