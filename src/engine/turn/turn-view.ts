/** The {@link Turn} that flow code sees, over the draft and the control of the turn under way. */
import type { StepConstructor } from '../../flow/base-step.js'
import type { Flow } from '../../flow/flow.js'
import type { FlowLogger, FlowServices, Turn, TurnSession } from '../../flow/turn.js'
import { deepFreeze, type JsonObject } from '../../util/json.js'
import type { CheckedInput } from '../input/check-input.js'
import type { FlowSteps } from './collect-steps.js'
import type { TurnControl } from './turn-control.js'
import { storableContext, type TurnDraft } from './turn-draft.js'

/** What an {@link TurnView} is made of. */
export interface TurnViewOptions {
  readonly control: TurnControl
  readonly draft: TurnDraft
  readonly flow: Flow
  readonly steps: FlowSteps
  readonly input: CheckedInput
  readonly isNew: boolean
}

/** A turn under way. The engine moves `message` and `entered` along; flow code reads them. */
export class TurnView implements Turn {
  message: string
  entered = false
  readonly number: number
  readonly attachments: CheckedInput['attachments']
  readonly transient: Map<string, unknown> = new Map()
  readonly #options: TurnViewOptions
  #context: { readonly of: object; readonly merged: JsonObject } | undefined

  constructor(options: TurnViewOptions) {
    this.#options = options
    this.message = options.input.userMessage
    this.attachments = options.input.attachments
    this.number = options.draft.turnNumber
  }

  get signal(): AbortSignal {
    return this.#options.control.signal
  }

  get context(): JsonObject {
    const { draft, flow, input, control } = this.#options
    const own = flow.context
    if (this.#context?.of !== own) {
      // What the turn began with is checked and frozen; what was added since is the flow's own object.
      const stored =
        own === draft.base.flow.context ? draft.base.flow.context : storableContext(own, control.engine.limits)
      this.#context = { of: own, merged: deepFreeze({ ...stored, ...input.serverContext }) }
    }
    return this.#context.merged
  }

  get services(): FlowServices {
    return this.#options.control.engine.services
  }

  get session(): TurnSession {
    const { control, draft, isNew } = this.#options
    const { owner, createdAt } = draft.base
    return Object.freeze({
      id: control.sessionId,
      flowName: control.flowName,
      isNew,
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

  stateOf<Target extends StepConstructor>(step: Target): InstanceType<Target>['state'] {
    const { draft, steps } = this.#options
    return draft.readState(steps.idOf(step))
  }

  #write(level: keyof FlowLogger, text: string, fields: Readonly<Record<string, unknown>> | undefined): void {
    const { control, draft } = this.#options
    const { sessionId, flowName, turnId } = control
    const write = async (): Promise<void> =>
      control.engine.logger[level](text, { sessionId, flowName, turnId, step: draft.currentStep, ...fields })
    // A logger that throws or rejects must not touch the turn.
    write().catch(() => undefined)
  }
}
