// The signal that fires when the client goes away, made only when somebody could hear it. On Node, asking a request for
// its signal and listening to it costs as much as a third of a small request, and no client can go away before the event
// loop turns: so listeners are kept here first, and handed to the signal of the request one turn of the loop later. A turn
// that is over by then has taken its listener back, and the signal is never made.

type Listener = EventListenerOrEventListenerObject
type AddOptions = boolean | AddEventListenerOptions | undefined

/** Stands for `request.signal`. Before the event loop has turned, or somebody asks for more than listening, it has not fired. */
export class ClientSignal implements AbortSignal {
  readonly #request: Request
  #signal: AbortSignal | undefined
  #waiting: { readonly type: string; readonly listener: Listener; readonly options: AddOptions }[] = []
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(request: Request) {
    this.#request = request
  }

  get aborted(): boolean {
    return this.#signal?.aborted === true
  }

  get reason(): unknown {
    return this.#signal?.reason
  }

  get onabort(): AbortSignal['onabort'] {
    return this.#make().onabort
  }

  set onabort(listener: AbortSignal['onabort']) {
    this.#make().onabort = listener
  }

  throwIfAborted(): void {
    this.#make().throwIfAborted()
  }

  dispatchEvent(event: Event): boolean {
    return this.#make().dispatchEvent(event)
  }

  addEventListener(type: string, listener: Listener | null, options?: AddOptions): void {
    if (listener === null) return
    if (this.#signal !== undefined) {
      this.#signal.addEventListener(type, listener, options)
      return
    }
    this.#forget(type, listener)
    this.#waiting.push({ type, listener, options })
    this.#timer ??= setTimeout(() => this.#make(), 0)
  }

  removeEventListener(type: string, listener: Listener | null, options?: boolean | EventListenerOptions): void {
    if (listener === null) return
    this.#signal?.removeEventListener(type, listener, options)
    this.#forget(type, listener)
    if (this.#waiting.length === 0) this.#stopTimer()
  }

  #make(): AbortSignal {
    if (this.#signal !== undefined) return this.#signal
    this.#stopTimer()
    // Some runtimes give a request no signal: then nobody ever goes away.
    const signal = this.#request.signal ?? new AbortController().signal
    this.#signal = signal
    const waiting = this.#waiting
    this.#waiting = []
    for (const { type, listener, options } of waiting) {
      if (!signal.aborted || type !== 'abort') signal.addEventListener(type, listener, options)
      else if (typeof listener === 'function') listener.call(signal, new Event('abort'))
      else listener.handleEvent(new Event('abort'))
    }
    return signal
  }

  #forget(type: string, listener: Listener): void {
    this.#waiting = this.#waiting.filter((entry) => entry.type !== type || entry.listener !== listener)
  }

  #stopTimer(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
