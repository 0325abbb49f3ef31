// Many conversations at once, over two engines that share a backend, while a test disturbs it: which turns were
// acknowledged, when, and whether the stored sessions agree in the end.
import {
  type EngineEventMap,
  Flow,
  FlowEngine,
  LogicStep,
  reply,
  type SessionStore,
  type StepConstructor,
  type Transition,
  type Turn,
} from '../../../src/index.js'
import { until } from '../servers/until.js'

/** One conversation. */
export interface Conversation {
  readonly id: string
  /** The messages whose turns were acknowledged, in order. */
  readonly acknowledged: string[]
  /** When the latest of these turns began, on the clock of `performance`. */
  begunAt: number
}

/** The outcomes of all turns. */
export interface Tally {
  readonly sessions: number
  readonly acknowledged: number
  /** Turns that failed: no client got a reply. */
  readonly failed: number
  /** Acknowledged turns that the stored session lacks, or has out of order. */
  readonly lost: number
  /** Turns that a stored session has twice. */
  readonly doubled: number
  /** Turns that went on in another session than the one they named. */
  readonly strayed: number
}

/** A server that is lost while all conversations go on. */
export interface LossOptions {
  /** The conversations that it keeps. */
  readonly concerned: readonly Conversation[]
  /** Takes the server away. */
  readonly lose: () => Promise<void>
  readonly timeoutMs: number
}

/** How a loss was got over. Times in milliseconds since the loss, of turns that began after it; `null`: not seen. */
export interface Loss {
  readonly concerned: number
  /** Until the first of the conversations concerned went on. */
  readonly firstMs: number | null
  /** Until each of them had. */
  readonly allMs: number | null
  /** Turns since then that reached too few replicas. */
  readonly reports: number
}

type Report = Readonly<EngineEventMap['session:under-replicated']>

class Echo extends LogicStep {
  static override readonly id: string = 'Echo'
  override run(turn: Turn): Transition {
    return reply(`You said: ${turn.message}`)
  }
}

class Talk extends Flow {
  static override readonly id: string = 'Talk'
  override steps(): readonly StepConstructor[] {
    return [Echo]
  }
}

/** The conversations of one test. */
export class Conversations {
  readonly all: Conversation[] = []
  /** What the engines said of turns that reached too few replicas. */
  readonly reports: Report[] = []
  /** The codes of turns that failed, and how often. */
  readonly failures: Map<string, number> = new Map<string, number>()
  readonly #engines: readonly FlowEngine[]
  #messages = 0
  #strayed = 0

  constructor(stores: readonly SessionStore[]) {
    this.#engines = stores.map((sessionStore) => new FlowEngine({ flows: [Talk], sessionStore }))
    for (const engine of this.#engines) engine.on('session:under-replicated', (report) => this.reports.push(report))
  }

  /** Begins conversations. Each must succeed. */
  async begin(count: number): Promise<void> {
    const begin = async (): Promise<void> => {
      const userMessage = this.#nextMessage()
      const { response } = await this.#engine().execute({ flowName: Talk.id, userMessage })
      if (!response.success) throw new Error(`A conversation could not begin: ${response.message}`)
      this.all.push({ id: response.session, acknowledged: [userMessage], begunAt: 0 })
    }
    await Promise.all(Array.from({ length: count }, begin))
  }

  /** One turn, by the engine whose turn it is. Whether it was acknowledged. */
  async say(conversation: Conversation): Promise<boolean> {
    const userMessage = this.#nextMessage()
    const { id } = conversation
    const begunAt = performance.now()
    const { response, error } = await this.#engine().execute({ flowName: Talk.id, userMessage, sessionId: id })
    if (error !== undefined) {
      this.failures.set(error.code, (this.failures.get(error.code) ?? 0) + 1)
      return false
    }
    if (response.session !== id) this.#strayed++
    conversation.acknowledged.push(userMessage)
    conversation.begunAt = begunAt
    return true
  }

  /**
   * Goes on with a conversation until a turn succeeds: while servers come and go, one may fail. Resolves to whether
   * that turn was reported to have reached too few replicas.
   */
  async isReported(conversation: Conversation): Promise<boolean> {
    let before = 0
    await until(() => {
      before = this.reports.length
      return this.say(conversation)
    })
    return this.reports.length > before
  }

  /**
   * Goes on with every conversation while a server is lost, until each that it kept has gone on again. Turns that are
   * under way when the server is lost, or when that is over, are waited for.
   */
  async loseServer(options: LossOptions): Promise<Loss> {
    const { concerned, lose, timeoutMs } = options
    const stopping = new AbortController()
    const talking = Promise.all(this.all.map((conversation) => this.#goOn(conversation, stopping.signal)))
    await until(() => this.all.every(({ acknowledged }) => acknowledged.length >= 3))
    const reportsBefore = this.reports.length
    await lose()
    const lostAt = performance.now()
    // Replies that were on their way at that moment do not show that it is alive.
    const back = (): number => concerned.filter(({ begunAt }) => begunAt > lostAt).length
    const passed = (): number => Math.round(performance.now() - lostAt)
    let firstMs: number | undefined
    await until(() => {
      if (back() > 0) firstMs ??= passed()
      return back() === concerned.length || passed() > timeoutMs
    })
    const allMs = back() === concerned.length ? passed() : null
    stopping.abort()
    await talking
    const reports = this.reports.length - reportsBefore
    return { concerned: concerned.length, firstMs: firstMs ?? null, allMs, reports }
  }

  /** Compares what was acknowledged with what is stored, as a store reads it that took no part. */
  async tally(witness: SessionStore): Promise<Tally> {
    let [acknowledged, lost, doubled] = [0, 0, 0]
    for (const conversation of this.all) {
      const document = await witness.load(conversation.id)
      const stored = (document?.history ?? []).map(({ message }) => message)
      acknowledged += conversation.acknowledged.length
      doubled += stored.length - new Set(stored).size
      let at = -1
      for (const message of conversation.acknowledged) {
        const found = stored.indexOf(message, at + 1)
        if (found === -1) lost++
        else at = found
      }
    }
    const failed = Array.from(this.failures.values()).reduce((sum, count) => sum + count, 0)
    return { sessions: this.all.length, acknowledged, failed, lost, doubled, strayed: this.#strayed }
  }

  async #goOn(conversation: Conversation, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.say(conversation)
      await new Promise((resolve) => setTimeout(resolve, 20 + 20 * Math.random()))
    }
  }

  /** Ends the engines, with their stores. */
  async close(): Promise<void> {
    await Promise.all(this.#engines.map((engine) => engine.close()))
  }

  #engine(): FlowEngine {
    return this.#engines[this.#messages % this.#engines.length] as FlowEngine
  }

  #nextMessage(): string {
    return `turn ${this.#messages++}`
  }
}
