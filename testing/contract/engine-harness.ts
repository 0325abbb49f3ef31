/**
 * What the tests of the engine's operations share: an engine over a journalled store and a virtual clock, flows made
 * from one function, gates, and the check that a test left nothing behind. It asserts nothing about behaviour itself.
 */
import {
  Flow,
  type FlowConstructor,
  FlowEngine,
  type FlowEngineOptions,
  type JsonObject,
  LogicStep,
  MemorySessionStore,
  reply,
  type SessionDocument,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../src/index.js'
import { FakeSessionStore, VirtualClock } from '../index.js'

/** A promise that a test opens by hand. */
export interface Gate {
  readonly opened: Promise<void>
  open(): void
}

/** Makes a closed gate. */
export function gate(): Gate {
  let open!: () => void
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}

/** A promise that never settles. */
export function never<T = never>(): Promise<T> {
  return new Promise<T>(() => undefined)
}

/** The one step of a flow made by {@link flowOf}. */
export type OnlyStep = LogicStep<Record<string, unknown>>

/** What the one step does. */
export type OnlyRun = (turn: Turn, step: OnlyStep) => Transition | Promise<Transition>

/** Hooks of a flow made by {@link flowOf}. */
export interface FlowHooks {
  readonly construct?: (flow: Flow) => void
  readonly init?: (flow: Flow) => void | Promise<void>
  readonly steps?: () => readonly StepConstructor[]
  readonly isBatch?: () => boolean
  readonly onRestore?: (document: SessionDocument, flow: Flow) => unknown
  /** The step's own `onRestore`. */
  readonly onStepRestore?: (turn: Turn) => void | Promise<void>
  readonly aliases?: readonly string[]
  readonly version?: number
}

/** Answers with the message that it received. */
const echo: OnlyRun = (turn) => reply(`You said: ${turn.message}`)

/** A flow of one logic step, `Only`, that does `run`. */
export function flowOf(id: string, run: OnlyRun = echo, hooks: FlowHooks = {}): FlowConstructor {
  class Only extends LogicStep<Record<string, unknown>> {
    static override readonly id: string = 'Only'
    override run(turn: Turn): Transition | Promise<Transition> {
      return run(turn, this)
    }
    override onRestore(turn: Turn): void | Promise<void> {
      return hooks.onStepRestore?.(turn)
    }
  }
  class Made extends Flow {
    static override readonly id: string = id
    static override readonly aliases: readonly string[] = hooks.aliases ?? []
    static override readonly version: number = hooks.version ?? 1
    constructor() {
      super()
      hooks.construct?.(this)
    }
    override init(): void | Promise<void> {
      return hooks.init?.(this)
    }
    override steps(): readonly StepConstructor[] {
      return hooks.steps?.() ?? [Only]
    }
    override isBatch(): boolean {
      return hooks.isBatch?.() ?? false
    }
  }
  if (hooks.onRestore === undefined) return Made
  const { onRestore } = hooks
  return class extends Made {
    override onRestore(document: SessionDocument): Promise<SessionDocument | null | void> {
      return Promise.resolve(onRestore(document, this) as SessionDocument | null | void)
    }
  }
}

/** A flow and the means to steer its turns. */
export interface GatedFlow {
  readonly flow: FlowConstructor
  /** `<message> begins` and `<message> ends`, in the order in which it happened. */
  readonly journal: string[]
  /** Opens the gate of the turns with this message. */
  open(message: string): void
}

/** A flow, `Talk`, whose turns wait for the gate of their message; `start` does not wait. */
export function gatedFlow(): GatedFlow {
  const journal: string[] = []
  const gates = new Map<string, Gate>()
  const gateOf = (message: string): Gate => {
    const found = gates.get(message) ?? gate()
    gates.set(message, found)
    return found
  }
  const flow = flowOf('Talk', async (turn) => {
    if (turn.message === 'start') return reply('started')
    journal.push(`${turn.message} begins`)
    await gateOf(turn.message).opened
    journal.push(`${turn.message} ends`)
    return reply(turn.message)
  })
  return { flow, journal, open: (message) => gateOf(message).open() }
}

/** A document as any JSON object, so that a test can damage it. */
export type LooseDocument = Record<string, unknown> & { flow: Record<string, unknown> }

/** An engine and its surroundings. */
export interface Harness {
  readonly engine: FlowEngine
  readonly clock: VirtualClock
  readonly store: FakeSessionStore
  /** The data underneath, for another engine's store. */
  readonly backing: Map<string, SessionDocument>
  /** The stored document as one text, for "byte for byte"; empty if nothing is stored. */
  stored(sessionId: string): Promise<string>
  /** The stored document, read without the engine and without faults. */
  document(sessionId: string): Promise<SessionDocument>
  /** Changes a stored document in place, as another program might. */
  rewrite(sessionId: string, change: (document: LooseDocument) => void): Promise<void>
  /** Starts a session and returns its ID. */
  start(flowName: string, config?: JsonObject): Promise<string>
}

const made: Harness[] = []

/** Makes an engine on a store with a journal and faults, and a clock that stands still. */
export function harness(
  options: FlowEngineOptions & { readonly backing?: Map<string, SessionDocument> } = {},
): Harness {
  const { backing = new Map<string, SessionDocument>(), ...engineOptions } = options
  const clock = new VirtualClock()
  const store = new FakeSessionStore({ inner: new MemorySessionStore({ backing, clock }), clock })
  const engine = new FlowEngine({ clock, sessionStore: store, ...engineOptions })
  const plainStore = new MemorySessionStore({ backing, clock })
  const document = async (sessionId: string): Promise<SessionDocument> => {
    const found = await plainStore.load(sessionId)
    if (found === undefined) throw new Error(`Nothing is stored under '${sessionId}'.`)
    return found
  }
  const result: Harness = {
    engine,
    clock,
    store,
    backing,
    stored: async (sessionId) => JSON.stringify(await plainStore.load(sessionId)) ?? '',
    document,
    async rewrite(sessionId, change) {
      const copy: LooseDocument & SessionDocument = JSON.parse(JSON.stringify(await document(sessionId)))
      change(copy)
      // Not by the store: it keeps the ID of a session that it deleted from being used again.
      backing.delete(sessionId)
      await plainStore.create(copy)
    },
    async start(flowName, config) {
      const input = { flowName, userMessage: 'start' }
      const response = await engine.run(config === undefined ? input : { ...input, config })
      if (!response.success) throw new Error(`The first turn failed: ${response.message}`)
      return response.session
    },
  }
  made.push(result)
  return result
}

/**
 * Fails if an engine of the last test holds a timer, a lock or a turn. For `afterEach`.
 *
 * @throws Error that lists what is left.
 */
export function expectNothingLeft(): void {
  const harnesses = made.splice(0)
  for (const { clock, engine } of harnesses) {
    const { locked } = engine.getFlowSession()
    if (clock.pending !== 0) throw new Error(`${clock.pending} timers are still set.`)
    if (locked !== 0) throw new Error(`${locked} sessions are still locked.`)
  }
}

/** Forgets the engines made so far. For the start of a test file that shares its process with others. */
export function forgetHarnesses(): void {
  made.length = 0
}
