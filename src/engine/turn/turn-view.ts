/** The {@link Turn} that flow code sees, over the draft and the scope of the turn under way. */
import type { StepConstructor } from '../../flow/base-step.js'
import type { Flow } from '../../flow/flow.js'
import type { FlowLogger, FlowServices, Turn, TurnSession } from '../../flow/turn.js'
import { deepFreeze, type JsonObject } from '../../util/json.js'
import type { CheckedInput } from '../input/check-input.js'
import type { FlowSteps } from './collect-steps.js'
import type { TurnScope } from './turn-control.js'
import { storableContext, type TurnDraft } from './turn-draft.js'

/** What an {@link ActiveTurn} is made of. */
export interface ActiveTurnOptions {
  readonly scope: TurnScope
  readonly draft: TurnDraft
  readonly flow: Flow
  readonly steps: FlowSteps
  readonly input: CheckedInput
  readonly isNew: boolean
}

/** A turn under way. The engine moves `message` and `entered` along; flow code reads them. */
export class ActiveTurn implements Turn {
  message: string
  entered = false
  readonly number: number
  readonly attachments: CheckedInput['attachments']
  readonly transient: Map<string, unknown> = new Map()
  readonly #options: ActiveTurnOptions
  #context: { readonly of: object; readonly merged: JsonObject } | undefined

  constructor(options: ActiveTurnOptions) {
    this.#options = options
    this.message = options.input.userMessage
    this.attachments = options.input.attachments
    this.number = options.draft.turnNumber
  }

  get signal(): AbortSignal {
    return this.#options.scope.signal
  }

  get context(): JsonObject {
    const { draft, flow, input, scope } = this.#options
    const own = flow.context
    if (this.#context?.of !== own) {
      // What the turn began with is checked and frozen; what was added since is the flow's own object.
      const stored =
        own === draft.base.flow.context ? draft.base.flow.context : storableContext(own, scope.parts.limits)
      this.#context = { of: own, merged: deepFreeze({ ...stored, ...input.serverContext }) }
    }
    return this.#context.merged
  }

  get services(): FlowServices {
    return this.#options.scope.parts.services
  }

  get session(): TurnSession {
    const { scope, draft, isNew } = this.#options
    const { owner, createdAt } = draft.base
    return Object.freeze({
      id: scope.sessionId,
      flowName: scope.flowName,
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
    const { scope, draft } = this.#options
    const { sessionId, flowName, turnId } = scope
    const write = async (): Promise<void> =>
      scope.parts.logger[level](text, { sessionId, flowName, turnId, step: draft.currentStep, ...fields })
    // A logger that throws or rejects must not touch the turn.
    write().catch(() => undefined)
  }
}
