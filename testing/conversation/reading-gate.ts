/**
 * Has models answer only while somebody reads. An engine runs ahead of its reader, as far as its buffer goes, so that a
 * short turn would be over before a test had read its first word; behind this gate nothing is said that was not asked
 * for. Who reads, and what, is decided elsewhere.
 */

/** A gate that stands open, unless a turn is read by hand. */
export class ReadingGate {
  #byHand = false
  #isOpen = true
  readonly #waiting = new Set<() => void>()

  get isOpen(): boolean {
    return this.#isOpen
  }

  /** From now on the gate opens only while something is read. */
  begin(): void {
    this.#byHand = true
    this.#isOpen = false
  }

  /** From now on the gate stands open. */
  end(): void {
    this.#byHand = false
    this.#open()
  }

  /**
   * Waits for a piece that is read; the gate is open until it is there, or {@link shut} is called. Where a piece waits to
   * be read already, it is there before anybody gets through.
   */
  read<T>(piece: Promise<T>): Promise<T> {
    const arrive = (): void => this.shut()
    piece.then(arrive, arrive)
    this.#open()
    return piece
  }

  /** Closes the gate until the next piece is read. */
  shut(): void {
    if (this.#byHand) this.#isOpen = false
  }

  /** Waits until somebody reads; rejects where `signal` fires before. */
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
