/**
 * One server process of a storm: an engine over the store, and clients that talk to it, each one turn after the other.
 * Writes all of it to its journal. It may be killed at any moment, so nothing is left for the end. Started by storm.ts.
 */
import type { FlowEngine } from '../../../src/index.js'
import { SeededRandom } from '../seeded-random.js'
import { DoubtfulWrites } from './doubtful-writes.js'
import { type Journal, openJournal } from './journal.js'
import { openStore, type StoreOrder } from './open-store.js'
import { Talk, talkEngine } from './talk.js'
import { type MessageKind, messageOf, photoOf, sharedNow } from './turn-record.js'

/** The first message to a worker. */
export interface StormOrder {
  readonly name: string
  readonly seed: number
  readonly store: StoreOrder
  readonly journal: string
  /** The session of each slot, by its number; empty if it has none yet. */
  readonly sessions: readonly string[]
}

/** A later message to a worker. */
export type StormMessage = { readonly slot: number; readonly session: string } | 'finish'

/** What a worker reports: a slot continues in another session. */
export interface StormReport {
  readonly slot: number
  readonly from: string
  readonly to: string
}

/** The slots take turns: the one engine, and the one with small limits. */
type Engines = readonly [FlowEngine, FlowEngine]

const clients = 6
/** One in so many messages of a client comes with a photo. */
const photoEvery = 5
/** Milliseconds between an answer and the next message of the same client, at most. */
const longestPauseMs = 20
const longestPauseAfterFailureMs = 150
/** One in so many messages ends its session, and one in so many fails. */
const oneIn = 400
/**
 * In the end: turns on one slot until one is acknowledged, and milliseconds by which the wait before the next grows.
 */
const mostAttempts = 20
const retryAfterMs = 20

class StormWorker {
  readonly #order: StormOrder
  readonly #journal: Journal
  readonly #sessions: string[]
  #isFinishing = false

  constructor(order: StormOrder, journal: Journal) {
    this.#order = order
    this.#journal = journal
    this.#sessions = [...order.sessions]
  }

  receive(message: StormMessage): void {
    if (message === 'finish') this.#isFinishing = true
    else this.#sessions[message.slot] = message.session
  }

  /** Talks until it is asked to finish; then shows that every slot is served, and closes. */
  async run(): Promise<void> {
    const engines = await this.#open()
    await Promise.all(Array.from({ length: clients }, (_, index) => this.#converse(engines, index)))
    await this.#serveAll(engines)
    for (const engine of engines) await engine.close()
  }

  async #serveAll(engines: Engines): Promise<void> {
    for (const slot of this.#sessions.keys()) {
      for (let count = 1; !(await this.#say(engines, slot, `${this.#order.name}.end`, count, 'plain')); count++) {
        if (count === mostAttempts) return this.#journal.write({ kind: 'unserved', slot: `slot-${slot}` })
        await pause(retryAfterMs * count)
      }
    }
  }

  async #open(): Promise<Engines> {
    let made = 0
    const inner = await openStore(this.#order.store)
    const store = new DoubtfulWrites(inner, () => this.#journal.write({ kind: 'lost-reply' }))
    const generateId = (kind: string): string => {
      const id = `${this.#order.name}-${kind}-${++made}`
      if (kind === 'session') this.#journal.write({ kind: 'made', session: id })
      return id
    }
    return [talkEngine(store, false, { generateId }), talkEngine(store, true, { generateId })]
  }

  async #converse(engines: Engines, index: number): Promise<void> {
    const random = new SeededRandom(this.#order.seed * 31 + index)
    for (let count = 1; !this.#isFinishing; count++) {
      const slot = random.below(this.#sessions.length)
      const kind = drawKind(random)
      const isServed = await this.#say(engines, slot, `${this.#order.name}.${index}`, count, kind)
      await pause(random.between(0, isServed ? longestPauseMs : longestPauseAfterFailureMs))
    }
  }

  /** One turn, whatever becomes of it; whether it was acknowledged. */
  async #say(engines: Engines, slotNumber: number, sender: string, count: number, kind: MessageKind): Promise<boolean> {
    const slot = `slot-${slotNumber}`
    const message = messageOf(slot, sender, count, kind)
    const asked = this.#sessions[slotNumber] ?? ''
    this.#journal.write({ kind: 'sent', turn: { message, slot, asked, sentAt: sharedNow() } })
    const engine = engines[slotNumber % 2 === 0 ? 0 : 1]
    const { response, error } = await engine.execute({
      flowName: Talk.id,
      userMessage: message,
      owner: slot,
      ...(asked === '' ? {} : { sessionId: asked }),
      ...(count % photoEvery === 0
        ? { attachments: [{ type: 'image', mediaType: 'image/png', data: photoOf(message) }] }
        : {}),
    })
    const { success, session, message: reply } = response
    const outcome = success ? 'acknowledged' : (error?.code ?? 'no code')
    this.#journal.write({ kind: 'answered', message, answer: { at: sharedNow(), outcome, session, reply } })
    if (success && session !== asked && this.#sessions[slotNumber] === asked) {
      this.#sessions[slotNumber] = session
      process.send?.({ slot: slotNumber, from: asked, to: session } satisfies StormReport)
    }
    return success
  }
}

function drawKind(random: SeededRandom): MessageKind {
  const drawn = random.below(oneIn)
  return drawn === 0 ? 'last' : drawn === 1 ? 'failing' : 'plain'
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}

// No client is left.
const onDisconnect = (): void => process.exit()
process.on('disconnect', onDisconnect)

process.once('message', async (order: StormOrder) => {
  const journal = openJournal(order.journal)
  const onUnhandled = (error: unknown): void => {
    journal.write({ kind: 'unhandled', text: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
  process.on('unhandledRejection', onUnhandled)
  process.on('uncaughtException', onUnhandled)
  const worker = new StormWorker(order, journal)
  process.on('message', (message: StormMessage) => worker.receive(message))
  await worker.run()
  // From here on it must end by itself: what keeps it alive was left behind by the engine or the store.
  process.off('disconnect', onDisconnect)
  process.disconnect()
})
