/**
 * Converts the stored document of a running session to the one that its turn starts from. The flow may have changed
 * since: `migrate` upgrades a session of an older version, then `onRestore` is called and former step IDs are replaced,
 * and then version, current step and states are checked. Nothing is written here; changes are stored when the turn
 * commits.
 */
import { SessionFlowInvariantError } from '../../../errors/session-errors.js'
import type { FlowConstructor } from '../../../flow/flow.js'
import { Flow } from '../../../flow/flow.js'
import { moveBytes } from '../../../session/attachments.js'
import { copyDocument } from '../../../session/copy-document.js'
import { decodeSession } from '../../../session/session-codec.js'
import type { SessionDocument } from '../../../session/session-document.js'
import { copyJson, isPlainObject } from '../../../util/json.js'
import { ofFlowCode } from '../control/flow-code-failure.js'
import type { TurnControl } from '../control/turn-control.js'
import type { FlowSteps } from '../draft/flow-steps.js'
import { TurnDraft } from '../draft/turn-draft.js'
import { replaceFormerSteps } from './former-steps.js'
import { parseStates } from './parse-states.js'

/** The fields that a hook must not change. */
const fixedFields = ['revision', 'owner', 'createdAt', 'runStatus', 'receipts', 'effects'] as const

/**
 * Restores a session, synchronously if no hook of the flow and no schema is asynchronous.
 *
 * @param loaded - The stored session. It is not changed.
 * @throws `SessionFlowInvariantError` for a session that this version of the flow cannot continue.
 */
export function restoreSession(
  control: TurnControl,
  flow: Flow,
  flowClass: FlowConstructor,
  steps: FlowSteps,
  loaded: SessionDocument,
): Restored | Promise<Restored> {
  const { version } = loaded.flow
  if (version > flowClass.version) throw otherVersion(loaded, flowClass)
  const hasHook = version < flowClass.version || flow.onRestore !== Flow.prototype.onRestore
  // Most flows have no hook, and nothing to wait for.
  if (!hasHook) return checkRestored(control, flowClass, steps, loaded)
  return callHooks(control, flow, flowClass, steps, loaded).then((changed) =>
    changed === null ? 'flow' : checkRestored(control, flowClass, steps, changed),
  )
}

/** The document that the turn starts from, or the reason for a new session. */
type Restored = SessionDocument | 'outdated' | 'flow'

/** The document as `migrate` and `onRestore` of the flow leave it; `null` if one of them asks for a new session. */
async function callHooks(
  control: TurnControl,
  flow: Flow,
  flowClass: FlowConstructor,
  steps: FlowSteps,
  loaded: SessionDocument,
): Promise<SessionDocument | null> {
  const isOlder = loaded.flow.version < flowClass.version
  const migrated = isOlder ? await migrate(control, flowClass, loaded) : loaded
  if (migrated === null || flow.onRestore === Flow.prototype.onRestore) return migrated
  // From here on, a failure aborts the session. Not one of an older version: there the new release may be at fault.
  if (!isOlder) control.draft = new TurnDraft(control.engine.limits, flow, steps, loaded, loaded, undefined)
  const changed = await callHook(control, 'onRestore', loaded, migrated, (copy) => flow.onRestore(copy))
  control.draft = undefined
  return changed
}

function checkRestored(
  control: TurnControl,
  flowClass: FlowConstructor,
  steps: FlowSteps,
  restored: SessionDocument,
): Restored | Promise<SessionDocument> {
  const document = replaceFormerSteps(restored, steps)
  if (isOutdated(document, flowClass, control.engine.outdated)) return 'outdated'
  checkCurrentStep(document, steps)
  return steps.stateSchemas === undefined ? document : parseStates(control, document, steps.stateSchemas)
}

/** The document as this version of the flow would have stored it, if the flow can migrate it. */
async function migrate(
  control: TurnControl,
  flowClass: FlowConstructor,
  loaded: SessionDocument,
): Promise<SessionDocument | null> {
  if (flowClass.migrate === undefined) return loaded
  const migrated = await callHook(control, 'migrate', loaded, loaded, (copy) =>
    flowClass.migrate?.(copy, loaded.flow.version),
  )
  return migrated && { ...migrated, flow: { ...migrated.flow, version: flowClass.version } }
}

/** Whether a new session starts because this one has an older version. Otherwise the turn is refused. */
function isOutdated(document: SessionDocument, flowClass: FlowConstructor, ofEngine: 'refuse' | 'restart'): boolean {
  const { version } = document.flow
  if (version === flowClass.version) return false
  if (version < flowClass.version && (flowClass.outdated ?? ofEngine) === 'restart') return true
  throw otherVersion(document, flowClass)
}

/**
 * Calls a hook of the flow with a copy of `document`, so that its changes vanish if the turn fails.
 *
 * @returns its checked result; `null` if it asks for a new session
 */
async function callHook(
  control: TurnControl,
  hook: 'migrate' | 'onRestore',
  loaded: SessionDocument,
  document: SessionDocument,
  call: (copy: SessionDocument) => unknown,
): Promise<SessionDocument | null> {
  const copy = copyDocument(document)
  let returned: unknown
  try {
    returned = await call(copy)
  } catch (cause) {
    if (control.draft !== undefined) throw ofFlowCode(control, cause)
    throw invalid(loaded, `the flow's ${hook} failed on a session of version ${loaded.flow.version}`, cause)
  }
  control.work.check()
  if (returned === null) return null
  if (returned !== undefined) return checkReturned(control, returned, loaded, hook)
  // onRestore may change its copy and return nothing. For migrate, returning nothing is more likely a forgotten
  // version.
  if (hook === 'onRestore') return checkReturned(control, copy, loaded, hook)
  throw invalid(loaded, `the flow's migrate returned nothing for a session of version ${loaded.flow.version}`)
}

/** The result of a hook, as a document of the current layout. */
function checkReturned(
  control: TurnControl,
  returned: unknown,
  loaded: SessionDocument,
  hook: string,
): SessionDocument {
  const { id } = loaded
  if (isPlainObject(returned) && returned.id !== id) throw invalid(loaded, `the flow's ${hook} changed its id`)
  const decoded = decodeSession(returned, id)
  checkJson(control, decoded, loaded, hook)
  const document = moveBytes(decoded)
  for (const name of fixedFields) {
    if (document[name] === loaded[name] || JSON.stringify(document[name]) === JSON.stringify(loaded[name])) continue
    throw invalid(loaded, `the flow's ${hook} changed its ${name}`)
  }
  if (document.flow.name !== loaded.flow.name) throw invalid(loaded, `the flow's ${hook} changed its flow.name`)
  if (document.turns < loaded.turns) throw invalid(loaded, `the flow's ${hook} lowered its turns`)
  return document
}

/** Flow code may put only plain JSON into the context and the states, as everywhere. */
function checkJson({ engine }: TurnControl, { flow }: SessionDocument, loaded: SessionDocument, hook: string): void {
  const refuse = (problem: string, cause: Error): Error =>
    invalid(loaded, `the flow's ${hook} returned what cannot be stored: ${problem}`, cause)
  const { maxJsonDepth } = engine.limits
  // A context may contain a config, which has as many levels.
  copyJson(flow.context, 'flow.context', maxJsonDepth + 1, refuse)
  for (const [stepId, { state }] of Object.entries(flow.steps)) {
    copyJson(state, `flow.steps.${stepId}.state`, maxJsonDepth, refuse)
  }
}

function checkCurrentStep(document: SessionDocument, steps: FlowSteps): void {
  const { currentStep } = document.flow
  if (currentStep === null || steps.get(currentStep) !== undefined) return
  const known = [...steps.all().keys()].join(', ')
  throw invalid(
    document,
    `its current step is '${currentStep}', and the steps of its flow are ${known} (former IDs belong into static aliases)`,
  )
}

function otherVersion(document: SessionDocument, { id, version }: FlowConstructor): SessionFlowInvariantError {
  const problem = `it was stored by version ${document.flow.version} of flow '${id}', and this is version ${version}`
  return invalid(document, problem)
}

function invalid({ id }: SessionDocument, problem: string, cause?: unknown): SessionFlowInvariantError {
  return new SessionFlowInvariantError({ sessionId: id, problem, cause })
}
