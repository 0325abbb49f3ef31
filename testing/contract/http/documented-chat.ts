export class Chat {
  readonly #url: string
  readonly #flowName: string
  #session = ''

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
    if (['completed', 'aborted', 'none'].includes(state)) this.startAgain()
    else this.#session = response.headers.get('CHAT_SESSION_ID') ?? this.#session
    if (response.headers.get('Chat-Reply') === 'raw') return response.blob()
    const envelope: { success: boolean; message: string } = await response.json()
    if (!envelope.success) throw new Error(envelope.message, { cause: response.headers.get('Chat-Error') })
    return envelope.message
  }

  /** Lets the next message start a new conversation. Offer it after the same failure twice in a row. */
  startAgain(): void {
    this.#session = ''
  }
}
