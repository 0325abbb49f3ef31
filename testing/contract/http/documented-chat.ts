export class Chat {
  readonly #url: string
  readonly #flowName: string
  #session = ''
  #failure: string | null = null
  /** Whether a new conversation answered last, in place of the one that the user knew: tell the user. */
  hasRestarted = false
  /** Whether the last two turns failed alike, although the session goes on: offer the user a new conversation. */
  isStuck = false

  constructor(url: string, flowName: string) {
    this.#url = url
    this.#flowName = flowName
  }

  /** Sends one message. Resolves to a text, or to a file if the flow answered with one. */
  async say(message: string): Promise<string | Blob> {
    const response = await fetch(`${this.#url}/run`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(this.#session === '' ? {} : { CHAT_SESSION_ID: this.#session }),
      },
      body: JSON.stringify({ flowName: this.#flowName, message }),
    })
    const state = response.headers.get('Chat-Session-State') ?? 'unknown'
    const failure = response.headers.get('Chat-Error')
    this.hasRestarted = response.headers.has('Chat-Session-Restarted')
    this.isStuck = state === 'running' && failure !== null && failure === this.#failure
    this.#failure = failure
    if (['completed', 'aborted', 'none'].includes(state)) this.startAgain()
    else this.#session = response.headers.get('CHAT_SESSION_ID') ?? this.#session
    if (response.headers.get('Chat-Reply') === 'raw') return response.blob()
    const envelope = (await response.json()) as { success: boolean; message: string }
    if (!envelope.success) throw new Error(envelope.message, { cause: failure })
    return envelope.message
  }

  /** Lets the next message start a new conversation. */
  startAgain(): void {
    this.#session = ''
    this.#failure = null
    this.isStuck = false
  }
}
