/** Reads the fields with which a client says what a turn is, besides its messages: the same in both protocols. */
import { Refusal } from '../fetch/reply/refusal.js'
import { isObject } from '../fetch/request/is-object.js'
import type { ChatMessage } from './chat-turns.js'

/** @throws Refusal that names what is wrong. The engine checks the rest of an event. */
export function readTurnFields({
  event,
  newSession = false,
}: Readonly<Record<string, unknown>>): Pick<ChatMessage, 'event' | 'newSession'> {
  if (typeof newSession !== 'boolean') throw new Refusal("The field 'newSession' must be true or false.")
  if (event !== undefined && !isObject(event)) throw new Refusal("The field 'event' must be an object with a name.")
  if (event !== undefined && newSession) {
    throw new Refusal("The field 'newSession' cannot come with an event, which never begins a session.")
  }
  const { name, payload } = event ?? {}
  return {
    event: event && ({ name, ...(payload === undefined ? {} : { payload }) } as NonNullable<ChatMessage['event']>),
    newSession,
  }
}
