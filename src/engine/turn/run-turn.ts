/**
 * One turn, from the lock to the reply: the flow runs, then the session is committed once. The flow's part can be
 * aborted at any moment. The commit cannot, and no reply is returned before it.
 */
import { elapsedMs } from '../../config/clock.js'
import { FlowNotFoundError } from '../../errors/engine-errors.js'
import type { FlowError } from '../../errors/flow-error.js'
import { Flow, type FlowConstructor } from '../../flow/flow.js'
import { giveStaticId } from '../../flow/flow-registry.js'
import { checkBudgets } from '../../model/model-budget.js'
import type { LockHolder } from '../../session/lock/lock-line.js'
import { nextRevision } from '../../session/revision.js'
import { unchangedLists } from '../../session/save-hint.js'
import type { SessionDocument } from '../../session/session-document.js'
import { isoTime } from '../../util/iso-time.js'
import { deepFreeze } from '../../util/json.js'
import { shownName } from '../../util/shown-name.js'
import { registeredName } from '../core/registered-name.js'
import { successEnvelope, type TurnOutcome } from '../core/run-envelope.js'
import { answerRepeat } from '../idempotency/answer-repeat.js'
import type { Replay } from '../idempotency/receipts.js'
import { applyPolicy } from '../lock/busy.js'
import { maskTurn } from './commit/mask-turn.js'
import { settleTurnError } from './commit/settle-turn-error.js'
import { type Compaction, compactorOf } from './compactor.js'
import { ofFlowCode } from './control/flow-code-failure.js'
import type { TurnControl } from './control/turn-control.js'
import { attachSteps, collectSteps } from './draft/collect-steps.js'
import type { TurnDraft } from './draft/turn-draft.js'
import { keepWaiting, waitingCommitted } from './events/keep-waiting.js'
import { lateCode, loadLate } from './events/late-code.js'
import { recoverTurn } from './recover-turn.js'
import { openKeyedSession } from './session/keyed-session.js'
import { loadSession } from './session/load-session.js'
import { checkStates } from './session/parse-states.js'
import { giveBackLeases, withLease } from './session/session-lease.js'
import { resolveModels } from './steps/resolve-models.js'
import { runSteps } from './steps/run-steps.js'

/**
 * Runs one turn. Does not reject.
 *
 * @param lockHolder - Has the lock of the session that the input names. It moves to the lock of the new session if one
 * is created.
 */
export async function runTurn(control: TurnControl, lockHolder: LockHolder): Promise<TurnOutcome> {
  const { engine, input, work } = control
  // The flow may have been registered while the turn waited.
  if (control.flowName === '') control.flowName = registeredName(engine, input)
  control.begin(lockHolder)
  if (input.idempotency === undefined) control.reportStart()
  let result: TurnOutcome
  try {
    work.followSignal(input.signal)
    const knownId = input.sessionId ?? control.contention?.claimed?.id
    if (input.sessionId !== undefined) control.hold(input.sessionId)
    const prepared = await work.race(() => withLease(control, knownId, () => runFlow(control)))
    result = 'result' in prepared ? answerRepeat(control, prepared) : await commit(control, prepared)
  } catch (error) {
    work.finish()
    control.reportStart()
    result = await settleTurnError(control, error, input.sessionId ?? '')
  } finally {
    giveBackLeases(control)
    control.end()
  }
  if (control.hasStarted && engine.events.hasListeners('turn:end')) {
    const { success, completed } = result.response
    control.report('turn:end', { durationMs: elapsedMs(engine.clock, work.startedAt), success, completed })
  }
  beginAfterTurnTask(control)
  return withRestarted(control, result)
}

/** Adds why a new session was started instead of continuing the requested one. */
function withRestarted({ restarted, sessionId }: TurnControl, result: TurnOutcome): TurnOutcome {
  // A failure before anything was stored names no session, so the client keeps its own.
  return restarted === undefined || result.response.session !== sessionId ? result : { ...result, restarted }
}

/** Starts the work that outlives the turn. An error of `waitUntil` must not change the reply. */
function beginAfterTurnTask({ engine, input: { waitUntil }, afterTurnTask }: TurnControl): void {
  if (afterTurnTask === undefined) return
  const work = engine.afterTurnTasks.begin(afterTurnTask)
  if (waitUntil !== undefined) engine.events.callListener(waitUntil, work, 'waitUntil')
}

function flowNotFound(flowName: string, registered: readonly string[]): FlowNotFoundError {
  return new FlowNotFoundError({
    flowName: shownName(flowName),
    details: `Registered: ${registered.join(', ') || 'none'}. ${giveStaticId}`,
  })
}

/** The flow's part of the turn. Checks that do not need the session come before it is loaded. */
async function runFlow(control: TurnControl): Promise<PreparedCommit | Replay> {
  const { engine, flowName } = control
  const flowClass = engine.flows.get(flowName)
  if (flowClass === undefined) throw flowNotFound(control.input.flowName, engine.flows.names())
  // A repeat runs nothing of the flow, so its session is looked up first.
  const keyed = control.input.idempotency === undefined ? undefined : await openKeyedSession(control, flowClass)
  if (keyed?.replay !== undefined) return keyed.replay
  if (keyed !== undefined) startKeyed(control, keyed.loaded)
  let flow: Flow
  try {
    flow = createFlow(control, flowClass)
    const initialising: unknown = flow.init()
    if (initialising !== undefined) await initialising
  } catch (thrown) {
    throw ofFlowCode(control, thrown)
  }
  control.work.check()
  const steps = collectSteps(flow, flowName)
  if (steps.needsLate) {
    const late = await loadLate(steps, engine)
    if (steps.uncollected !== undefined) await late.collectFlows(control, steps)
  }
  const budgets = [engine.budgets, checkBudgets(flow.budgets(), `Flow '${flowName}'`, 'budgets()')].filter(
    (budget) => budget !== undefined,
  )
  compactorOf(engine.flows, flowName)?.check(control, steps, budgets)
  resolveModels(engine.models, flow, flowName, steps, budgets)
  const draft = await loadSession(control, { flow, flowClass, steps, budgets }, keyed)
  control.work.check()
  return 'result' in draft ? draft : runSession(control, draft)
}

/**
 * Called when a turn with a key turns out not to be a repeat, and starts: handles the requests that arrived meanwhile.
 */
function startKeyed(control: TurnControl, loaded: SessionDocument | undefined): void {
  control.reportStart()
  applyPolicy(control, loaded)
  control.work.check()
}

/** The part of the turn that works on its session. */
async function runSession(control: TurnControl, draft: TurnDraft): Promise<PreparedCommit> {
  const { flow } = draft
  // An event that no step takes must not change the session.
  if (flow.isBatch() && control.input.event === undefined)
    await control.work.uninterrupted(() => saveCheckpoint(control, draft))
  attachSteps(draft)
  if (draft.base.flow.frames !== undefined) (await loadLate(draft.steps, control.engine)).resumeCalls(draft)
  control.sessionId = draft.base.id
  const { restarted } = control
  control.stream?.send({ type: 'session', session: draft.base.id, ...(restarted === undefined ? {} : { restarted }) })
  try {
    await runSteps(control, draft)
  } catch (thrown) {
    return recover(control, draft, ofFlowCode(control, thrown))
  }
  try {
    return await prepareCommit(control, draft)
  } catch (thrown) {
    return recover(control, draft, thrown)
  }
}

/** The document and effects to store for a turn that has its reply. */
interface PreparedCommit {
  readonly draft: TurnDraft
  readonly document: SessionDocument
  readonly compaction: Compaction | undefined
}

/** @throws if the session cannot be stored: a state that is not plain JSON, or a session that is too large */
async function prepareCommit(control: TurnControl, draft: TurnDraft): Promise<PreparedCommit> {
  const { effects, engine, work } = control
  const { clock, flows, generateId, mask } = engine
  control.mayBeginEffects = false
  if (effects !== undefined) {
    // `turn.once` may still write.
    await effects.finish()
    work.check()
    draft.effects = effects.afterCommit
  }
  const { attachments } = control.input
  if (attachments.length > 0) draft.sent = draft.memory.sent(attachments, draft.turnNumber)
  const said = draft.hidden ?? control.input.userMessage
  const masked = maskTurn(mask, draft, said)
  if (draft.parts !== undefined) (await lateCode(engine)).storeParts(draft, masked?.mask)
  const scheduling = keepWaiting(control, draft)
  // Without a timer there is nothing to await.
  if (scheduling !== undefined) await scheduling
  draft.budget?.keepTime(draft.usage)
  const compaction = draft.completed ? undefined : compactorOf(flows, control.flowName)?.start(control, draft)
  const revision = nextRevision(draft.storedRevision, generateId('revision'))
  const document = draft.toDocument(revision, control, clock.now(), masked?.message ?? said, masked?.reply)
  const { stateSchemas } = draft.steps
  // Without a schema there is nothing to await.
  if (stateSchemas !== undefined) await checkStates(control, { draft, document }, stateSchemas)
  return { draft, document, compaction }
}

/** The data to store if the flow's `onError` answers for the failure. */
async function recover(control: TurnControl, failed: TurnDraft, thrown: unknown): Promise<PreparedCommit> {
  return prepareCommit(control, await recoverTurn(control, failed, thrown))
}

function createFlow({ engine, input }: TurnControl, flowClass: FlowConstructor): Flow {
  const flow = new flowClass()
  Flow.attach(flow, engine)
  if (input.context !== undefined) flow.addContext(input.context)
  return flow
}

async function commit(control: TurnControl, { draft, document, compaction }: PreparedCommit): Promise<TurnOutcome> {
  const { flows, session } = control.engine
  const { reply, completed, storedRevision } = draft
  // The turn may have been aborted since the flow's part ended. After this it waits only for the store, whose
  // operations have their own deadlines.
  control.work.check()
  control.work.finish()
  const options = {
    hint: draft.hint(),
    addsTurn: true,
    stateBytes: draft.stateBytes,
    holder: control.lockHolder,
  }
  let stored = document
  try {
    await session.access.write(document, storedRevision, options)
  } catch (error) {
    const isConflict = (error as FlowError).code === 'SESSION_CONFLICT'
    const moved = isConflict && (await compactorOf(flows, control.flowName)?.moveCommit(control, draft, document))
    if (!moved) throw error
    stored = moved.document
    await session.access.write(stored, moved.storedRevision, options)
  }
  control.report(storedRevision === undefined ? 'session:created' : 'session:saved', {})
  control.report('turn:content', { entry: document.history.at(-1) })
  if (completed) control.report('session:completed', {})
  if (!draft.removed.isEmpty && control.hasListeners('session:trimmed')) {
    const { history, memory, attachments } = draft.removed
    control.report('session:trimmed', deepFreeze({ history, memory, attachments }))
  }
  waitingCommitted(control, document)
  compaction?.committed(stored)
  control.effects?.committed()
  return successEnvelope(document.id, reply, completed, draft.parts, document.turns)
}

/** The extra save of a batch flow: the state before the turn (contract 4.5.2). */
async function saveCheckpoint(control: TurnControl, draft: TurnDraft): Promise<void> {
  const { clock, generateId, session } = control.engine
  const { storedRevision } = draft
  const revision = nextRevision(storedRevision, generateId('revision'))
  const checkpoint = { ...draft.beforeTurn, revision, savedAt: isoTime(clock.now()) }
  if (storedRevision === undefined) control.hold(checkpoint.id)
  await session.access.write(checkpoint, storedRevision, {
    hint: unchangedLists,
    holder: control.lockHolder,
  })
  draft.storedRevision = revision
  control.report(storedRevision === undefined ? 'session:created' : 'session:saved', {})
}
