/** A message of a chat, as it is kept and sent. */

/** A message on its way to the server. */
export interface ChatMessage {
  /** Names the message, so that it is answered once however often it is sent. Made once, before it is sent first. */
  readonly key: string
  readonly text: string
  readonly attachments?: readonly ChatAttachment[]
  /** Goes with every message, because the server may start a session in place of one that is gone; others ignore it. */
  readonly config?: Readonly<Record<string, unknown>> | undefined
  /** The session that it was sent to, as long as its turn may be stored there: empty for a new one. */
  session?: string
}

/** What is known of a message that is sent. */
export interface Delivery {
  readonly message: ChatMessage
  /**
   * Whether the turn may be stored: from when the message is sent, until an outcome under its key says that it is not.
   */
  mayBeStored: boolean
}

/** An image or another file that goes with a message, as base64 of the standard alphabet, or by its address. */
export interface ChatAttachment {
  readonly type: 'image' | 'file'
  /** Such as `image/png`. */
  readonly mediaType: string
  readonly data?: string
  readonly url?: string
  readonly name?: string
}
