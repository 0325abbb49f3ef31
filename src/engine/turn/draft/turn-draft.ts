/**
 * The draft of one turn: all its changes so far. It starts from the loaded document, which stays unchanged. At the end
 * of the turn the whole draft becomes the next document, or is discarded.
 */
import { FlowCodeError, flowCodeError } from '../../../errors/engine-errors.js'
import type { StepRuntime } from '../../../flow/base-step.js'
import { ConversationMemory } from '../../../flow/conversation-memory.js'
import { EndStep } from '../../../flow/end-step.js'
import type { Flow } from '../../../flow/flow.js'
import type { Transition } from '../../../flow/transition.js'
import type { ToolCallPart } from '../../../model/message.js'
import type { ResolvedModelSelection } from '../../../model/model-provider.js'
import { isStoredAs, withoutCredentials } from '../../../model/model-selection.js'
import type { ReplyPart } from '../../../model/reply-part.js'
import { addedBytesOfEffects, bytesOfLists } from '../../../session/document-bytes.js'
import { memoryList } from '../../../session/document-lists.js'
import { GrowingList } from '../../../session/lists/growing-list.js'
import { shareList } from '../../../session/lists/shared-lists.js'
import { hasSameLists, noteChange } from '../../../session/save-hint.js'
import {
  framesLayoutVersion,
  type SentAttachment,
  type SessionDocument,
  type SessionEffects,
  type SessionFrame,
  type SessionHistoryEntry,
  type SessionReceipt,
  type SessionSequenceEntry,
  type SessionStep,
  type SessionUsage,
  sessionLayoutVersion,
} from '../../../session/session-document.js'
import type { SessionSaveHint } from '../../../session/session-store.js'
import { isoTime } from '../../../util/iso-time.js'
import { copyJson, isPlainObject, type JsonError, type JsonObject } from '../../../util/json.js'
import type { BudgetCheck } from '../../budgets/budget-check.js'
import { depthExceeded, type EngineLimits, limitExceeded } from '../../core/engine-limits.js'
import { plain, type TurnReply } from '../../core/run-envelope.js'
import type { RequestKey, TurnInput } from '../../core/turn-input.js'
import type { FlowSteps } from './flow-steps.js'
import type { OpenCalls } from './open-calls.js'
import { extendSequence, sequenceEntry } from './sequence.js'
import { sizeOf, sizeOfSteps } from './state-size.js'
import { RemovedEntries, trimLists, trimToBytes } from './trim-lists.js'

/** The chosen reply, and the step that chose it. */
interface Answer {
  readonly text: string
  readonly from: string
  /** Whether a model made it, so that memory already has it. */
  readonly remembered: boolean
  /** The content type of this reply alone. Default: the step's. */
  readonly contentType?: string | undefined
  /** Set if the text is bytes in base64. */
  readonly encoding?: 'base64' | undefined
  readonly parts?: readonly ReplyPart[] | undefined
}

/** The turn that a document is made for. */
interface TurnIdentity {
  readonly turnId: string
  readonly input: Pick<TurnInput, 'idempotency'>
  /** Whether it takes an event of the application or of the clock. */
  readonly isOfServer: boolean
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/** The changes of one turn. Most turns do not have the fields that are only declared, and make no room for them. */
export class TurnDraft implements StepRuntime {
  readonly flow: Flow
  readonly steps: FlowSteps
  /** The session at the start of the turn: restored, or new. */
  readonly base: SessionDocument
  /** The loaded document; `undefined` for a new session. */
  readonly loaded: SessionDocument | undefined
  /** The stored revision; `undefined` if nothing is stored. */
  storedRevision: string | undefined
  readonly memory: ConversationMemory
  /** The session's spending, including this turn. */
  readonly usage: Writable<SessionUsage>
  /** Checks the turn's spending; `undefined` if there is no budget. */
  readonly budget: BudgetCheck | undefined
  readonly turnNumber: number
  /** Model calls of this turn. */
  modelCalls = 0
  /** Tool calls of models in this turn. */
  askedToolCalls = 0
  /** Moves (`go`) of this turn. */
  moves = 0
  currentStep: string | null
  /** The entry of the current step, if an earlier turn entered it and it is stored. */
  declare storedEntry: string | undefined
  /** What the last transition added to the prompt of the current step. */
  addedPrompt: string | undefined
  /** The content type of replies in the current step, set by the transition that led there; `undefined`: plain text. */
  stepContentType: string | undefined
  /** The form of the next reply only, set by the last move. */
  nextReply: Pick<Transition['fields'], 'contentType' | 'encoding'> | undefined
  /** The entries removed from the session's lists because they were too long. */
  readonly removed: RemovedEntries = new RemovedEntries()
  /** The approximate size of context and states as JSON, measured by {@link toDocument}. */
  stateBytes: number | undefined
  /** The effects to store; `undefined` if they did not change. */
  effects: SessionEffects | undefined
  /** The calls of tools, in the order of the model: see `ToolCall.idempotencyKey`. `undefined` until there is one. */
  toolCalls: ToolCallPart[] | undefined
  /** What the session waits for after the turn; `undefined` if nothing. */
  frames: readonly SessionFrame[] | undefined
  wakeAt: string | undefined
  /** The timers that the current step has set, in milliseconds. */
  timers: Map<string, number | undefined> | undefined
  /** The open calls, what comes before the reply, and changed lists of choices; `undefined` if there are none of them. */
  declare calls: OpenCalls | undefined
  /** The event that the turn took, for the history. */
  event: SessionHistoryEntry['event']
  /** What stands in place of the user's message: see `Turn.hideMessage`. */
  declare hidden: string | undefined
  /** The parts of the reply, for the history. */
  declare storedParts: readonly ReplyPart[] | undefined
  /** The images and files of the user's message, for the history. */
  sent: readonly SentAttachment[] | undefined
  /** `undefined` until the turn has a reply. */
  answer: Answer | undefined
  readonly #limits: EngineLimits
  /** Live states by step, for steps whose state was read or written. */
  #states: Map<string, object> | undefined
  /** The states of steps that the turn was not in when it read them, as JSON. */
  #firstStates: Map<string, string> | undefined
  /** The model of the last answer, by step. */
  #answeredBy: Map<string, ResolvedModelSelection> | undefined
  readonly #entered: SessionSequenceEntry[] = []
  readonly #history: GrowingList<SessionHistoryEntry>
  #receipts: GrowingList<SessionReceipt> | undefined
  #entersAnew = false

  constructor(
    limits: EngineLimits,
    flow: Flow,
    steps: FlowSteps,
    base: SessionDocument,
    loaded: SessionDocument | undefined,
    budget: BudgetCheck | undefined,
  ) {
    this.#limits = limits
    this.flow = flow
    this.steps = steps
    this.base = base
    this.loaded = loaded
    this.budget = budget
    this.storedRevision = loaded?.revision
    this.memory = new ConversationMemory(base)
    this.usage = { ...base.usage }
    this.turnNumber = base.turns + 1
    this.currentStep = base.flow.currentStep
    this.stepContentType = base.flow.contentType
    this.#history = new GrowingList(base.history)
    if (base.receipts !== undefined) this.#receipts = new GrowingList(base.receipts)
  }

  /** The current step; before the session has entered it, the one that it will enter. */
  get stepId(): string {
    return this.currentStep ?? this.base.flow.currentStep ?? this.steps.root.initial
  }

  /** Whether the session was moved to another step since its last turn, which it has not entered yet. */
  enterAnew(): void {
    this.#entersAnew = true
    this.currentStep = null
  }

  /** See `Turn.entry`. */
  get entry(): string {
    return this.storedEntry ?? `${this.turnNumber}.${this.#entered.length}`
  }

  /** The reply of the turn, which must have its {@link answer}. */
  get reply(): TurnReply {
    const answer = this.answer as Answer
    const form = answer.contentType === undefined ? this.nextReply : answer
    const reply = {
      text: answer.text,
      contentType: form?.contentType ?? this.stepContentType ?? plain,
      encoding: form?.encoding,
    }
    return this.calls === undefined ? reply : this.calls.withLead(reply)
  }

  /** The parts of the reply; `undefined` if it has none. */
  get parts(): readonly ReplyPart[] | undefined {
    const { answer, calls } = this
    return calls?.leadParts === undefined ? answer?.parts : [...calls.leadParts, ...(answer?.parts ?? [])]
  }

  /** Whether the session has ended: its current step is an end step. */
  get completed(): boolean {
    return this.currentStep !== null && this.steps.get(this.currentStep) instanceof EndStep
  }

  /** A new, unchanged draft for the same turn, with new step objects. The spending so far stays. */
  startAgain(): TurnDraft {
    const draft = new TurnDraft(this.#limits, this.flow, this.steps.withNewSteps(), this.base, this.loaded, this.budget)
    draft.storedRevision = this.storedRevision
    draft.modelCalls = this.modelCalls
    draft.askedToolCalls = this.askedToolCalls
    Object.assign(draft.usage, this.usage)
    if (this.#entersAnew) draft.enterAnew()
    if (this.hidden !== undefined) draft.hidden = this.hidden
    return draft
  }

  readState(stepId: string): object {
    let state = this.#states?.get(stepId)
    if (state === undefined) {
      state = this.writeState(stepId, this.#stored(stepId)?.state ?? this.steps.require(stepId).initialState())
      if (!this.#wasIn(stepId)) {
        this.#firstStates ??= new Map()
        this.#firstStates.set(stepId, JSON.stringify(state))
      }
    }
    return state
  }

  writeState(stepId: string, state: object): object {
    if (!isPlainObject(state)) throw flowCodeError(`${stepId}.state must be a plain object.`)
    // A copy: flow code may pass a constant, but a live state belongs to one turn.
    const live = storable(state, `${stepId}.state`, this.#limits)
    this.#states ??= new Map()
    this.#states.set(stepId, live)
    return live
  }

  /** Moves to a step, merges the transition's `state` into the step's, and applies its settings for replies. */
  enter(stepId: string, fields: Transition['fields'] | undefined): void {
    this.currentStep = stepId
    this.timers = undefined
    if (this.storedEntry !== undefined) this.storedEntry = undefined
    // Bytes are a single reply, and the closing reply is the last, so neither affects later texts.
    const isOfOneReply = fields !== undefined && (fields.kind === 'finish' || fields.encoding !== undefined)
    this.stepContentType = isOfOneReply ? undefined : fields?.contentType
    // A transition with a reply has already set its form.
    this.nextReply = isOfOneReply && fields.reply === undefined ? fields : undefined
    this.addedPrompt = fields?.prompt
    this.note(stepId)
    this.#beginState(stepId)
    // A copy: a transition may be a constant, but a step changes only its own session's state.
    const state = fields?.state
    if (state !== undefined) Object.assign(this.readState(stepId), copyJson(state, 'state', Number.POSITIVE_INFINITY))
  }

  /** Notes that a step was entered or returned to. */
  note(stepId: string): void {
    this.#entered.push(sequenceEntry(stepId, this.steps.require(stepId), this.calls?.callers.length ?? 0))
  }

  /** Has a step begin as if the session had not visited it. */
  forget(stepId: string): void {
    for (const known of [this.#states, this.#firstStates, this.#answeredBy]) known?.delete(stepId)
  }

  /** The list that the user can choose from in a step, as the session has it. */
  choicesOf(stepId: string): SessionStep['choices'] {
    return this.#stored(stepId)?.choices
  }

  /** Gives a step without a stored state its initial one. A stored state is copied when it is read. */
  #beginState(stepId: string): void {
    if (this.#stored(stepId) === undefined) this.readState(stepId)
  }

  /** Records the model of the last answer of a step. */
  answeredBy(stepId: string, selection: ResolvedModelSelection): void {
    this.#beginState(stepId)
    this.#answeredBy ??= new Map()
    this.#answeredBy.set(stepId, selection)
  }

  /** The session as it was before the turn. */
  get beforeTurn(): SessionDocument {
    return this.loaded ?? this.base
  }

  /**
   * The change of each list; `undefined` if the turn did not start from the stored lists, because the flow's
   * `onRestore` returned others or an alias moved them.
   */
  hint(): SessionSaveHint | undefined {
    if (!hasSameLists(this.base, this.loaded)) return undefined
    const hint = { appended: {} }
    noteChange(hint, 'history', this.#history)
    noteChange(hint, 'attachments', this.memory.attachments)
    noteChange(hint, 'receipts', this.#receipts)
    for (const [namespace, { messages }] of this.memory.touched) noteChange(hint, memoryList(namespace), messages)
    return hint
  }

  /**
   * The next document.
   *
   * @param turn - The turn's ID, for its history entry, and the key of its request.
   * @param at - Milliseconds since the epoch.
   * @param userMessage - The message to store.
   * @param reply - The reply to store, if it differs. Default: the reply itself.
   * @throws {@link FlowCodeError} for a state or context that is not plain JSON
   * @throws {@link LimitExceededError} if the session is larger than `maxSessionBytes` even after trimming its lists
   */
  toDocument(
    revision: string,
    { turnId, input, isOfServer }: TurnIdentity,
    at: number,
    userMessage: string,
    reply?: string,
  ): SessionDocument {
    const { base } = this
    const savedAt = isoTime(at)
    this.#history.push(this.#historyEntry(turnId, userMessage, reply, savedAt))
    if (input.idempotency !== undefined) this.#addReceipt(input.idempotency, isOfServer)
    const steps = this.#storedSteps()
    const isContextChanged = this.flow.context !== base.flow.context
    const context = isContextChanged ? storableContext(this.flow.context, this.#limits) : base.flow.context
    this.stateBytes = sizeOfSteps(steps) + sizeOf(context)
    const bytes = this.#trimLists(this.stateBytes)
    const document: Writable<SessionDocument> = {
      ...base,
      version: this.frames === undefined ? sessionLayoutVersion : framesLayoutVersion,
      revision,
      runStatus: this.completed ? 'completed' : 'running',
      savedAt,
      usage: this.usage,
      turns: this.turnNumber,
      bytes,
      flow: this.#storedFlow(context, steps),
      history: this.#history.list,
    }
    const attachments = this.memory.attachments?.list
    const receipts = this.#receipts?.list
    if (attachments !== undefined) document.attachments = attachments
    if (receipts !== undefined) document.receipts = receipts
    if (this.effects !== undefined) document.effects = this.effects
    return document
  }

  #addReceipt({ key, request }: RequestKey, isOfServer: boolean): void {
    this.#receipts ??= new GrowingList(this.base.receipts ?? shareList([]))
    const receipt = { key, request, turn: this.turnNumber }
    // They are counted apart, so that a user cannot push them out.
    this.#receipts.push(Object.freeze(isOfServer ? { ...receipt, event: true } : receipt))
  }

  #storedFlow(context: JsonObject, steps: SessionDocument['flow']['steps']): SessionDocument['flow'] {
    const { base, stepContentType } = this
    const flow: Writable<SessionDocument['flow']> = {
      ...base.flow,
      currentStep: this.currentStep ?? base.flow.currentStep,
      context,
      steps,
      memory: this.memory.toStored(),
      sequence: this.#sequence(),
    }
    if (stepContentType !== undefined) flow.contentType = stepContentType
    // Only if it exists: `delete` makes an object slower even if the property is missing.
    else if (flow.contentType !== undefined) delete flow.contentType
    if (this.frames !== undefined) flow.frames = this.frames
    else if (flow.frames !== undefined) delete flow.frames
    if (this.wakeAt !== undefined) flow.wakeAt = this.wakeAt
    else if (flow.wakeAt !== undefined) delete flow.wakeAt
    return flow
  }

  /** Cuts the lists to their limits, and returns their approximate size in bytes. */
  #trimLists(stateBytes: number): number {
    const { base, loaded, memory, removed } = this
    const limits = this.#limits
    const history = this.#history
    const receipts = this.#receipts
    const lists = { turn: this.turnNumber, history, memory, receipts }
    trimLists(lists, limits, removed)
    const mostBytes = limits.maxSessionBytes - stateBytes
    const ofEffects = this.effects === undefined ? 0 : addedBytesOfEffects(base.effects, this.effects)
    const addedBytes = (): number => history.addedBytes + memory.addedBytes + (receipts?.addedBytes ?? 0) + ofEffects
    // A flow may have changed lists in `onRestore` without updating the count.
    const counted = base.bytes + addedBytes()
    if (hasSameLists(base, loaded) && counted >= 0 && counted <= mostBytes) return counted
    // A count that may be wrong must not remove or refuse anything: the document may not come from an engine.
    const before = bytesOfLists(base)
    const bytesNow = (): number => before + addedBytes()
    if (!trimToBytes(lists, bytesNow, mostBytes, removed)) throw limitExceeded(limits, 'maxSessionBytes', 'The session')
    return bytesNow()
  }

  #sequence(): readonly SessionSequenceEntry[] {
    const { sequence } = this.base.flow
    return extendSequence(sequence, this.#entered)
  }

  #historyEntry(id: string, message: string, storedReply: string | undefined, at: string): SessionHistoryEntry {
    const { text, contentType, encoding } = this.reply
    const { turnNumber: turn, stepId: step, storedParts: parts } = this
    const entry = { turn, id, at, message, reply: storedReply ?? text, contentType, step }
    const { sent } = this
    const event = this.hidden === undefined ? this.event : withoutPayload(this.event)
    if (encoding === undefined && sent === undefined && event === undefined && parts === undefined) {
      return Object.freeze(entry)
    }
    const more = { ...(encoding && { encoding }), ...(parts && { parts }) }
    return Object.freeze({ ...entry, ...more, ...(sent && { attachments: sent }), ...(event && { event }) })
  }

  /** The steps to store: the same object if none has changed. */
  #storedSteps(): SessionDocument['flow']['steps'] {
    let { steps } = this.base.flow
    let changed: Record<string, SessionStep> | undefined
    const change = (stepId: string, step: SessionStep): void => {
      changed ??= { ...steps }
      changed[stepId] = step
      steps = changed
    }
    if (this.calls !== undefined) steps = this.calls.withoutFresh(steps)
    for (const [stepId, state] of this.#states ?? []) {
      const stored = storable(state, `${stepId}.state`, this.#limits)
      if (!this.#wasIn(stepId) && JSON.stringify(stored) === this.#firstStates?.get(stepId)) continue
      change(stepId, { ...this.#stored(stepId), state: stored })
    }
    for (const [stepId, selection] of this.#answeredBy ?? []) {
      const step = steps[stepId] as SessionStep
      if (!isStoredAs(selection, step.model)) change(stepId, { ...step, model: withoutCredentials(selection) })
    }
    return this.calls === undefined ? steps : this.calls.withChoices(steps, this)
  }

  /** Whether the turn began in a step, or entered it. The state of any other step is stored only if it changed. */
  #wasIn(stepId: string): boolean {
    return stepId === this.base.flow.currentStep || this.#entered.some(({ step }) => step === stepId)
  }

  #stored(stepId: string): SessionStep | undefined {
    const { steps } = this.base.flow
    return Object.hasOwn(steps, stepId) && !this.calls?.fresh.has(stepId) ? steps[stepId] : undefined
  }
}

/** What the user sent with an event is hidden. */
function withoutPayload(event: SessionHistoryEntry['event']): SessionHistoryEntry['event'] {
  if (event === undefined) return undefined
  const { payload: _, ...rest } = event
  return Object.freeze(rest)
}

/** A storable copy of a flow's context, one level deeper than the `config` in it. */
export function storableContext(context: unknown, limits: EngineLimits): JsonObject {
  return storable(context, 'context', limits, 1)
}

/** A storable copy of `value`; `outer` levels around it do not count. */
function storable(value: unknown, path: string, limits: EngineLimits, outer = 0): JsonObject {
  const refuse = (problem: string, cause: JsonError): Error =>
    depthExceeded(limits, cause) ?? flowCodeError(`${problem}.`, cause)
  return copyJson(value, path, limits.maxJsonDepth + outer, refuse) as JsonObject
}
