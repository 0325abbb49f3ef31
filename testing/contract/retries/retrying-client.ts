/**
 * A client that has one conversation: each message gets a new key and is sent again, as it was, after every error and
 * every lost reply, to whatever worker is there; sometimes to two at once, and sometimes although it was answered.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { SeededRandom } from '../seeded-random.js'
import { Talk } from '../storm/talk.js'
import { type MessageKind, messageOf, sharedNow } from '../storm/turn-record.js'
import { isOutcome, type KeyedTurn, outcomeOf } from './keyed-turn.js'
import { InterruptedTalk, RolledBackTalk, SummarizedTalk } from './retry-flows.js'
import { requestOf, sendOnce } from './send-once.js'

/** How a client reaches a worker. */
export interface ClientOptions {
  readonly number: number
  readonly seed: number
  /** Whether messages carry their keys. */
  readonly sendsKeys: boolean
  /** The address of some worker. */
  readonly chooseWorker: (random: SeededRandom) => Promise<string>
}

/** One in so many messages ends its session, and one in so many fails. */
const oneIn = 40
/**
 * Chances: a message goes to two workers at once; its reply is not awaited; it is sent again although it was
 * answered; an old one is.
 */
const twiceAtOnce = 0.15
/** The chance that another message is sent at the same time, in a flow whose messages interrupt each other. */
const interrupts = 0.5
const givesUpWaiting = 0.06
const repeatsAnyway = 0.1
const repeatsOld = 0.08
/** A session keeps sixteen receipts. */
const oldMessages = 8
/** How long a client waits for a reply, in milliseconds. */
const impatientMs = 30
const patientMs = 6_000
/** Between two attempts. */
const longestPauseMs = 200
const mostAttempts = 300

const flowNames = [Talk.id, RolledBackTalk.id, SummarizedTalk.id, InterruptedTalk.id]

/** See above. */
export class RetryingClient {
  readonly turns: KeyedTurn[] = []
  readonly #options: ClientOptions
  readonly #random: SeededRandom
  readonly #flowName: string
  readonly #senders: (() => Promise<void>)[] = []
  #session = ''
  #isFinishing = false

  constructor(options: ClientOptions) {
    this.#options = options
    this.#random = new SeededRandom(options.seed)
    this.#flowName = flowNames[options.number % flowNames.length] as string
  }

  /** Has `talk` resolve when the message under way is answered. */
  finish(): void {
    this.#isFinishing = true
  }

  /** Talks until it is asked to finish. */
  async talk(): Promise<void> {
    const random = this.#random
    while (!this.#isFinishing) {
      const turn = this.#nextTurn('c', drawKind(random))
      const send = this.#sender(turn)
      const sendings = random.chance(twiceAtOnce) ? [send(), send()] : [send()]
      if (this.#flowName === InterruptedTalk.id && this.#session !== '' && random.chance(interrupts)) {
        sendings.push(this.#sender(this.#nextTurn('i', 'plain'))())
      }
      await Promise.all(sendings)
      while (random.chance(repeatsAnyway)) await send()
      this.#goOnAfter(turn)
      this.#senders.push(send)
      if (random.chance(repeatsOld)) await random.pick(this.#senders.slice(-oldMessages))()
    }
  }

  #nextTurn(sender: 'c' | 'i', kind: MessageKind): KeyedTurn {
    const slot = `slot-${this.#options.number}`
    const message = messageOf(slot, `${sender}${this.#options.number}`, this.turns.length + 1, kind)
    const turn: KeyedTurn = { message, slot, asked: this.#session, sentAt: sharedNow(), answers: [], sent: 0 }
    this.turns.push(turn)
    return turn
  }

  /**
   * A session that completed is replaced by the next message, whether it names the old one or none; an
   * aborted one is not named.
   */
  #goOnAfter(turn: KeyedTurn): void {
    const outcome = outcomeOf(turn)
    if (outcome === undefined) return
    const isNamed = outcome.state === 'running' || (outcome.state === 'completed' && this.#random.chance(0.5))
    this.#session = isNamed ? outcome.session : ''
  }

  /** Sends a message until there is an outcome: the same bytes each time. */
  #sender(turn: KeyedTurn): () => Promise<void> {
    const key = this.#options.sendsKeys ? crypto.randomUUID() : undefined
    const request = requestOf(this.#flowName, turn, key)
    return async () => {
      for (let attempt = 1; attempt <= mostAttempts; attempt++) {
        const url = await this.#options.chooseWorker(this.#random)
        turn.sent++
        const waitMs = this.#random.chance(givesUpWaiting) ? this.#random.next() * impatientMs : patientMs
        const answer = await sendOnce(url, request, Math.ceil(waitMs))
        if (answer !== undefined) {
          turn.answers.push(answer)
          if (isOutcome(answer)) return
        }
        await sleep(this.#random.next() * Math.min(10 * attempt, longestPauseMs))
      }
    }
  }
}

function drawKind(random: SeededRandom): MessageKind {
  const drawn = random.below(oneIn)
  return drawn === 0 ? 'last' : drawn === 1 ? 'failing' : 'plain'
}
