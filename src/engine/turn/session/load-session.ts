/**
 * Loads the session of a turn, or creates one in memory. Nothing is written here. A failure before the control has the
 * draft leaves the stored document unchanged; a later failure aborts the session. `find-session.ts` loads a session,
 * and `restore-session.ts` migrates it to the current version of its flow.
 */

import type { FlowConstructor } from '../../../flow/flow.js'
import { Flow } from '../../../flow/flow.js'
import type { ModelBudgets } from '../../../model/model-budget.js'
import { type SessionDocument, sessionLayoutVersion } from '../../../session/session-document.js'
import { isoTime } from '../../../util/iso-time.js'
import { isPromise } from '../../../util/observed-promise.js'
import { BudgetCheck } from '../../budgets/budget-check.js'
import type { Replay } from '../../idempotency/receipts.js'
import { leadWaiting } from '../../lock/busy.js'
import type { TurnControl } from '../control/turn-control.js'
import type { FlowSteps } from '../draft/flow-steps.js'
import { storableContext, TurnDraft } from '../draft/turn-draft.js'
import { findSession, isUnstored, noteRestart } from './find-session.js'
import { claimNext, type KeyedSession, moveToSession, openSession } from './keyed-session.js'
import { restoreSession } from './restore-session.js'
import { giveBackLeases } from './session-lease.js'

/** The parts of a turn before its session is known. */
export interface SessionParts {
  readonly flow: Flow
  readonly flowClass: FlowConstructor
  readonly steps: FlowSteps
  readonly budgets: readonly ModelBudgets[]
}

/**
 * Restores the session that the input names, or makes a new one, and puts a draft of it into the control.
 *
 * @param keyed - The session found for the input's key; `undefined` if it has no key.
 * @returns the draft, or the recorded outcome if the request is a repeat
 */
export async function loadSession(
  control: TurnControl,
  parts: SessionParts,
  keyed: Exclude<KeyedSession, { readonly replay: Replay }> | undefined,
): Promise<TurnDraft | Replay> {
  let start = keyed ?? (await findNamed(control, parts.flowClass))
  while (start.loaded !== undefined) {
    const { loaded } = start
    const restoring = restoreSession(control, parts.flow, parts.flowClass, parts.steps, loaded)
    const restored = isPromise(restoring) ? await restoring : restoring
    if (typeof restored !== 'string') return goOn(control, parts, restored, loaded)
    noteRestart(control, loaded.id, restored)
    if (control.input.idempotency === undefined) {
      start = await startBehind(control, parts.flowClass)
      continue
    }
    const next = await claimNext(control, parts.flowClass)
    if (next.replay !== undefined) return next.replay
    start = next
  }
  return startNew(control, parts, start.newId)
}

/** The start of a turn: a stored session, or a new one, whose ID may already be known. */
type Start =
  | { readonly loaded: SessionDocument; readonly newId?: undefined }
  | { readonly loaded?: undefined; readonly newId: string | undefined }

const anyNewSession: Start = { newId: undefined }

/** The session that the input names, if the turn continues it. */
async function findNamed(control: TurnControl, flowClass: FlowConstructor): Promise<Start> {
  const { sessionId } = control.input
  // A client never chooses an ID: the session that starts for an unknown one has a new ID.
  if (sessionId === undefined) return anyNewSession
  const loaded = await findSession(control, sessionId, flowClass)
  if (loaded?.runStatus === 'running') return { loaded }
  if (loaded === undefined && (await isUnstored(control, sessionId))) return { newId: sessionId }
  noteRestart(control, sessionId, loaded?.runStatus ?? 'unknown')
  return startBehind(control, flowClass)
}

/** The start of a turn whose session has ended: in the session that a turn before it has started, or in a new one. */
async function startBehind(control: TurnControl, flowClass: FlowConstructor): Promise<Start> {
  const { contention } = control
  for (let id = contention?.takeSuccessor(); id !== undefined; id = contention?.takeSuccessor()) {
    await moveToSession(control, id)
    const loaded = await openSession(control, id, flowClass)
    if (loaded?.runStatus === 'running') return { loaded }
    // That turn has failed, and others follow it.
    if (loaded === undefined && !(await control.engine.session.access.isDeleted(id))) return { newId: id }
  }
  return anyNewSession
}

/** Continues a stored session. */
function goOn(
  control: TurnControl,
  parts: SessionParts,
  restored: SessionDocument,
  loaded: SessionDocument,
): TurnDraft {
  Flow.setContext(parts.flow, restored.flow.context)
  control.emit('session:restored', {})
  const draft = begin(control, parts, restored, loaded)
  if (isElsewhere(loaded, restored, parts.steps)) draft.enterAnew()
  return draft
}

function begin(
  control: TurnControl,
  { flow, steps, budgets }: SessionParts,
  base: SessionDocument,
  loaded: SessionDocument | undefined,
): TurnDraft {
  const { engine, owner, work } = control
  const spending = owner === undefined ? undefined : engine.ownerBudgets?.of(owner)
  const budget =
    budgets.length === 0 ? undefined : new BudgetCheck(budgets, base.usage, engine.clock, work.startedAt, spending)
  control.draft = new TurnDraft(engine.limits, flow, steps, base, loaded, budget)
  return control.draft
}

/** @param claimedId - The ID that the session gets; its lock is held. Default: a new one. */
function startNew(control: TurnControl, parts: SessionParts, claimedId: string | undefined): TurnDraft {
  return begin(control, parts, newSession(control, parts, claimedId), undefined)
}

/** Whether `migrate` or `onRestore` of the flow brought the session to another step. */
function isElsewhere(loaded: SessionDocument | undefined, restored: SessionDocument, steps: FlowSteps): boolean {
  const { currentStep, frames } = restored.flow
  // The hook has moved what the step waits for, too.
  if (frames?.at(-1)?.step === currentStep) return false
  const former = loaded?.flow.currentStep ?? null
  return currentStep !== null && former !== null && currentStep !== (steps.aliases.get(former) ?? former)
}

function newSession(
  control: TurnControl,
  { flow, flowClass }: SessionParts,
  claimedId: string | undefined,
): SessionDocument {
  const { engine, lockHolder, owner } = control
  const now = isoTime(engine.clock.now())
  const context = storableContext(flow.context, engine.limits)
  Flow.setContext(flow, context)
  control.sessionId = claimedId ?? engine.generateId('session')
  // The turn no longer concerns the session that the input names.
  giveBackLeases(control, control.sessionId)
  control.emit('session:started', {})
  // Requests that learn this ID wait for the turn.
  leadWaiting(control, control.sessionId)
  if (lockHolder !== undefined) engine.session.moveTo(lockHolder, control.sessionId, owner)
  return {
    id: control.sessionId,
    version: sessionLayoutVersion,
    revision: '',
    ...(owner === undefined ? {} : { owner }),
    runStatus: 'running',
    createdAt: now,
    savedAt: now,
    error: [],
    usage: { inputTokens: 0, outputTokens: 0, modelCalls: 0 },
    turns: 0,
    bytes: 0,
    flow: {
      name: control.flowName,
      version: flowClass.version,
      currentStep: null,
      context,
      steps: {},
      memory: {},
      sequence: [],
    },
    history: [],
  }
}
