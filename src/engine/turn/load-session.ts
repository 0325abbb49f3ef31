/**
 * The session of a turn: loaded, checked and restored, or made anew in memory. Nothing is written here. What fails before
 * the draft is put into the control leaves the stored document as it was; what fails later aborts the session.
 */
import {
  isNewerLayout,
  SessionFlowInvariantError,
  SessionFlowMismatchError,
  SessionNotFoundError,
} from '../../errors/session-errors.js'
import { Flow } from '../../flow/flow.js'
import type { FlowConstructor } from '../../flow/flow-registry.js'
import type { ModelBudgets } from '../../model/model-budget.js'
import { moveBytes } from '../../session/attachments.js'
import { toCurrentLayout } from '../../session/layout-1.js'
import { copyDocument } from '../../session/lists/copy-document.js'
import { decodeSession } from '../../session/session-codec.js'
import { type SessionDocument, sessionLayoutVersion } from '../../session/session-document.js'
import type { StoreAccess } from '../../session/store-access.js'
import { isoTime } from '../../util/iso-time.js'
import type { TurnInput } from '../input/check-input.js'
import { BudgetCheck } from '../model-call/budget-check.js'
import type { FlowSteps } from './collect-steps.js'
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
  const { sessionId } = input
  const flowClass = engine.flows.get(control.flowName) as FlowConstructor
  const draftOf = (base: SessionDocument, loaded: SessionDocument | undefined): TurnDraft => {
    const budget = budgets.length === 0 ? undefined : new BudgetCheck(budgets, base.usage, control.startedAt)
    control.draft = new TurnDraft(engine.limits, flow, steps, base, loaded, budget)
    return control.draft
  }
  if (sessionId !== undefined) {
    const stored = await loadOf(engine.session.access, sessionId, input.owner)
    control.check()
    control.stateOfGivenId = 'none'
    // The owner comes first: of another owner's session nothing more is read, or said.
    if (stored !== undefined && (Object(stored) as Partial<SessionDocument>).owner === input.owner) {
      control.stateOfGivenId = 'unknown'
      const loaded = decodeSession(stored, sessionId)
      control.stateOfGivenId = loaded.runStatus
      checkFlowName(loaded, flowClass)
      if (loaded.runStatus === 'running') {
        checkVersion(loaded, flowClass)
        checkCurrentStep(loaded, steps)
        const restored = await restore(control, flow, steps, loaded, draftOf)
        return restored ?? draftOf(newSession(control, input, flow, flowClass), undefined)
      }
    }
    if (engine.unknownSession === 'reject') throw new SessionNotFoundError({ sessionId })
  }
  // A client never chooses an ID: the session that starts for an unknown one has a new ID.
  return draftOf(newSession(control, input, flow, flowClass), undefined)
}

/** What is stored; `undefined` where there is nothing, or another owner's session that only a newer release can read. */
async function loadOf(access: StoreAccess, sessionId: string, owner: string | undefined): Promise<unknown> {
  try {
    return await access.loadUnchecked(sessionId)
  } catch (error) {
    if (isNewerLayout(error) && error.owner !== owner) return undefined
    throw error
  }
}

function newSession(control: TurnControl, input: TurnInput, flow: Flow, flowClass: FlowConstructor): SessionDocument {
  const { engine } = control
  const now = isoTime(engine.clock.now())
  const context = storableContext(flow.context, engine.limits)
  Flow.setContext(flow, context)
  control.sessionId = engine.generateId('session')
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

function checkVersion({ id, flow }: SessionDocument, flowClass: FlowConstructor): void {
  const { version } = flow
  if (version === flowClass.version) return
  const problem = `it was stored by version ${version} of flow '${flowClass.id}', and this is version ${flowClass.version}`
  throw new SessionFlowInvariantError({ sessionId: id, problem })
}

function checkCurrentStep({ id, flow }: SessionDocument, steps: FlowSteps): void {
  const { currentStep } = flow
  if (currentStep === null || steps.get(currentStep) !== undefined || steps.aliases.has(currentStep)) return
  const known = [...steps.all().keys()].join(', ')
  throw new SessionFlowInvariantError({
    sessionId: id,
    problem: `its current step is '${currentStep}', and the steps of its flow are ${known}`,
  })
}

/** Restores a loaded session; `undefined` where the flow's `onRestore` asked for a new one. */
async function restore(
  control: TurnControl,
  flow: Flow,
  steps: FlowSteps,
  loaded: SessionDocument,
  draftOf: (base: SessionDocument, loaded: SessionDocument | undefined) => TurnDraft,
): Promise<TurnDraft | undefined> {
  let document = toCurrentLayout(loaded)
  if (flow.onRestore !== Flow.prototype.onRestore) {
    // From here on, a failure is one of the session.
    control.draft = new TurnDraft(control.engine.limits, flow, steps, loaded, loaded, undefined)
    // The hook gets a copy: nothing that it changes may stay when the turn fails.
    const copy = copyDocument(document)
    const returned = await flow.onRestore(copy)
    control.check()
    if (returned === null) {
      control.draft = undefined
      return undefined
    }
    document = moveBytes(toCurrentLayout(decodeSession(returned ?? copy, loaded.id)))
    checkRestored(document, loaded, steps)
  }
  document = withoutAliases(document, steps)
  Flow.setContext(flow, document.flow.context)
  control.emit('session:restored', {})
  return draftOf(document, loaded)
}

function checkRestored(document: SessionDocument, loaded: SessionDocument, steps: FlowSteps): void {
  const sessionId = loaded.id
  if (document.revision !== loaded.revision) {
    throw new SessionFlowInvariantError({ sessionId, problem: "the flow's onRestore changed its revision" })
  }
  if (document.turns < loaded.turns) {
    throw new SessionFlowInvariantError({ sessionId, problem: "the flow's onRestore lowered its turns" })
  }
  if (document.flow.name !== loaded.flow.name) {
    throw new SessionFlowInvariantError({ sessionId, problem: "the flow's onRestore changed its flow.name" })
  }
  checkCurrentStep(document, steps)
}

/** The document with every former step ID replaced by the current one. */
function withoutAliases(document: SessionDocument, steps: FlowSteps): SessionDocument {
  const { aliases } = steps
  if (aliases.size === 0) return document
  const { flow } = document
  const rename = <T>(record: Readonly<Record<string, T>>): Record<string, T> => {
    // Where a record has both, the entry under the current ID replaces the one under the former.
    const former = Object.entries(record).filter(([key]) => aliases.has(key))
    const current = Object.entries(record).filter(([key]) => !aliases.has(key))
    return Object.fromEntries([
      ...former.map(([key, value]) => [aliases.get(key) as string, value] as const),
      ...current,
    ])
  }
  const { currentStep } = flow
  return {
    ...document,
    flow: {
      ...flow,
      currentStep: currentStep === null ? null : (aliases.get(currentStep) ?? currentStep),
      steps: rename(flow.steps),
      memory: rename(flow.memory),
    },
  }
}
