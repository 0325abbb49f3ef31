/** The {@link Turn} that flow code sees, made from the input, the draft and the control of the turn. */
import type { FlowError } from '../../errors/flow-error.js'
import type { StepTarget } from '../../flow/transition.js'
import type { FlowLogger, FlowServices, Turn, TurnSession } from '../../flow/turn.js'
import { deepFreeze, type JsonObject } from '../../util/json.js'
import type { TurnInput } from '../input/check-input.js'
import type { TurnControl } from './turn-control.js'
import { storableContext, type TurnDraft } from './turn-draft.js'

/** A turn under way, as flow code sees it. The engine sets `message` and `entered`; flow code only reads them. */
export class TurnView implements Turn {
  message: string
  entered = false
  readonly number: number
  readonly attachments: TurnInput['attachments']
  readonly error: FlowError | undefined
  #transient: Map<string, unknown> | undefined
  readonly #control: TurnControl
  readonly #input: TurnInput
  readonly #draft: TurnDraft
  #context: { readonly of: object; readonly merged: JsonObject } | undefined

  /** @param error - Why the turn failed, after a failure that the flow answers for. */
  constructor(control: TurnControl, input: TurnInput, draft: TurnDraft, error?: FlowError) {
    this.#control = control
    this.#input = input
    this.#draft = draft
    this.message = input.userMessage
    this.attachments = input.attachments
    this.number = draft.turnNumber
    this.error = error
  }

  /** Notes that a step was entered. @param message - Put in place of what the user said. Default: what the user said. */
  enter(message: string | undefined): void {
    this.entered = true
    this.message = message ?? this.#input.userMessage
  }

  get transient(): Map<string, unknown> {
    this.#transient ??= new Map()
    return this.#transient
  }

  get signal(): AbortSignal {
    return this.#control.signal
  }

  get context(): JsonObject {
    const { flow, base } = this.#draft
    const own = flow.context
    if (this.#context?.of !== own) {
      // What the turn began with is checked and frozen; what was added since is the flow's own object.
      const isUnchanged = own === base.flow.context
      const stored = isUnchanged ? base.flow.context : storableContext(own, this.#control.engine.limits)
      this.#context = { of: own, merged: deepFreeze({ ...stored, ...this.#input.serverContext }) }
    }
    return this.#context.merged
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

  stateOf<Target extends StepTarget>(step: Target): InstanceType<Target>['state'] {
    return this.#draft.readState(this.#draft.steps.idOf(step))
  }

  #write(level: keyof FlowLogger, text: string, fields: Readonly<Record<string, unknown>> | undefined): void {
    const { engine, sessionId, flowName, turnId } = this.#control
    const step = this.#draft.currentStep
    const write = async (): Promise<void> =>
      engine.logger[level](text, { sessionId, flowName, turnId, step, ...fields })
    // A logger that throws or rejects must not touch the turn.
    write().catch(() => undefined)
  }
}
