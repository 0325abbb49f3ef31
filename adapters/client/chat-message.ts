/** A message of a chat, as the client stores and sends it. */

/** A message on its way to the server. */
export interface ChatMessage {
  /** The idempotency key: the message is answered once, however often it is sent. Made before the first send. */
  readonly key: string
  readonly text: string
  readonly attachments?: readonly ChatAttachment[]
  readonly choice?: ChatChoice
  /**
   * Sent with every message, because the server may have to start a new session for one that is gone. Otherwise the
   * server ignores it.
   */
  readonly config?: Readonly<Record<string, unknown>> | undefined
  /** The session that the message was sent to, kept while its turn may be stored there; empty for a new session. */
  session?: string
}

/** What the client knows about a sent message. */
export interface Delivery {
  readonly message: ChatMessage
  /**
   * Whether the turn may be stored: true from the first send, until an outcome under its key shows that it is not
   * stored.
   */
  mayBeStored: boolean
}

/** The button that the user pressed: an option of a `choices` part. */
export interface ChatChoice {
  /** The `turn` of the part. */
  readonly turn: number
  /** The `name` of the part. */
  readonly name: string
  /** The `value` of the option. */
  readonly value: string
}

/** An image or another file of a message, as base64 in the standard alphabet, or as a URL. */
export interface ChatAttachment {
  readonly type: 'image' | 'file'
  /** Such as `image/png`. */
  readonly mediaType: string
  readonly data?: string
  readonly url?: string
  readonly name?: string
}

/**
 * Converts a file that the user chose to an attachment. By default the server accepts 1 MB of base64 for a message
 * (`maxAttachmentBytes`), so shrink photos first.
 *
 * @example
 * ```ts
 * const photos = await Promise.all(Array.from(input.files ?? [], attachmentOf))
 * await chat.send('What is wrong with my fern?', photos)
 * ```
 */
export async function attachmentOf(file: Blob & { readonly name?: string }): Promise<ChatAttachment> {
  // The server refuses a type with parameters, such as a charset.
  const [mediaType] = (file.type || 'application/octet-stream').split(';') as [string]
  let bytes = ''
  for (const byte of new Uint8Array(await file.arrayBuffer())) bytes += String.fromCharCode(byte)
  const data = btoa(bytes)
  if (mediaType.startsWith('image/')) return { type: 'image', mediaType, data }
  return { type: 'file', mediaType, data, ...(file.name ? { name: file.name } : {}) }
}
