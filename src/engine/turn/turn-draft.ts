/**
 * What a turn has changed so far. It starts from the loaded document and leaves it alone; at the turn's end it becomes
 * the next document, whole, or is thrown away, whole.
 */
import { FlowCodeError, flowCodeError } from '../../errors/engine-errors.js'
import type { StepRuntime } from '../../flow/base-step.js'
import { ConversationMemory } from '../../flow/conversation-memory.js'
import type { ResolvedModelSelection } from '../../model/model-provider.js'
import { withoutCredentials } from '../../model/model-selection.js'
import { GrowingList } from '../../session/lists/growing-list.js'
import { shareList } from '../../session/lists/shared-lists.js'
import type {
  SessionDocument,
  SessionHistoryEntry,
  SessionSequenceEntry,
  SessionStep,
  SessionUsage,
} from '../../session/session-document.js'
import type { SessionSaveHint } from '../../session/session-store.js'
import { isoTime } from '../../util/iso-time.js'
import { copyJson, isPlainObject, type JsonError, type JsonObject, jsonSize } from '../../util/json.js'
import { depthExceeded, type EngineLimits, limitExceeded } from '../engine-limits.js'
import type { FlowSteps } from './collect-steps.js'
import type { TurnReply } from './run-envelope.js'

/** Entries of `flow.sequence`. */
const maxSequence = 20

/** How a turn ended, for the document. */
export interface TurnEnding {
  readonly revision: string
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly userMessage: string
  readonly reply: TurnReply
  readonly completed: boolean
  /** The flow's context where the turn changed it. */
  readonly context: Readonly<Record<string, unknown>> | undefined
}

/** The changes of one turn. */
export class TurnDraft implements StepRuntime {
  readonly base: SessionDocument
  readonly memory: ConversationMemory
  readonly usage: { -readonly [Name in keyof SessionUsage]: SessionUsage[Name] }
  readonly turnNumber: number
  currentStep: string | null
  contentType: string | undefined
  encoding: 'base64' | undefined
  /** About how many bytes context and states take as JSON, as {@link toDocument} measured them. */
  stateBytes: number | undefined
  readonly #steps: FlowSteps
  readonly #limits: EngineLimits
  /** Live states, by step: those that were read or written. */
  readonly #states = new Map<string, object>()
  /** The first states, as JSON, of steps that the session has not been in. */
  readonly #lookedAt = new Map<string, string>()
  /** By step: the model that answered last. */
  readonly #answered = new Map<string, ResolvedModelSelection>()
  readonly #entered: SessionSequenceEntry[] = []

  constructor(base: SessionDocument, steps: FlowSteps, limits: EngineLimits) {
    this.base = base
    this.#steps = steps
    this.#limits = limits
    this.memory = new ConversationMemory(base.flow.memory)
    this.usage = { ...base.usage }
    this.turnNumber = base.history.length + 1
    this.currentStep = base.flow.currentStep
    // The content type belongs to the step, until a move sets another: the last turn tells it.
    const last = base.history.at(-1)
    if (last !== undefined && (steps.aliases.get(last.step) ?? last.step) === base.flow.currentStep) {
      this.contentType = last.contentType
      this.encoding = last.encoding
    }
  }

  readState(stepId: string): object {
    let state = this.#states.get(stepId)
    if (state === undefined) {
      state = this.writeState(stepId, this.#stored(stepId)?.state ?? this.#steps.require(stepId).initialState())
      if (!this.#wasVisited(stepId)) this.#lookedAt.set(stepId, JSON.stringify(state))
    }
    return state
  }

  writeState(stepId: string, state: object): object {
    if (!isPlainObject(state)) throw flowCodeError(`${stepId}.state must be a plain object.`)
    // A copy: what flow code hands over may be a constant, and a live state belongs to one turn.
    const live = storable(state, `${stepId}.state`, this.#limits)
    this.#states.set(stepId, live)
    return live
  }

  /** Moves to a step and merges `state` into its own. */
  enter(stepId: string, state: JsonObject | undefined): void {
    this.currentStep = stepId
    this.#entered.push(Object.freeze({ step: stepId, level: 0 }))
    const current = this.readState(stepId)
    // A copy: a transition may be a constant, and what a step changes in its state is its session's alone.
    if (state !== undefined) Object.assign(current, copyJson(state, 'state', Number.POSITIVE_INFINITY))
  }

  /** Remembers which model answered last for a step. */
  answeredBy(stepId: string, selection: ResolvedModelSelection): void {
    this.readState(stepId)
    this.#answered.set(stepId, selection)
  }

  /**
   * What became of each list; `undefined` where the lists that the turn started from are not the stored ones: the flow's
   * `onRestore` gave others, or an alias moved them.
   *
   * @param stored - The document as it was loaded; `undefined` for a new session.
   */
  hint(stored: SessionDocument | undefined): SessionSaveHint | undefined {
    if (stored !== undefined && !hasSameLists(this.base, stored)) return undefined
    const appended: Record<string, number> = { history: 1 }
    const rewritten: string[] = []
    for (const [namespace, count] of this.memory.appended()) {
      if (count === undefined) rewritten.push(`memory:${namespace}`)
      else appended[`memory:${namespace}`] = count
    }
    return rewritten.length === 0 ? { appended } : { appended, rewritten }
  }

  /**
   * The next document.
   *
   * @throws {@link FlowCodeError} for a state or context that JSON cannot carry.
   * @throws {@link LimitExceededError} where the session has grown beyond `maxSessionBytes`.
   */
  toDocument(ending: TurnEnding): SessionDocument {
    const { base } = this
    const limits = this.#limits
    const at = isoTime(ending.at)
    const entry = this.#historyEntry(ending, at)
    const history = new GrowingList(base.history)
    history.push(entry)
    // More may be cut off than was ever counted: a flow may have changed its messages in onRestore.
    const bytes = Math.max(0, base.bytes + this.memory.addedBytes) + jsonSize(entry) + 1
    const steps = this.#storedSteps()
    const context = ending.context === undefined ? base.flow.context : storableContext(ending.context, limits)
    this.stateBytes = jsonSize(steps) + jsonSize(context)
    if (bytes + this.stateBytes > limits.maxSessionBytes) {
      throw limitExceeded(limits, 'maxSessionBytes', 'The session')
    }
    return {
      ...base,
      revision: ending.revision,
      runStatus: ending.completed ? 'completed' : 'running',
      savedAt: at,
      usage: this.usage,
      bytes,
      flow: {
        ...base.flow,
        currentStep: this.currentStep,
        context,
        steps,
        memory: this.memory.toStored(),
        sequence: this.#sequence(),
      },
      history: history.list,
    }
  }

  #sequence(): readonly SessionSequenceEntry[] {
    const { sequence } = this.base.flow
    return this.#entered.length === 0 ? sequence : shareList([...sequence, ...this.#entered].slice(-maxSequence))
  }

  #historyEntry(ending: TurnEnding, at: string): SessionHistoryEntry {
    const { text, contentType, encoding } = ending.reply
    const { turnNumber: turn, currentStep } = this
    const entry = { turn, at, message: ending.userMessage, reply: text, contentType, step: currentStep as string }
    return Object.freeze(encoding === undefined ? entry : { ...entry, encoding })
  }

  #storedSteps(): Record<string, SessionStep> {
    const steps: Record<string, SessionStep> = { ...this.base.flow.steps }
    for (const [stepId, state] of this.#states) {
      const stored = storable(state, `${stepId}.state`, this.#limits)
      if (!this.#wasVisited(stepId) && JSON.stringify(stored) === this.#lookedAt.get(stepId)) continue
      const { model } = this.#stored(stepId) ?? {}
      steps[stepId] = model === undefined ? { state: stored } : { state: stored, model }
    }
    for (const [stepId, selection] of this.#answered) {
      steps[stepId] = { state: (steps[stepId] as SessionStep).state, model: withoutCredentials(selection) }
    }
    return steps
  }

  /** Whether the session has been in a step: one that was only looked at, and left as it begins, leaves no trace. */
  #wasVisited(stepId: string): boolean {
    if (this.#stored(stepId) !== undefined || stepId === this.base.flow.currentStep) return true
    return this.#entered.some(({ step }) => step === stepId)
  }

  #stored(stepId: string): SessionStep | undefined {
    const { steps } = this.base.flow
    return Object.hasOwn(steps, stepId) ? steps[stepId] : undefined
  }
}

/** Whether two documents hold the very same lists under the same names. Lists are frozen: the same one is unchanged. */
function hasSameLists(one: SessionDocument, other: SessionDocument): boolean {
  if (one === other) return true
  if (one.history !== other.history) return false
  const [memory, otherMemory] = [Object.entries(one.flow.memory), other.flow.memory]
  return (
    memory.length === Object.keys(otherMemory).length &&
    memory.every(([name, { messages }]) => Object.hasOwn(otherMemory, name) && otherMemory[name]?.messages === messages)
  )
}

/** A copy of a flow's context that can be stored: a `config` of the deepest kind, and the object around it. */
export function storableContext(context: unknown, limits: EngineLimits): JsonObject {
  return storable(context, 'context', limits, 1)
}

/** A copy of `value` that can be stored; `outer` levels around it do not count. */
function storable(value: unknown, path: string, limits: EngineLimits, outer = 0): JsonObject {
  const refuse = (problem: string, cause: JsonError): Error =>
    depthExceeded(limits, cause) ?? flowCodeError(`${problem}.`, cause)
  return copyJson(value, path, limits.maxJsonDepth + outer, refuse) as JsonObject
}
