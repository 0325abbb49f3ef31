/** The names of the events. `engine.on` checks them, because a listener of a misspelt event would never be called. */
import { invalidInput } from '../errors/engine-errors.js'
import { hintAt } from '../util/options.js'
import type { EngineEventName } from './core/engine-events.js'

const eventNames: { readonly [Name in EngineEventName]: true } = {
  'session:started': true,
  'session:created': true,
  'session:restored': true,
  'session:saved': true,
  'session:completed': true,
  'session:aborted': true,
  'session:conflict': true,
  'turn:rolled-back': true,
  'session:trimmed': true,
  'session:deleted': true,
  'session:evicted': true,
  'session:foreign': true,
  'session:unreadable': true,
  'auth:refused': true,
  'session:under-replicated': true,
  'store:end': true,
  'lock:taken': true,
  'turn:start': true,
  'turn:content': true,
  'turn:end': true,
  'turn:error': true,
  'turn:queued': true,
  'turn:refused': true,
  'turn:superseded': true,
  'turn:replayed': true,
  'effect:uncertain': true,
  'step:resume': true,
  'step:enter': true,
  'step:exit': true,
  'model:start': true,
  'model:end': true,
  'model:content': true,
  'model:retry': true,
  'model:fallback': true,
  'circuit:opened': true,
  'circuit:closed': true,
  'memory:compacted': true,
  'memory:compaction-failed': true,
  'tool:start': true,
  'tool:end': true,
  'tool:unknown': true,
}

/** @throws `InvalidInputError` for an unknown name */
export function checkEventName(name: unknown): void {
  if (typeof name === 'string' && Object.hasOwn(eventNames, name)) return
  const given = String(name)
  const names = Object.keys(eventNames)
  // Most events are named in the present tense.
  const hint = hintAt(given, names) || hintAt(given.replace(/ed$/, ''), names)
  throw invalidInput(`There is no event '${given}'. The events are ${names.join(', ')}.${hint}`)
}
