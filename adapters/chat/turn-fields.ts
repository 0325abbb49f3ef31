/** Reads the fields of a turn that come beside its messages: the same in both protocols. */
import { Refusal } from '../fetch/reply/refusal.js'
import { isObject } from '../fetch/request/is-object.js'
import type { ChatMessage } from './chat-turns.js'

/** @throws Refusal that names what is wrong. The engine checks the rest of an event and of a choice. */
export function readTurnFields({
  event,
  choice,
  newSession = false,
}: Readonly<Record<string, unknown>>): Pick<ChatMessage, 'event' | 'choice' | 'newSession'> {
  if (typeof newSession !== 'boolean') throw new Refusal("The field 'newSession' must be true or false.")
  if (event !== undefined && !isObject(event)) throw new Refusal("The field 'event' must be an object with a name.")
  if (choice !== undefined && !isObject(choice)) throw new Refusal("The field 'choice' must be an object.")
  if (event !== undefined && newSession) {
    throw new Refusal("The field 'newSession' cannot come with an event, which never begins a session.")
  }
  const { name, payload } = event ?? {}
  return {
    event: event && ({ name, ...(payload === undefined ? {} : { payload }) } as NonNullable<ChatMessage['event']>),
    choice: choice as ChatMessage['choice'],
    newSession,
  }
}
