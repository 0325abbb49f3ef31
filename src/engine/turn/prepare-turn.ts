/**
 * Everything before a turn's first step: the flow object, its steps and models, and the session's document, restored
 * or new. Nothing is written here, and a failure here leaves the stored document as it was.
 */
import { FlowNotFoundError, flowCodeError, invalidInput } from '../../errors/engine-errors.js'
import {
  SessionFlowInvariantError,
  SessionFlowMismatchError,
  SessionNotFoundError,
} from '../../errors/session-errors.js'
import { Flow } from '../../flow/flow.js'
import type { FlowConstructor } from '../../flow/flow-registry.js'
import { Step } from '../../flow/step.js'
import { checkBudgets, checkPrices, type ModelBudgets } from '../../model/model-budget.js'
import type { ModelChoice, ModelSelection } from '../../model/model-provider.js'
import type { ResolvedModel } from '../../model/model-registry.js'
import { resolveSelection } from '../../model/model-selection.js'
import { copyDocument } from '../../session/lists/copy-document.js'
import { decodeSession } from '../../session/session-codec.js'
import { type SessionDocument, type SessionUsage, sessionLayoutVersion } from '../../session/session-document.js'
import { isoTime } from '../../util/iso-time.js'
import type { CheckedInput } from '../input/check-input.js'
import { BudgetCheck } from '../model-call/budget-check.js'
import { collectSteps, type FlowSteps } from './collect-steps.js'
import { outputOf } from './structured-output.js'
import type { TurnControl } from './turn-control.js'
import { storableContext } from './turn-draft.js'

/** A turn that is ready to run. */
export interface PreparedTurn {
  readonly flow: Flow
  readonly steps: FlowSteps
  readonly modelsOf: (stepId: string) => readonly ResolvedModel[]
  /** The check of what the turn spends, from what was spent before. */
  readonly budgetOf: (before: SessionUsage) => BudgetCheck | undefined
  /** What the turn starts from: restored, or new. */
  readonly base: SessionDocument
  /** The document as it was loaded; `undefined` for a new session. */
  readonly loaded: SessionDocument | undefined
}

/** A flow that is ready for a session. */
export type Bootstrapped = Omit<PreparedTurn, 'base' | 'loaded'>

/** Constructs the flow. Its `init` is the caller's to run. */
export function createFlow({ engine, flowName }: TurnControl, input: CheckedInput): Flow {
  const flowClass = engine.flows.get(flowName)
  if (flowClass === undefined) throw new FlowNotFoundError({ flowName })
  const flow = new flowClass()
  Flow.attach(flow, { services: engine.services })
  if (input.context !== undefined) flow.addContext(input.context)
  return flow
}

/** Checks all that can be checked without a session (design 5.3 and 5.4). */
export function bootstrap(control: TurnControl, flow: Flow): Bootstrapped {
  const { flowName, engine } = control
  const steps = collectSteps(flow, flowName)
  const ofFlow = checkBudgets(flow.budgets(), `Flow '${flowName}': budgets()`)
  const budgets = [engine.budgets, ofFlow].filter((budget) => budget !== undefined)
  engine.flows.keeperOf(flowName)?.check(control, steps, budgets)
  return {
    flow,
    steps,
    modelsOf: resolveModels(control, flow, steps, budgets),
    budgetOf: (before) => (budgets.length === 0 ? undefined : new BudgetCheck(budgets, before, control.startedAt)),
  }
}

/** Loads the session, or makes a new one in memory. `began` is called when the session's own turn begins. */
export async function openSession(
  control: TurnControl,
  input: CheckedInput,
  ready: Bootstrapped,
  began: (loaded: SessionDocument | undefined) => void,
): Promise<SessionDocument> {
  const { engine } = control
  const { sessionId } = input
  const flowClass = engine.flows.get(control.flowName) as FlowConstructor
  if (sessionId !== undefined) {
    const loaded = await engine.session.access.load(sessionId)
    control.check()
    if (loaded !== undefined && loaded.owner === input.owner) {
      checkBinding(loaded, flowClass)
      if (loaded.runStatus === 'running') {
        checkVersion(loaded, flowClass, ready.steps)
        began(loaded)
        const hasHook = ready.flow.onRestore !== Flow.prototype.onRestore
        const document = hasHook ? await askFlow(control, ready, loaded) : loaded
        if (document !== undefined) return restore(control, ready, document)
        began(undefined)
        return newSession(control, input, ready.flow, flowClass)
      }
    }
    if (engine.unknownSession === 'reject') throw new SessionNotFoundError({ sessionId })
  }
  // A client never chooses an ID: an unknown one is answered with a new one.
  const created = newSession(control, input, ready.flow, flowClass)
  began(undefined)
  return created
}

function newSession(
  control: TurnControl,
  input: CheckedInput,
  flow: Flow,
  flowClass: FlowConstructor,
): SessionDocument {
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

function checkBinding(document: SessionDocument, flowClass: FlowConstructor): void {
  const { name } = document.flow
  if (name === flowClass.id || flowClass.aliases.includes(name)) return
  throw new SessionFlowMismatchError({ sessionId: document.id, boundFlow: name, requestedFlow: flowClass.id })
}

function checkVersion(document: SessionDocument, flowClass: FlowConstructor, steps: FlowSteps): void {
  const { version, currentStep } = document.flow
  if (version !== flowClass.version) {
    const problem = `it was stored by version ${version} of flow '${flowClass.id}', and this is version ${flowClass.version}`
    throw new SessionFlowInvariantError({ sessionId: document.id, problem })
  }
  checkCurrentStep(document.id, currentStep, steps)
}

function checkCurrentStep(sessionId: string, currentStep: string | null, steps: FlowSteps): void {
  if (currentStep === null || steps.get(currentStep) !== undefined || steps.aliases.has(currentStep)) return
  const known = [...steps.all().keys()].join(', ')
  throw new SessionFlowInvariantError({
    sessionId,
    problem: `its current step is '${currentStep}', and the steps of its flow are ${known}`,
  })
}

/** Runs the flow's `onRestore`; `undefined` where it asked for a new session. */
async function askFlow(
  control: TurnControl,
  ready: Bootstrapped,
  loaded: SessionDocument,
): Promise<SessionDocument | undefined> {
  // The hook gets a copy: of a turn that fails, nothing it changed may stay.
  const copy = copyDocument(loaded)
  const returned = await ready.flow.onRestore(copy)
  control.check()
  if (returned === null) return undefined
  const document = decodeSession(returned ?? copy, loaded.id)
  checkRestored(document, loaded, ready.steps)
  return document
}

function restore(control: TurnControl, { flow, steps }: Bootstrapped, loaded: SessionDocument): SessionDocument {
  const document = withoutAliases(loaded, steps)
  Flow.setContext(flow, document.flow.context)
  control.emit('session:restored', {})
  return document
}

function checkRestored(document: SessionDocument, loaded: SessionDocument, steps: FlowSteps): void {
  const sessionId = loaded.id
  if (document.revision !== loaded.revision) {
    throw new SessionFlowInvariantError({ sessionId, problem: "the flow's onRestore changed its revision" })
  }
  if (document.flow.name !== loaded.flow.name) {
    throw new SessionFlowInvariantError({ sessionId, problem: "the flow's onRestore changed its flow.name" })
  }
  checkCurrentStep(sessionId, document.flow.currentStep, steps)
}

/** The document with every former step ID replaced by the current one. */
function withoutAliases(document: SessionDocument, steps: FlowSteps): SessionDocument {
  const { aliases } = steps
  if (aliases.size === 0) return document
  const { flow } = document
  const rename = <T>(record: Readonly<Record<string, T>>): Record<string, T> => {
    // The current ID comes later and wins, where both are there.
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

/** Resolves and validates the models of every model step, once for each choice. */
function resolveModels(
  control: TurnControl,
  flow: Flow,
  steps: FlowSteps,
  budgets: readonly ModelBudgets[],
): (stepId: string) => readonly ResolvedModel[] {
  const { models } = control.engine
  const resolve = (choice: ModelChoice, base: ModelChoice | undefined, source: string): readonly ResolvedModel[] => {
    const selections = listOf(choice)
    if (selections.length === 0) throw invalidInput(`${source} returned an empty list.`)
    return selections.map((selection) => {
      const resolved = models.resolve(resolveSelection(selection, listOf(base), source))
      checkPrices(budgets, resolved)
      return resolved
    })
  }
  const flowChoice = flow.model()
  const flowModels =
    flowChoice === undefined ? undefined : resolve(flowChoice, undefined, `model() of flow '${control.flowName}'`)
  /** Of those that name their own. */
  let ofSteps: Map<string, readonly ResolvedModel[]> | undefined
  for (const [stepId, step] of steps.all()) {
    if (!(step instanceof Step)) continue
    outputOf(step, stepId)
    const own = step.model()
    const resolved = own === undefined ? flowModels : resolve(own, flowChoice, `model() of step '${stepId}'`)
    if (resolved === undefined) {
      throw flowCodeError(
        `Step '${stepId}' of flow '${control.flowName}' has no model. Return one from model() of the step or of the flow.`,
      )
    }
    if (resolved === flowModels) continue
    ofSteps ??= new Map()
    ofSteps.set(stepId, resolved)
  }
  return (stepId) => ofSteps?.get(stepId) ?? (flowModels as readonly ResolvedModel[])
}

function listOf(choice: ModelChoice | undefined): readonly ModelSelection[] {
  if (choice === undefined) return []
  return Array.isArray(choice) ? choice : [choice as ModelSelection]
}
