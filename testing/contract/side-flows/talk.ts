/** Steps, flows and conversations in a line each, for the tests of side flows. It asserts nothing. */
import {
  type Awaitable,
  type ExecuteResult,
  Flow,
  type FlowConstructor,
  type FlowEngineOptions,
  type FlowLogger,
  type FlowRunInput,
  LogicStep,
  reply,
  type SendEventInput,
  type SessionDocument,
  Step,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../src/index.js'
import { type Harness, harness } from '../engine-harness.js'

/** A step with any state. */
export type AnyStep = LogicStep<Record<string, unknown>>

/** Members of a step or a flow; each gets the object as `this`. */
type Members<Of> = { [Name in keyof Of]?: Of[Name] } & ThisType<Of>

type Listed = StepConstructor | FlowConstructor

/** A logic step; by default it replies with its ID and a question mark. */
export function step(
  id: string,
  run: (turn: Turn, step: AnyStep) => Awaitable<Transition> = () => reply(`${id}?`),
  members: Members<AnyStep> = {},
  aliases: readonly string[] = [],
): StepConstructor<Record<string, unknown>> {
  return class extends LogicStep<Record<string, unknown>> {
    static override readonly id = id
    static override readonly aliases = aliases
    constructor() {
      super()
      Object.assign(this, members)
    }
    override run(turn: Turn): Awaitable<Transition> {
      return run(turn, this)
    }
  }
}

/** A model step. */
export function modelStep(id: string, members: Members<Step<Record<string, unknown>, never>> = {}): StepConstructor {
  return class extends Step<Record<string, unknown>, never> {
    static override readonly id = id
    constructor() {
      super()
      Object.assign(this, members)
    }
  }
}

/** A flow of these steps and flows. */
export function flow(
  id: string,
  listed: readonly Listed[],
  members: Members<Flow> = {},
  statics: Partial<Pick<FlowConstructor, 'aliases' | 'version' | 'migrate' | 'onTurnError' | 'busy'>> = {},
): FlowConstructor {
  class Made extends Flow {
    static override readonly id = id
    constructor() {
      super()
      Object.assign(this, members)
    }
    override steps(): readonly Listed[] {
      return listed
    }
  }
  for (const [name, value] of Object.entries(statics)) Object.defineProperty(Made, name, { value })
  return Made
}

/** A conversation with one session of a flow. */
export interface Talk extends Harness {
  /** The reply, or the code of the error and its text. */
  say(text: string, more?: Partial<FlowRunInput>): Promise<string>
  send(event: string, more?: Partial<SendEventInput>): Promise<string>
  /** What the last turn gave. */
  last(): ExecuteResult
  /** The ID of the session. */
  id(): string
  /** The stored session. */
  now(): Promise<SessionDocument>
  /** The open calls: `Chat > Hours`. */
  open(): Promise<string>
  /** The conversation goes on in another engine, with another release of the flow. */
  deploy(next: FlowConstructor, options?: FlowEngineOptions): Talk
}

const silent: FlowLogger = { debug() {}, info() {}, warn() {}, error() {} }

type TalkOptions = Parameters<typeof harness>[0] & { readonly made?: Harness; readonly session?: string }

export function talk(of: FlowConstructor, options: TalkOptions = {}): Talk {
  const { session: given = '', made: from, ...others } = options
  const made = from ?? harness({ flows: [of], schedule: () => undefined, logger: silent, ...others })
  let last: ExecuteResult | undefined
  let session = given
  const noted = (result: ExecuteResult): string => {
    last = result
    session = result.response.session || session
    const { error, response } = result
    return error === undefined ? response.message : `${error.code}: ${error.message}`
  }
  const now = (): Promise<SessionDocument> => made.document(session)
  return {
    ...made,
    say: async (userMessage, more = {}) =>
      noted(
        await made.engine.execute({ flowName: of.id, userMessage, ...(session && { sessionId: session }), ...more }),
      ),
    send: async (event, more = {}) =>
      noted(await made.engine.sendEvent({ sessionId: session, event, ...more } as never)),
    last: () => last as ExecuteResult,
    id: () => session,
    now,
    async open() {
      const { flow: stored } = await now()
      return (stored.frames?.map(({ step: id }) => id) ?? [stored.currentStep]).join(' > ')
    },
    deploy: (next, more = {}) => talk(next, { backing: made.backing, clock: made.clock, session, ...more }),
  }
}
