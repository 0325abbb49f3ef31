import { Chat } from './chat.js'
import type { ChatOptions } from './chat-options.js'

/**
 * A conversation with one flow over HTTP, in a page or a program. Each message has an idempotency key and is sent until
 * there is an outcome, so a lost network never loses or doubles a turn.
 *
 * @throws `TypeError` if an option is missing or invalid.
 * @example
 * ```ts
 * const chat = createChat({ url: '/ai', flow: 'SupportDesk', storage: sessionStorage })
 * chat.on('change', ({ turns, isBusy }) => render(turns, isBusy))
 * await chat.resume()
 * const turn = await chat.send('Where is my parcel?')
 * ```
 */
export function createChat(options: ChatOptions): Chat {
  return new Chat(options)
}
