/**
 * Two engines on one shared store, an outsider who writes to it as well, and everything that an engine may use of its
 * surroundings under control: time, IDs, faults. Nothing here is random, so that a run can be repeated exactly.
 */
import {
  FlowEngine,
  type FlowLogger,
  type FlowServices,
  MemorySessionStore,
  type SessionDocument,
  type SessionStore,
} from '../../../src/index.js'
import { FakeSessionStore, VirtualClock } from '../../index.js'
import { countingProvider, Ledger, Notes, type Probe, providerWhoseSummariesWait, Talk, talkWith } from './flows.js'
import { defaultRules } from './model-lists.js'
import type { Rules } from './model-types.js'
import { type Interference, turnTimeoutMs } from './reference-model.js'

const silent: FlowLogger = { debug() {}, info() {}, warn() {}, error() {} }

/** One of the two engines. The second refuses unknown sessions. */
export interface Seat {
  readonly engine: FlowEngine
  readonly store: FakeSessionStore
  readonly unknownSession: 'new' | 'reject'
}

export type SeatIndex = 0 | 1

/** Who writes to the store: an engine, or the outsider. */
export type Writer = SeatIndex | 'outsider'

/** The options of a world. */
export interface WorldOptions {
  /** Default: the engine's limits, and no compaction. */
  readonly rules?: Rules
  /** Default: one that only moves. */
  readonly clock?: VirtualClock | undefined
  /** Wraps each engine's own store. */
  readonly wrap?: (store: SessionStore, seat: SeatIndex) => SessionStore
  /** Wraps the data below the faults, the outsider's too. */
  readonly underFaults?: (store: SessionStore, data: ReadonlyMap<string, unknown>, writer: Writer) => SessionStore
  /** Called with what was shortened: `history`, `memory`, `attachments`, or `summary`. */
  readonly onShortened?: (what: string) => void
  /** Called in the middle of each turn's flow code. */
  readonly during?: (token: string, seat: SeatIndex, sessionId: string) => Promise<void>
  /** Called before each summary is written. Default: it is written at once. */
  readonly beforeSummary?: (sessionId: string, seat: SeatIndex) => Promise<void>
  readonly unknownSession?: readonly ['new' | 'reject', 'new' | 'reject']
}

export class World {
  readonly clock: VirtualClock
  readonly backing: Map<string, SessionDocument> = new Map()
  readonly outsider: SessionStore
  readonly seats: [Seat, Seat]
  /** Every session ID that was issued, in order. */
  readonly issued: string[] = []
  /** Called with the ID of each turn when the engine makes it. */
  onTurn: (turnId: string) => void = () => undefined
  /** Called in the middle of the flow code of the turn with this token. */
  readonly probes: Map<string, () => Promise<void>> = new Map()
  readonly #options: WorldOptions
  #count = 0

  constructor(options: WorldOptions = {}) {
    this.#options = options
    this.clock = options.clock ?? new VirtualClock()
    this.outsider = this.#store('outsider')
    this.seats = [this.#seat(0), this.#seat(1)]
  }

  /** A word that no other message of this world holds. */
  nextToken(): string {
    return `t${++this.#count}`
  }

  /** Ends one engine and replaces it by a new one. */
  async restart(index: SeatIndex): Promise<void> {
    await this.seats[index].engine.close()
    this.seats[index] = this.#seat(index)
  }

  /** The write of a writer outside both engines, with its own revision. */
  async disturb(sessionId: string, how: Interference): Promise<void> {
    if (how === 'remove') return this.outsider.delete(sessionId)
    const document = how === 'write' || how === 'malform' ? await this.outsider.load(sessionId) : undefined
    if (document === undefined) return
    const saves = Number.parseInt(document.revision, 10) + 1
    const { flow } = document
    const changed = {
      ...document,
      revision: `${saves}-outside${++this.#count}`,
      ...(how === 'malform'
        ? { runStatus: 'lost' }
        : { flow: { ...flow, context: { ...flow.context, outside: saves } } }),
    }
    await this.outsider.save(changed as SessionDocument, document.revision)
  }

  #store(writer: Writer): SessionStore {
    const store = new MemorySessionStore({ backing: this.backing })
    return this.#options.underFaults?.(store, this.backing, writer) ?? store
  }

  #seat(index: SeatIndex): Seat {
    const { wrap, during, onShortened, beforeSummary, rules = defaultRules } = this.#options
    const { unknownSession = ['new', 'reject'] } = this.#options
    const store = new FakeSessionStore({ inner: this.#store(index), clock: this.clock })
    const probe: Probe = {
      during: (token, sessionId) =>
        during?.(token, index, sessionId) ?? this.probes.get(token)?.() ?? Promise.resolve(),
    }
    const engine = new FlowEngine({
      flows: [Notes, Ledger, rules.compaction === undefined ? Talk : talkWith(rules.compaction)],
      providers: [
        beforeSummary === undefined ? countingProvider : providerWhoseSummariesWait((id) => beforeSummary(id, index)),
      ],
      sessionStore: wrap?.(store, index) ?? store,
      services: probe as FlowServices,
      unknownSession: unknownSession[index],
      clock: this.clock,
      generateId: (kind) => {
        const id = `${kind}${++this.#count}`
        if (kind === 'session') this.issued.push(id)
        if (kind === 'turn') this.onTurn(id)
        return id
      },
      limits: { ...rules.limits, turnTimeoutMs },
      onTurnError: rules.onTurnError,
      logger: silent,
    })
    engine.on('session:trimmed', ({ history, memory, attachments }) => {
      if (history.length > 0) onShortened?.('history')
      if (Object.keys(memory).length > 0) onShortened?.('memory')
      if (attachments.length > 0) onShortened?.('attachments')
    })
    if (rules.compaction?.kind === 'summary') engine.on('memory:compacted', () => onShortened?.('summary'))
    return { engine, store, unknownSession: unknownSession[index] }
  }
}

/** Lets everything run that waits for no timer. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
