/** Gates: places where the code under a session's lock waits until a test opens them. */

import { unlessHanging } from '../virtual-clock/hang-watch.js'

/** A gate for code under a session's lock, closed until it is opened. */
export interface LockGate {
  /**
   * Resolves when code waits at it for the first time. Rejects with an `ExpectationError` if none comes within
   * `hangAfterMs` of real time, counted from when `reached` is read first.
   */
  readonly reached: Promise<void>
  /** How many calls of `pass` wait at it now. */
  readonly waiting: number
  /** Lets all code pass, now and later. */
  open(): void
}

/** How long a gate waits for code, and what it says if none comes. */
export interface GatePatience {
  readonly afterMs: number
  report(sessionId: string | undefined): Error
}

class Gate implements LockGate {
  readonly sessionId: string | undefined
  readonly #wasReached: Promise<void>
  readonly #patience: GatePatience
  #reached: Promise<void> | undefined
  waiting = 0
  isOpen = false
  wasWaitedAt = false
  readonly #opened: Promise<void>
  #reach!: () => void
  #open!: () => void

  constructor(sessionId: string | undefined, patience: GatePatience) {
    this.sessionId = sessionId
    this.#patience = patience
    this.#wasReached = new Promise((resolve) => {
      this.#reach = resolve
    })
    this.#opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  get reached(): Promise<void> {
    if (this.#reached === undefined) {
      const { afterMs, report } = this.#patience
      const { stack } = new Error('read here')
      this.#reached = unlessHanging(this.#wasReached, {
        afterMs,
        progress: () => 'none',
        report: () => madeAt(stack, report(this.sessionId)),
      })
      // A test may read it without waiting for it.
      this.#reached.catch(() => undefined)
    }
    return this.#reached
  }

  open(): void {
    this.isOpen = true
    this.#open()
  }

  async wait(): Promise<void> {
    this.waiting++
    this.wasWaitedAt = true
    this.#reach()
    await this.#opened
    this.waiting--
  }
}

/** An error with the lines that a test began to wait at: it is made by a timer, which has none of them. */
function madeAt(stack = '', error: Error): Error {
  const lines = stack.split('\n').filter((line) => /^\s*at /.test(line))
  error.stack = [`${error.name}: ${error.message}`, ...lines].join('\n')
  return error
}

/** The gates of one probe. */
export class Gates {
  readonly #gates: Gate[] = []
  readonly #patience: GatePatience

  constructor(patience: GatePatience) {
    this.#patience = patience
  }

  /** A new closed gate; of every session, if none is given. */
  add(sessionId: string | undefined): LockGate {
    const gate = new Gate(sessionId, this.#patience)
    this.#gates.push(gate)
    return gate
  }

  /** The closed gates of a session. */
  closed(sessionId: string): readonly Gate[] {
    return this.#gates.filter((gate) => !gate.isOpen && (gate.sessionId ?? sessionId) === sessionId)
  }

  /** The first gate at which no code has waited. */
  get notReached(): { readonly sessionId: string | undefined } | undefined {
    return this.#gates.find(({ wasWaitedAt }) => !wasWaitedAt)
  }

  /** Waits until every gate of a session is open. */
  async pass(sessionId: string): Promise<void> {
    for (const gate of this.closed(sessionId)) await gate.wait()
  }
}
