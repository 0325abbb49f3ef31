/** One long session: takes turns, each after the one before, and measures what each takes and what is stored then. */
import { FlowEngine, type FlowRunInput, type Message, type SessionDocument } from '../../../src/index.js'
import type { Backend, OpenStore } from './backends.js'
import { briefProvider, Rooms, Talk } from './talk.js'

/** The most that was seen. */
export interface Peaks {
  /** Bytes of the document as JSON. */
  document: number
  /** Bytes of the texts in the backend. */
  texts: number
  /** Bytes that the session takes in the memory of Redis. */
  memory: number
  /** Bytes that one turn read from the backend. */
  read: number
}

/** See above. */
export class LongSession {
  /** What the model received last. */
  received: readonly Message[] = []
  readonly peaks: Peaks = { document: 0, texts: 0, memory: 0, read: 0 }
  /** Milliseconds of each turn. */
  readonly times: number[] = []
  /** The ways in which a turn asked Redis, without its first turns. */
  readonly commands: Set<string> = new Set()
  /** How many entries were cut. */
  readonly trimmed = { history: 0, memory: 0, attachments: 0 }
  readonly #backend: Backend
  readonly #open: OpenStore
  readonly #engine: FlowEngine
  readonly #flowName: string
  #sessionId = ''

  private constructor(backend: Backend, open: OpenStore, engine: FlowEngine, flowName: string) {
    this.#backend = backend
    this.#open = open
    this.#engine = engine
    this.#flowName = flowName
    engine.on('session:trimmed', ({ sessionId, history, memory, attachments }) => {
      if (sessionId !== this.#sessionId) return
      this.trimmed.history += history.length
      this.trimmed.memory += Object.values(memory).reduce((sum, { length }) => sum + length, 0)
      this.trimmed.attachments += attachments.length
    })
  }

  static async begin(backend: Backend, flowName: string): Promise<LongSession> {
    const open = await backend.open()
    let session: LongSession | undefined
    const engine = engineOver(open, (messages) => {
      if (session !== undefined) session.received = messages
    })
    session = new LongSession(backend, open, engine, flowName)
    return session
  }

  /** A new session of the same flow in the same process. */
  beginAnother(): LongSession {
    return new LongSession(this.#backend, this.#open, this.#engine, this.#flowName)
  }

  /** Whether it is stored outside of this process. */
  get hasBackend(): boolean {
    return this.#backend.storedBytes !== undefined
  }

  /** One turn, which must not fail and must go on in the session. */
  async say(userMessage: string, more: Partial<FlowRunInput> = {}): Promise<void> {
    this.#open.takeCommands?.()
    this.#open.takeTraffic?.()
    const input = { flowName: this.#flowName, userMessage, sessionId: this.#sessionId, ...more }
    const startedAt = performance.now()
    const { response, error } = await this.#engine.execute(input)
    this.times.push(performance.now() - startedAt)
    if (error !== undefined) throw new Error(`Turn ${this.times.length}: ${response.message}`, { cause: error })
    if (this.#sessionId !== '' && response.session !== this.#sessionId) {
      throw new Error(`Turn ${this.times.length} was answered in a new session.`)
    }
    this.#sessionId = response.session
    // The first turns connect and load the script.
    if (this.times.length <= 2) return
    // The client sends a PING now and then.
    const commands = this.#open.takeCommands?.().filter((command) => command !== 'PING')
    if (commands !== undefined) this.commands.add(commands.join(' '))
    this.peaks.read = Math.max(this.peaks.read, this.#open.takeTraffic?.().bytesRead ?? 0)
  }

  /** Looks at what is stored, and notes how large it is. */
  async look(): Promise<SessionDocument> {
    const document = await this.#engine.getSession(this.#sessionId)
    if (document === undefined) throw new Error('The session is gone.')
    const stored = await this.#backend.storedBytes?.(this.#sessionId)
    this.peaks.document = Math.max(this.peaks.document, Buffer.byteLength(JSON.stringify(document)))
    this.peaks.texts = Math.max(this.peaks.texts, stored?.texts ?? 0)
    this.peaks.memory = Math.max(this.peaks.memory, stored?.memory ?? 0)
    return document
  }

  /** Reads the session in another process: what it gets, and how many bytes it reads for it. */
  async readElsewhere(): Promise<{ readonly document: SessionDocument | undefined; readonly bytesRead: number }> {
    const other = await this.#backend.open()
    const engine = engineOver(other, () => undefined)
    try {
      other.takeTraffic?.()
      const document = await engine.getSession(this.#sessionId)
      return { document, bytesRead: other.takeTraffic?.().bytesRead ?? 0 }
    } finally {
      await engine.close()
    }
  }

  /** Deletes the session. What the backend still holds of it is returned. */
  async delete(): Promise<number> {
    await this.#engine.deleteSession(this.#sessionId)
    return (await this.#backend.storedBytes?.(this.#sessionId))?.texts ?? 0
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}

/** How much longer some turns took than others: in all, and in the median. */
export function slowdown(
  times: readonly number[],
  others: readonly number[],
): { readonly total: number; readonly median: number } {
  return { total: sum(times) / sum(others), median: median(times) / median(others) }
}

function engineOver({ store }: OpenStore, onRequest: (messages: readonly Message[]) => void): FlowEngine {
  return new FlowEngine({ flows: [Talk, Rooms], providers: [briefProvider(onRequest)], sessionStore: store })
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** The value in the middle. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}
