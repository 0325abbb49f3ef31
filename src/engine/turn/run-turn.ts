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
import type { TurnScope } from './turn-control.js'
import { TurnDraft } from './turn-draft.js'
import { ActiveTurn } from './turn-view.js'

/** Runs one turn under a lock that the caller holds. Does not reject. */
export async function runTurn(scope: TurnScope, input: CheckedInput): Promise<ExecuteResult> {
  const { parts } = scope
  scope.startedAt = parts.clock.now()
  const stopDeadline = setDeadline(parts.clock, parts.limits.turnTimeoutMs, () => scope.expire())
  const { signal } = input
  const abort = (): void => scope.giveUp(new TurnAbortedError({ cause: signal?.reason }))
  parts.scopes.add(scope)
  scope.announce('turn:start', {})
  const progress: TurnProgress = { base: undefined, storedRevision: undefined, usage: undefined, budget: undefined }
  let stopListening: (() => void) | undefined
  let result: ExecuteResult
  try {
    stopListening = onAbort(signal, abort)
    if (signal?.aborted === true) abort()
    if (input.sessionId !== undefined) scope.hold(input.sessionId)
    result = await runAndCommit(scope, input, progress, stopDeadline)
  } catch (error) {
    scope.finishWork()
    if (progress.usage !== undefined) progress.budget?.keepTime(progress.usage, parts.clock.now())
    result = await settleTurnError(scope, error, progress, input.sessionId ?? '')
  } finally {
    stopDeadline()
    parts.scopes.delete(scope)
    scope.end()
    stopListening?.()
  }
  if (parts.events.hasListeners('turn:end')) {
    const { success, completed } = result.response
    scope.announce('turn:end', { durationMs: parts.clock.now() - scope.startedAt, success, completed })
  }
  return result
}

async function runAndCommit(
  scope: TurnScope,
  input: CheckedInput,
  progress: TurnProgress,
  stopDeadline: () => void,
): Promise<ExecuteResult> {
  const prepared = await scope.race(() => prepare(scope, input, progress))
  if (prepared.flow.isBatch()) await saveCheckpoint(scope, prepared, progress)
  const draft = new TurnDraft(prepared.base, prepared.steps, scope.parts.limits)
  progress.usage = draft.usage
  progress.budget = prepared.budgetOf(draft.base.usage)
  const contextBefore = prepared.flow.context
  const { reply, completed } = await scope.race(() => runPrepared(scope, input, prepared, draft, progress.budget))
  const { parts } = scope
  progress.budget?.keepTime(draft.usage, parts.clock.now())
  const compaction = completed
    ? undefined
    : parts.flows.compactorOf(scope.flowName)?.start(scope, draft, progress.budget)
  const document = draft.toDocument({
    revision: nextRevision(progress.storedRevision, parts.generateId('revision')),
    at: parts.clock.now(),
    userMessage: input.userMessage,
    reply,
    completed,
    context: prepared.flow.context === contextBefore ? undefined : prepared.flow.context,
  })
  // From here on the turn is the store's, with deadlines of its own.
  scope.finishWork()
  stopDeadline()
  const isFirst = progress.storedRevision === undefined
  await parts.session.access.write(
    document,
    progress.storedRevision,
    draft.hint(prepared.loaded),
    true,
    draft.stateBytes,
  )
  scope.announce(isFirst ? 'session:created' : 'session:saved', {})
  if (completed) scope.announce('session:completed', {})
  compaction?.committed(document)
  return successEnvelope(document.id, reply, completed)
}

async function prepare(scope: TurnScope, input: CheckedInput, progress: TurnProgress): Promise<PreparedTurn> {
  const flow = createFlow(scope, input)
  const initialising: unknown = flow.init()
  if (initialising !== undefined) await initialising
  scope.check()
  const ready = bootstrap(scope, flow)
  let loaded: SessionDocument | undefined
  const base = await openSession(scope, input, ready, (document) => {
    loaded = document
    progress.base = document
    progress.storedRevision = document?.revision
  })
  progress.base = loaded ?? base
  return { ...ready, base, loaded }
}

function runPrepared(
  scope: TurnScope,
  input: CheckedInput,
  prepared: PreparedTurn,
  draft: TurnDraft,
  budget: BudgetCheck | undefined,
): ReturnType<typeof runSteps> {
  const { flow, steps, base, modelsOf, loaded } = prepared
  for (const [stepId, step] of steps.all()) BaseStep.attach(step, draft, stepId)
  const turn = new ActiveTurn({ scope, draft, flow, steps, input, isNew: loaded === undefined })
  scope.sessionId = base.id
  scope.stream?.tell({ type: 'session', session: base.id })
  const { userMessage } = input
  return runSteps({ scope, draft, flow, steps, turn, userMessage, modelsOf, budget, modelCalls: 0 })
}

/** The extra save of a batch flow: the state before the turn (contract 4.5.2). */
async function saveCheckpoint(scope: TurnScope, prepared: PreparedTurn, progress: TurnProgress): Promise<void> {
  const { parts } = scope
  const revision = nextRevision(progress.storedRevision, parts.generateId('revision'))
  const savedAt = isoTime(parts.clock.now())
  const checkpoint = { ...(prepared.loaded ?? prepared.base), revision, savedAt }
  const isFirst = progress.storedRevision === undefined
  if (isFirst) scope.hold(checkpoint.id)
  await parts.session.access.write(checkpoint, progress.storedRevision, { appended: {} })
  progress.storedRevision = revision
  scope.announce(isFirst ? 'session:created' : 'session:saved', {})
}
