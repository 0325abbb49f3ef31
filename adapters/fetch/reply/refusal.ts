// A request that this adapter refuses before the engine sees it. Whoever finds the fault throws one; the route handler
// turns it into a reply. The sentences are fixed, but for numbers from the options: nothing of a request is echoed.

/** Why a request is refused: the sentence for the client, and the status that `statuses: 'precise'` gives it. */
export class Refusal extends Error {
  /** The status under `statuses: 'precise'`. Under `'contract'` it is 400, but for 404 and 405. */
  readonly preciseStatus: number
  /** Whether body bytes may be on their way that nobody has read. */
  readonly unreadBody: ReadableStreamDefaultReader<Uint8Array> | 'untouched' | undefined

  constructor(
    message: string,
    preciseStatus = 400,
    unreadBody?: ReadableStreamDefaultReader<Uint8Array> | 'untouched' | undefined,
  ) {
    super(message)
    this.preciseStatus = preciseStatus
    this.unreadBody = unreadBody
  }
}
