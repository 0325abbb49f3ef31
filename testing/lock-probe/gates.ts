/** Gates: places where the code under a session's lock waits until a test opens them. */

/** A gate for code under a session's lock, closed until it is opened. */
export interface LockGate {
  /** Resolves when code waits at it for the first time. */
  readonly reached: Promise<void>
  /** How many calls of `pass` wait at it now. */
  readonly waiting: number
  /** Lets all code pass, now and later. */
  open(): void
}

class Gate implements LockGate {
  readonly sessionId: string | undefined
  readonly reached: Promise<void>
  waiting = 0
  isOpen = false
  readonly #opened: Promise<void>
  #reach!: () => void
  #open!: () => void

  constructor(sessionId: string | undefined) {
    this.sessionId = sessionId
    this.reached = new Promise((resolve) => {
      this.#reach = resolve
    })
    this.#opened = new Promise((resolve) => {
      this.#open = resolve
    })
  }

  open(): void {
    this.isOpen = true
    this.#open()
  }

  async wait(): Promise<void> {
    this.waiting++
    this.#reach()
    await this.#opened
    this.waiting--
  }
}

/** The gates of one probe. */
export class Gates {
  readonly #gates: Gate[] = []

  /** A new closed gate; of every session, if none is given. */
  add(sessionId: string | undefined): LockGate {
    const gate = new Gate(sessionId)
    this.#gates.push(gate)
    return gate
  }

  /** The closed gates of a session. */
  closed(sessionId: string): readonly Gate[] {
    return this.#gates.filter((gate) => !gate.isOpen && (gate.sessionId ?? sessionId) === sessionId)
  }

  /** Waits until every gate of a session is open. */
  async pass(sessionId: string): Promise<void> {
    for (const gate of this.closed(sessionId)) await gate.wait()
  }
}
