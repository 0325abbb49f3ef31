/** A channel that shows only text: WhatsApp, SMS, mail. */
import type { FlowEngine } from 'turnkeeper'
import { textOf } from 'turnkeeper/parts'

export interface Channel {
  /** With `errorText: 'flow'`, because senders read errors. */
  readonly engine: FlowEngine
  readonly flowName: string
  send(to: string, text: string): Promise<void>
  /** A table of sessions and answered messages. */
  read(key: string): Promise<string | undefined>
  write(key: string, value: string): Promise<void>
}

const temporary = /^(SESSION_(BUSY|CONFLICT|STORE_ERROR)|ENGINE_(BUSY|CLOSED))$/

/** For one message of a sender at a time. If it rejects, have the message delivered again. */
export async function answer(channel: Channel, id: string, from: string, userMessage: string): Promise<void> {
  const { engine, flowName } = channel
  if ((await channel.read(id)) !== undefined) return
  const sessionId = (await channel.read(from)) ?? ''
  const input = { flowName, userMessage, sessionId, owner: from, idempotencyKey: id }
  const { error, parts, response } = await engine.execute(input)
  if (error !== undefined && temporary.test(error.code)) throw error
  if (response.session !== '') await channel.write(from, response.session)
  if (response.message !== '') await channel.send(from, textOf(response.message, parts))
  await channel.write(id, 'answered')
}
