/**
 * Makes models answer only while a test reads. An engine runs ahead of its reader, as far as its buffer allows, so a
 * short turn would end before a test had read its first word. Behind this gate a model sends only text that the test
 * has requested. `conversation/world/turn-driver.ts` opens and shuts it.
 */

/** A gate that is open, unless a turn is read event by event. */
export class ReadingGate {
  #byHand = false
  #isOpen = true
  readonly #waiting = new Set<() => void>()

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** From now on the gate opens only while the test reads. */
  begin(): void {
    this.#byHand = true
    this.#isOpen = false
  }

  /** From now on the gate is open. */
  end(): void {
    this.#byHand = false
    this.#open()
  }

  /**
   * Waits for an event; the gate is open until it is there, or {@link shut} is called. If an event is buffered already,
   * it arrives before any model passes.
   */
  read<T>(piece: Promise<T>): Promise<T> {
    const arrive = (): void => this.shut()
    piece.then(arrive, arrive)
    this.#open()
    return piece
  }

  /** Closes the gate until the test reads the next event. */
  shut(): void {
    if (this.#byHand) this.#isOpen = false
  }

  /** Waits until the test reads; rejects if `signal` fires before. */
  async pass(signal: AbortSignal): Promise<void> {
    while (!this.#isOpen) {
      signal.throwIfAborted()
      await new Promise<void>((resolve) => {
        const goOn = (): void => {
          signal.removeEventListener('abort', goOn)
          this.#waiting.delete(goOn)
          resolve()
        }
        this.#waiting.add(goOn)
        signal.addEventListener('abort', goOn)
      })
    }
  }

  #open(): void {
    this.#isOpen = true
    for (const goOn of this.#waiting) goOn()
  }
}
