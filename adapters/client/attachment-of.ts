import type { ChatAttachment } from './chat-message.js'

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
