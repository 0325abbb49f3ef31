/**
 * All events of an engine, in the order in which it emits them, and an engine whose IDs count up so that payloads
 * can be written down. For tests of events.
 */
import type { EngineEventMap, FlowConstructor, FlowEngine } from '../../src/index.js'
import { type Harness, harness } from './engine-harness.js'

/** An event as it was emitted. */
export type RecordedEvent = readonly [keyof EngineEventMap, Readonly<Record<string, unknown>>]

/** Every event there is, listed by hand: an event that is missing here is missing in the tests. */
const eventNames: readonly (keyof EngineEventMap)[] = [
  'session:created',
  'session:restored',
  'session:saved',
  'session:completed',
  'session:aborted',
  'session:trimmed',
  'session:conflict',
  'session:deleted',
  'session:foreign',
  'session:unreadable',
  'session:evicted',
  'session:under-replicated',
  'lock:taken',
  'turn:start',
  'turn:end',
  'turn:error',
  'turn:rolled-back',
  'turn:queued',
  'turn:refused',
  'turn:superseded',
  'turn:replayed',
  'effect:uncertain',
  'step:enter',
  'step:exit',
  'model:start',
  'model:end',
  'model:retry',
  'memory:compacted',
  'memory:compaction-failed',
  'model:fallback',
  'circuit:opened',
  'circuit:closed',
  'tool:start',
  'tool:end',
  'tool:unknown',
]

/** All events that `engine` emits from now on. */
export function recordEvents(engine: FlowEngine): RecordedEvent[] {
  const events: RecordedEvent[] = []
  for (const name of eventNames) engine.on(name, (payload: object) => events.push([name, payload as RecordedEvent[1]]))
  return events
}

/** The names alone. */
export function namesOf(events: readonly RecordedEvent[]): readonly string[] {
  return events.map(([name]) => name)
}

/** An engine whose IDs are `session-1`, `turn-1` and so on, and its events. */
export function recorded(flows: readonly FlowConstructor[]): Harness & { readonly events: RecordedEvent[] } {
  const counts: Record<string, number> = {}
  const generateId = (kind: string): string => {
    counts[kind] = (counts[kind] ?? 0) + 1
    return `${kind}-${counts[kind]}`
  }
  const made = harness({ flows, generateId })
  return { ...made, events: recordEvents(made.engine) }
}
