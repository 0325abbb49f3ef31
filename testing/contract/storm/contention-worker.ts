/**
 * One of the processes that take their turns on one session, each tried again until it commits. Started by
 * contention.ts. An unhandled rejection ends it with an error, like any process.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { FlowEngine, SessionDocument } from '../../../src/index.js'
import { SeededRandom } from '../seeded-random.js'
import { openStore, type StoreOrder } from './open-store.js'
import { Talk, talkEngine } from './talk.js'
import { messageOf, sharedNow, type TurnRecord } from './turn-record.js'

/** The orders to a process, one after the other; it answers each. */
export type ContentionOrder =
  | { readonly kind: 'open'; readonly name: string; readonly seed: number; readonly store: StoreOrder }
  /** Take so many turns. */
  | { readonly kind: 'talk'; readonly session: string; readonly turns: number }
  | { readonly kind: 'read'; readonly session: string }
  | { readonly kind: 'close' }

/** What it answers. */
export interface ContentionAnswer {
  readonly error?: string
  readonly turns?: readonly TurnRecord[]
  readonly conflicts?: number
  readonly document?: SessionDocument | undefined
}

/** The one conversation. */
const slot = 'slot-0'
/** A turn waits for at most so many times the length of a usual one before it is tried again. */
const longestWaitInTurns = 4

class ContentionWorker {
  readonly #name: string
  readonly #random: SeededRandom
  readonly #engine: FlowEngine
  readonly #turns: TurnRecord[] = []
  #conflicts = 0
  #usualMs = 1

  constructor(name: string, seed: number, engine: FlowEngine) {
    this.#name = name
    this.#random = new SeededRandom(seed)
    this.#engine = engine
  }

  async perform(order: Exclude<ContentionOrder, { kind: 'open' }>): Promise<ContentionAnswer> {
    switch (order.kind) {
      case 'talk':
        return this.#talk(order.session, order.turns)
      case 'read':
        return { document: await this.#engine.getSession(order.session) }
      case 'close':
        await this.#engine.close()
        return {}
    }
  }

  async #talk(session: string, turns: number): Promise<ContentionAnswer> {
    const before = this.#turns.length
    const conflictsBefore = this.#conflicts
    for (let count = 1; count <= turns; count++) {
      const message = messageOf(slot, this.#name, before + count, 'plain')
      this.#turns.push(await this.#commit(message, session))
    }
    return { turns: this.#turns.slice(before), conflicts: this.#conflicts - conflictsBefore }
  }

  /** Tries a turn until it commits. */
  async #commit(userMessage: string, asked: string): Promise<TurnRecord> {
    for (let attempt = 1; ; attempt++) {
      const sentAt = sharedNow()
      const { response, error } = await this.#engine.execute({
        flowName: Talk.id,
        userMessage,
        ...(asked === '' ? {} : { sessionId: asked }),
      })
      const at = sharedNow()
      if (response.success) {
        const answer = { at, outcome: 'acknowledged', session: response.session, reply: response.message }
        return { message: userMessage, slot, asked, sentAt, answer }
      }
      if (error?.code !== 'SESSION_CONFLICT') throw new Error(`${userMessage}: ${response.message}`, { cause: error })
      this.#conflicts++
      this.#usualMs += (at - sentAt - this.#usualMs) / 16
      await sleep(this.#random.next() * this.#usualMs * Math.min(2 ** attempt, longestWaitInTurns))
    }
  }
}

process.on('disconnect', () => process.exit())

let worker: ContentionWorker | undefined
process.on('message', async (order: ContentionOrder) => {
  try {
    if (order.kind === 'open') {
      worker = new ContentionWorker(order.name, order.seed, talkEngine(await openStore(order.store), true))
      answer({})
    } else answer((await worker?.perform(order)) ?? { error: 'It did not get an order to open a store.' })
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? ` (${describe(error.cause)})` : ''
    answer({ error: `${String(error)}${cause}` })
  }
})

function answer(content: ContentionAnswer): void {
  process.send?.(content)
}

/** An error with all that caused it. */
function describe(error: unknown): string {
  const { cause } = (error ?? {}) as { cause?: unknown }
  return cause === undefined ? String(error) : `${String(error)} < ${describe(cause)}`
}
