/** Everything that a turn leaves besides its reply, as one text: for tests of what must not be in it. It asserts nothing. */
import { inspect } from 'node:util'
import type {
  EngineEventMap,
  FlowConstructor,
  FlowEngine,
  FlowEngineOptions,
  SessionDocument,
  StepConstructor,
  Transition,
  Turn,
} from '../../../src/index.js'
import { type Acts, type ModelHarness, modelHarness } from '../model-harness.js'
import { step, type Talk, talk } from '../side-flows/talk.js'
import { lines } from '../test-flows.js'

/** Every event there is: one that is missing here does not compile. */
const eventNames: Readonly<Record<keyof EngineEventMap, true>> = {
  'auth:refused': true,
  'circuit:closed': true,
  'circuit:opened': true,
  'effect:uncertain': true,
  'lock:taken': true,
  'memory:compacted': true,
  'memory:compaction-failed': true,
  'model:content': true,
  'model:end': true,
  'model:fallback': true,
  'model:retry': true,
  'model:start': true,
  'session:aborted': true,
  'session:completed': true,
  'session:conflict': true,
  'session:created': true,
  'session:deleted': true,
  'session:evicted': true,
  'session:foreign': true,
  'session:restored': true,
  'session:saved': true,
  'session:started': true,
  'session:trimmed': true,
  'session:under-replicated': true,
  'session:unreadable': true,
  'step:enter': true,
  'step:exit': true,
  'step:resume': true,
  'store:end': true,
  'tool:end': true,
  'tool:start': true,
  'tool:unknown': true,
  'turn:content': true,
  'turn:end': true,
  'turn:error': true,
  'turn:queued': true,
  'turn:refused': true,
  'turn:replayed': true,
  'turn:rolled-back': true,
  'turn:start': true,
  'turn:superseded': true,
}

/** Any values as one text, whole. */
export function wholeText(...values: readonly unknown[]): string {
  return inspect(values, { depth: Number.POSITIVE_INFINITY, maxStringLength: null, maxArrayLength: null })
}

/** The events that an engine emits from now on, with their payloads. */
function watchEvents(engine: FlowEngine): (readonly [keyof EngineEventMap, object])[] {
  const events: (readonly [keyof EngineEventMap, object])[] = []
  for (const name of Object.keys(eventNames) as (keyof EngineEventMap)[]) {
    engine.on(name, (payload: object) => events.push([name, payload]))
  }
  return events
}

/** What a test hides. */
export const canary = 'canary-4711'

/** Hides the user's message. */
export function hide(turn: Turn): void {
  turn.hideMessage('[PIN]')
}

/** Hides the user's message, and returns the value. */
export function hideAnd<T>(turn: Turn, value: T): T {
  hide(turn)
  return value
}

/** A logic step, `First`, that hides its message and does `next`. */
export function hiding(next: () => Transition): StepConstructor {
  return step('First', (turn) => hideAnd(turn, next()))
}

/** A conversation with an engine that is watched, and whose models do `acts`. */
export interface WatchedTalk extends Talk {
  readonly made: ModelHarness
  /** All events so far. */
  readonly events: readonly (readonly [keyof EngineEventMap, object])[]
  /** The messages of the last call of a model, in short. */
  asked(): string[]
  /** The memory of a namespace, in short. */
  memory(namespace: string): Promise<string[]>
  /** The newest turn in the history. */
  newest(): Promise<SessionDocument['history'][number] | undefined>
  /** All that the store and the listeners got, besides what a model was asked, which is in `asked`. */
  seen(): Promise<string>
}

/** @param options - `continues`: goes on with the session of another one, whose flow was of an earlier release. */
export function watchedTalk(
  of: FlowConstructor,
  acts: Acts = { 'own/small': [] },
  { continues, ...options }: FlowEngineOptions & { readonly continues?: Talk } = {},
): WatchedTalk {
  const former = continues && { backing: continues.backing }
  const made = modelHarness(acts, { flows: [of], ...options, ...former })
  const events = watchEvents(made.engine)
  const spoken = talk(of, { made, ...(continues && { session: continues.id() }) })
  return {
    ...spoken,
    made,
    events,
    asked: () => lines(made.asked.at(-1)?.request.messages as never),
    memory: async (namespace) => lines((await spoken.now()).flow.memory[namespace]?.messages),
    newest: async () => (await spoken.now()).history.at(-1),
    seen: async () =>
      wholeText(
        events.filter(([name]) => name !== 'model:content'),
        await spoken.now(),
      ),
  }
}
