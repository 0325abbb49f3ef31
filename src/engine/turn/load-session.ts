/**
 * The session of a turn: loaded and restored, or made anew in memory. Nothing is written here. What fails before the draft is put
 * into the control leaves the stored document as it was; what fails later aborts the session. `restore-session.ts` brings a loaded
 * session to the present version of its flow.
 */
import { isNewerLayout, SessionFlowMismatchError, SessionNotFoundError } from '../../errors/session-errors.js'
import { Flow } from '../../flow/flow.js'
import type { FlowConstructor } from '../../flow/flow-registry.js'
import type { ModelBudgets } from '../../model/model-budget.js'
import { decodeSession, ownerOf } from '../../session/session-codec.js'
import { type SessionDocument, sessionLayoutVersion } from '../../session/session-document.js'
import { isoTime } from '../../util/iso-time.js'
import type { TurnInput } from '../input/check-input.js'
import { BudgetCheck } from '../model-call/budget-check.js'
import type { FlowSteps } from './collect-steps.js'
import { restoreSession } from './restore-session.js'
import type { TurnControl } from './turn-control.js'
import { storableContext, TurnDraft } from './turn-draft.js'

/** Loads the session that the input names, or makes a new one, and puts a draft of it into the control. */
export async function loadSession(
  control: TurnControl,
  input: TurnInput,
  flow: Flow,
  steps: FlowSteps,
  budgets: readonly ModelBudgets[],
): Promise<TurnDraft> {
  const { engine } = control
  const flowClass = engine.flows.get(control.flowName) as FlowConstructor
  const begin = (base: SessionDocument, loaded: SessionDocument | undefined): TurnDraft => {
    const budget =
      budgets.length === 0 ? undefined : new BudgetCheck(budgets, base.usage, engine.clock, control.startedAt)
    control.draft = new TurnDraft(engine.limits, flow, steps, base, loaded, budget)
    return control.draft
  }
  const { sessionId } = input
  if (sessionId !== undefined) {
    const stored = await loadOf(control, sessionId, input.owner)
    control.check()
    const loaded = ownSession(control, stored, sessionId, input.owner, flowClass)
    const restored =
      loaded?.runStatus === 'running'
        ? await restoreSession(control, flow, flowClass, steps, loaded)
        : ((loaded?.runStatus as 'completed' | 'aborted' | undefined) ?? 'unknown')
    if (typeof restored !== 'string') {
      Flow.setContext(flow, restored.flow.context)
      control.emit('session:restored', {})
      const draft = begin(restored, loaded)
      if (isElsewhere(loaded, restored, steps)) draft.enterAnew()
      return draft
    }
    noteRestart(control, sessionId, restored)
  }
  // A client never chooses an ID: the session that starts for an unknown one has a new ID.
  return begin(newSession(control, input, flow, flowClass), undefined)
}

/** Whether `migrate` or `onRestore` of the flow brought the session to another step. */
function isElsewhere(loaded: SessionDocument | undefined, restored: SessionDocument, steps: FlowSteps): boolean {
  const { currentStep } = restored.flow
  const former = loaded?.flow.currentStep ?? null
  return currentStep !== null && former !== null && currentStep !== (steps.aliases.get(former) ?? former)
}

/** The stored session; `undefined` where there is none that belongs to the owner. */
function ownSession(
  control: TurnControl,
  stored: unknown,
  sessionId: string,
  owner: string | undefined,
  flowClass: FlowConstructor,
): SessionDocument | undefined {
  control.stateOfGivenId = 'none'
  // The owner comes first: of another owner's session nothing more is read, or said.
  if (stored === undefined || ownerOf(stored) !== owner) return undefined
  // Turned away from the lock, the turn may not go on with the session, whatever is stored by now.
  if (control.lockHolder?.isStranger === true) return undefined
  control.stateOfGivenId = 'unknown'
  const loaded = decodeSession(stored, sessionId)
  control.stateOfGivenId = loaded.runStatus
  checkFlowName(loaded, flowClass)
  return loaded
}

/** Notes why a new session starts in place of the one that was asked for, unless the application wants that refused. */
function noteRestart(
  control: TurnControl,
  sessionId: string,
  reason: 'unknown' | 'completed' | 'aborted' | 'outdated' | 'flow',
): void {
  // What the flow itself wants is not refused.
  const isOfFlow = reason === 'outdated' || reason === 'flow'
  if (control.engine.unknownSession === 'reject' && !isOfFlow) throw new SessionNotFoundError({ sessionId })
  control.draft = undefined
  control.restarted = reason
}

/** What is stored; `undefined` where there is nothing, or another owner's session that only a newer release can read. */
async function loadOf(
  { engine, lockHolder }: TurnControl,
  sessionId: string,
  owner: string | undefined,
): Promise<unknown> {
  const { session } = engine
  try {
    const stored = await session.access.loadUnchecked(sessionId)
    if (lockHolder !== undefined) session.setOwner(lockHolder, stored)
    return stored
  } catch (error) {
    if (!isNewerLayout(error)) throw error
    if (lockHolder !== undefined) session.setOwner(lockHolder, { owner: error.owner })
    if (error.owner !== owner) return undefined
    throw error
  }
}

function newSession(control: TurnControl, input: TurnInput, flow: Flow, flowClass: FlowConstructor): SessionDocument {
  const { engine } = control
  const now = isoTime(engine.clock.now())
  const context = storableContext(flow.context, engine.limits)
  Flow.setContext(flow, context)
  control.sessionId = engine.generateId('session')
  // Nobody else knows this ID yet. Whoever learns it waits for the turn.
  if (control.lockHolder !== undefined) engine.session.moveTo(control.lockHolder, control.sessionId, input.owner)
  return {
    id: control.sessionId,
    version: sessionLayoutVersion,
    revision: '',
    ...(input.owner === undefined ? {} : { owner: input.owner }),
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

function checkFlowName(document: SessionDocument, flowClass: FlowConstructor): void {
  const { name } = document.flow
  if (name === flowClass.id || flowClass.aliases.includes(name)) return
  throw new SessionFlowMismatchError({ sessionId: document.id, boundFlow: name, requestedFlow: flowClass.id })
}
