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

/**
 * A file that the user chose, as an attachment: an image if its type says so. The server accepts a megabyte of base64
 * for a message, unless its limit `maxAttachmentBytes` is another, so make a photo smaller first.
 *
 * @example
 * ```ts
 * const photos = await Promise.all(Array.from(input.files ?? [], attachmentOf))
 * await chat.send('What is wrong with my fern?', photos)
 * ```
 */
export async function attachmentOf(file: Blob & { readonly name?: string }): Promise<ChatAttachment> {
  // A type with parameters, such as a charset, is refused by the server.
  const [mediaType] = (file.type || 'application/octet-stream').split(';') as [string]
  let bytes = ''
  for (const byte of new Uint8Array(await file.arrayBuffer())) bytes += String.fromCharCode(byte)
  const data = btoa(bytes)
  if (mediaType.startsWith('image/')) return { type: 'image', mediaType, data }
  return { type: 'file', mediaType, data, ...(file.name ? { name: file.name } : {}) }
}
