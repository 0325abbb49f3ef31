/** The {@link Turn} that flow code sees, made from the input, the draft and the control of the turn. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import type { FlowError } from '../../../errors/flow-error.js'
import { namespaceOf, namespacesOf } from '../../../flow/conversation-memory.js'
import { Flow } from '../../../flow/flow.js'
import { Step } from '../../../flow/step.js'
import type { StepTarget } from '../../../flow/transition.js'
import type { FlowLogger, FlowServices, Turn, TurnSession } from '../../../flow/turn.js'
import { deepFreeze, isPlainObject, type JsonObject } from '../../../util/json.js'
import type { TurnControl } from '../control/turn-control.js'
import { storableContext, type TurnDraft } from '../draft/turn-draft.js'
import { TurnEffects } from '../effects/turn-effects.js'

/**
 * A running turn, as flow code sees it. The engine sets `message` and `entered`; flow code only reads them. Most turns do
 * not have the fields that are only declared.
 */
export class TurnView implements Turn {
  message: string
  entered = false
  declare returned: Turn['returned']
  /** Set once a question in between is answered: what a model reads in place of that question. */
  declare answered: string | undefined
  declare choice: Turn['choice']
  readonly number: number
  readonly attachments: TurnControl['input']['attachments']
  readonly error: FlowError | undefined
  #transient: Map<string, unknown> | undefined
  readonly #control: TurnControl
  readonly #draft: TurnDraft
  #context: { readonly of: object; readonly merged: JsonObject } | undefined

  /** @param error - The error of the turn, if the flow answers for a failure. */
  constructor(control: TurnControl, draft: TurnDraft, error?: FlowError) {
    this.#control = control
    this.#draft = draft
    this.message = draft.hidden ?? control.input.userMessage
    this.attachments = control.input.attachments
    this.number = draft.turnNumber
    this.error = error
  }

  /**
   * Notes that a step was entered, or returned to.
   *
   * @param message - Replaces the user's message. Default: the user's message.
   */
  enter(message: string | undefined, returned?: Turn['returned']): void {
    this.entered = true
    if (returned !== this.returned) this.returned = returned
    // It was for the step that had offered the list.
    if (this.choice !== undefined) this.choice = undefined
    this.message = message ?? this.#draft.hidden ?? this.#control.input.userMessage
  }

  hideMessage(text: string): void {
    if (typeof text !== 'string') throw flowCodeError('turn.hideMessage needs a text.')
    this.#draft.memory.hideUserTexts(text)
    // The user has sent no message with an event.
    this.message = this.event === undefined ? text : ''
    this.#draft.hidden = this.message
  }

  get transient(): Map<string, unknown> {
    this.#transient ??= new Map()
    return this.#transient
  }

  get event(): Turn['event'] {
    return this.#control.input.event?.seen as Turn['event']
  }

  get step(): string {
    return this.#draft.calls?.handler?.step ?? this.#draft.stepId
  }

  get entry(): string {
    return (this.#draft.calls?.handler ?? this.#draft).entry
  }

  setTimer(name: string, ms: number | undefined): void {
    const { late } = this.#draft.steps
    // What a flow with events needs is loaded before its turn begins.
    if (late === undefined) throw flowCodeError('turn.setTimer: the flow has no events.')
    late.setTimer(this.#draft, name, ms)
  }

  get now(): number {
    return this.#control.engine.clock.now()
  }

  get signal(): AbortSignal {
    return this.#control.work.signal
  }

  get context(): JsonObject {
    const { flow, base } = this.#draft
    const own = flow.context
    if (this.#context?.of !== own) {
      // The initial context is checked and frozen; later additions are the flow's own objects.
      const isUnchanged = own === base.flow.context
      const stored = isUnchanged ? base.flow.context : storableContext(own, this.#control.engine.limits)
      this.#context = { of: own, merged: deepFreeze({ ...stored, ...this.#control.input.serverContext }) }
    }
    return this.#context.merged
  }

  addContext(value: Readonly<Record<string, unknown>>): void {
    if (!isPlainObject(value)) throw flowCodeError('turn.addContext: value must be a plain object.')
    const { flow } = this.#draft
    // Code of a failed turn may continue while the flow answers for the failure.
    if (this.#control.draft !== this.#draft) return
    // A copy that is checked at once, while the faulty code is on the stack.
    Flow.setContext(flow, storableContext({ ...flow.context, ...value }, this.#control.engine.limits))
  }

  get services(): FlowServices {
    return this.#control.engine.services
  }

  get session(): TurnSession {
    const { base, loaded } = this.#draft
    const { owner, createdAt } = base
    return Object.freeze({
      id: this.#control.sessionId,
      flowName: this.#control.flowName,
      isNew: loaded === undefined,
      createdAt,
      ...(owner === undefined ? {} : { owner }),
    })
  }

  get log(): FlowLogger {
    return {
      debug: (text, fields) => this.#write('debug', text, fields),
      info: (text, fields) => this.#write('info', text, fields),
      warn: (text, fields) => this.#write('warn', text, fields),
      error: (text, fields) => this.#write('error', text, fields),
    }
  }

  once<T>(name: string, work: Parameters<Turn['once']>[1], options?: Parameters<Turn['once']>[2]): Promise<T> {
    return this.#effects.once(this.#draft, name, work, options) as Promise<T>
  }

  forget(name: string): void {
    this.#effects.forget(this.#draft, name)
  }

  get #effects(): TurnEffects {
    this.#control.effects ??= new TurnEffects(this.#control)
    return this.#control.effects
  }

  stateOf<Target extends StepTarget>(step: Target): InstanceType<Target>['state'] {
    const { steps, stepId } = this.#draft
    const id = steps.scopes === undefined ? steps.idOf(step) : steps.late?.idOfClass(steps, stepId, step)
    return this.#draft.readState(id as string)
  }

  memory(namespace?: string): ReturnType<Turn['memory']> {
    const { memory, turnNumber } = this.#draft
    const name = this.#memoryName(namespace)
    return Object.freeze({
      get messages() {
        return memory.messages(name)
      },
      clear: () => memory.clear(name, turnNumber, this.#ownNamespace === name),
    })
  }

  /** The namespace of the current step, if that is a model step. */
  get #ownNamespace(): string | undefined {
    const { currentStep, steps, calls } = this.#draft
    const stepId = calls?.handler?.step ?? currentStep ?? ''
    const step = steps.get(stepId)
    return step instanceof Step ? namespaceOf(step, stepId) : undefined
  }

  #memoryName(given: string | undefined): string {
    const name = given ?? this.#ownNamespace
    const known = new Set([...namespacesOf(this.#draft.steps.all()), ...this.#draft.memory.namespaces])
    if (name !== undefined && known.has(name)) return name
    const { flowName } = this.#control
    const list = [...known].join(', ') || 'none'
    if (name !== undefined) {
      throw flowCodeError(`turn.memory: flow '${flowName}' has no memory '${String(name)}'. Its memories: ${list}.`)
    }
    throw flowCodeError(
      `turn.memory needs the name of a memory if the current step is not a model step. Memories of flow '${flowName}': ${list}.`,
    )
  }

  #write(level: keyof FlowLogger, text: string, fields: Readonly<Record<string, unknown>> | undefined): void {
    const { engine, ids } = this.#control
    const step = this.#draft.currentStep
    const write = async (): Promise<void> => engine.logger[level](text, { ...ids, step, ...fields })
    // A logger that throws or rejects must not affect the turn.
    write().catch(() => undefined)
  }
}
