/**
 * One turn, from the lock to the reply: prepare, run, commit once. The flow's part can be given up at any moment; the
 * commit cannot, and no reply leaves before it.
 */
import { setDeadline } from '../../config/clock.js'
import { TurnAbortedError } from '../../errors/engine-errors.js'
import { BaseStep } from '../../flow/base-step.js'
import { nextRevision } from '../../session/revision.js'
import type { SessionDocument } from '../../session/session-document.js'
import { isoTime } from '../../util/iso-time.js'
import { onAbort } from '../../util/on-abort.js'
import type { ExecuteResult } from '../engine-options.js'
import type { CheckedInput } from '../input/check-input.js'
import type { BudgetCheck } from '../model-call/budget-check.js'
import { bootstrap, createFlow, openSession, type PreparedTurn } from './prepare-turn.js'
import { successEnvelope } from './run-envelope.js'
import { runSteps } from './run-steps.js'
import { settleTurnError, type TurnProgress } from './settle-turn-error.js'
import type { TurnControl } from './turn-control.js'
import { TurnDraft } from './turn-draft.js'
import { TurnView } from './turn-view.js'

/** Runs one turn under a lock that the caller holds. Does not reject. */
export async function runTurn(control: TurnControl, input: CheckedInput): Promise<ExecuteResult> {
  const { engine } = control
  control.startedAt = engine.clock.now()
  const stopDeadline = setDeadline(engine.clock, engine.limits.turnTimeoutMs, () => control.expire())
  const { signal } = input
  const abort = (): void => control.abort(new TurnAbortedError({ cause: signal?.reason }))
  engine.turns.add(control)
  control.report('turn:start', {})
  const progress: TurnProgress = { base: undefined, storedRevision: undefined, usage: undefined, budget: undefined }
  let stopListening: (() => void) | undefined
  let result: ExecuteResult
  try {
    stopListening = onAbort(signal, abort)
    if (signal?.aborted === true) abort()
    if (input.sessionId !== undefined) control.hold(input.sessionId)
    result = await runAndCommit(control, input, progress, stopDeadline)
  } catch (error) {
    control.finishWork()
    if (progress.usage !== undefined) progress.budget?.keepTime(progress.usage, engine.clock.now())
    result = await settleTurnError(control, error, progress, input.sessionId ?? '')
  } finally {
    stopDeadline()
    engine.turns.delete(control)
    control.end()
    stopListening?.()
  }
  if (engine.events.has('turn:end')) {
    const { success, completed } = result.response
    control.report('turn:end', { durationMs: engine.clock.now() - control.startedAt, success, completed })
  }
  return result
}

async function runAndCommit(
  control: TurnControl,
  input: CheckedInput,
  progress: TurnProgress,
  stopDeadline: () => void,
): Promise<ExecuteResult> {
  const prepared = await control.race(() => prepare(control, input, progress))
  if (prepared.flow.isBatch()) await saveCheckpoint(control, prepared, progress)
  const draft = new TurnDraft(prepared.base, prepared.steps, control.engine.limits)
  progress.usage = draft.usage
  progress.budget = prepared.budgetOf(draft.base.usage)
  const contextBefore = prepared.flow.context
  const { reply, completed } = await control.race(() => runPrepared(control, input, prepared, draft, progress.budget))
  const { engine } = control
  progress.budget?.keepTime(draft.usage, engine.clock.now())
  const compaction = completed
    ? undefined
    : engine.flows.keeperOf(control.flowName)?.start(control, draft, progress.budget)
  const document = draft.toDocument({
    revision: nextRevision(progress.storedRevision, engine.generateId('revision')),
    at: engine.clock.now(),
    userMessage: input.userMessage,
    reply,
    completed,
    context: prepared.flow.context === contextBefore ? undefined : prepared.flow.context,
  })
  // From here on the turn is the store's, with deadlines of its own.
  control.finishWork()
  stopDeadline()
  const isFirst = progress.storedRevision === undefined
  await engine.session.access.write(document, progress.storedRevision, draft.hint(prepared.loaded), true)
  control.report(isFirst ? 'session:created' : 'session:saved', {})
  if (completed) control.report('session:completed', {})
  compaction?.committed(document)
  return successEnvelope(document.id, reply, completed)
}

async function prepare(control: TurnControl, input: CheckedInput, progress: TurnProgress): Promise<PreparedTurn> {
  const flow = createFlow(control, input)
  const initialising: unknown = flow.init()
  if (initialising !== undefined) await initialising
  control.check()
  const ready = bootstrap(control, flow)
  let loaded: SessionDocument | undefined
  const base = await openSession(control, input, ready, (document) => {
    loaded = document
    progress.base = document
    progress.storedRevision = document?.revision
  })
  progress.base = loaded ?? base
  return { ...ready, base, loaded }
}

function runPrepared(
  control: TurnControl,
  input: CheckedInput,
  prepared: PreparedTurn,
  draft: TurnDraft,
  budget: BudgetCheck | undefined,
): ReturnType<typeof runSteps> {
  const { flow, steps, base, modelsOf, loaded } = prepared
  for (const [stepId, step] of steps.all()) BaseStep.attach(step, draft, stepId)
  const turn = new TurnView({ control, draft, flow, steps, input, isNew: loaded === undefined })
  control.sessionId = base.id
  control.stream?.send({ type: 'session', session: base.id })
  const { userMessage } = input
  return runSteps({ control, draft, flow, steps, turn, userMessage, modelsOf, budget, modelCalls: 0 })
}

/** The extra save of a batch flow: the state before the turn (contract 4.5.2). */
async function saveCheckpoint(control: TurnControl, prepared: PreparedTurn, progress: TurnProgress): Promise<void> {
  const { engine } = control
  const revision = nextRevision(progress.storedRevision, engine.generateId('revision'))
  const savedAt = isoTime(engine.clock.now())
  const checkpoint = { ...(prepared.loaded ?? prepared.base), revision, savedAt }
  const isFirst = progress.storedRevision === undefined
  if (isFirst) control.hold(checkpoint.id)
  await engine.session.access.write(checkpoint, progress.storedRevision, { appended: {} })
  progress.storedRevision = revision
  control.report(isFirst ? 'session:created' : 'session:saved', {})
}
