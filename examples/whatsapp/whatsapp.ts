/**
 * The webhook of WhatsApp, or of a channel like it, as a function from `Request` to `Response`. It checks the shape
 * alone. Check the signature before: every caller can pose as any sender.
 */
import { z } from 'zod'
import { answer, type Channel } from './channel.js'

const Message = z.object({
  // What an idempotency key may be.
  id: z.string().regex(/^[!-+\--~]{16,255}$/),
  from: z.string().min(1),
  // A photo has none.
  text: z.object({ body: z.string() }).default({ body: '' }),
})
const Change = z.object({ value: z.object({ messages: z.array(Message).default([]) }) })
const Webhook = z.object({ entry: z.array(z.object({ changes: z.array(Change) })) })

export function createWebhook(channel: Channel): (request: Request) => Promise<Response> {
  const last = new Map<string, Promise<void>>()

  /**
   * One after the other for each sender, because a message needs the session of the one before. Several processes need a
   * queue by sender instead.
   */
  function answerInOrder({ id, from, text }: z.infer<typeof Message>): Promise<void> {
    const answering = Promise.resolve(last.get(from)).then(() => answer(channel, id, from, text.body))
    const settled = answering.catch(() => undefined)
    last.set(from, settled)
    return answering
  }

  return async (request) => {
    const webhook = Webhook.safeParse(await request.json().catch(() => undefined))
    if (!webhook.success) return new Response('Not a webhook.', { status: 400 })
    const messages = webhook.data.entry.flatMap(({ changes }) => changes.flatMap(({ value }) => value.messages))
    const answers = await Promise.allSettled(messages.map(answerInOrder))
    const isDone = answers.every(({ status }) => status === 'fulfilled')
    return isDone ? new Response() : new Response('Send it again.', { status: 503 })
  }
}
