/**
 * Helpers of the tests of sessions and stores: documents, and a store whose faults and clock a test controls. It checks
 * nothing; each test has its own expectations.
 */
import { FlowError, MemorySessionStore, type SessionDocument, type SessionStore } from '../../src/index.js'
import { StoreAccess } from '../../src/session/store-access.js'
import { FakeSessionStore } from '../fake-session-store/fake-session-store.js'
import { VirtualClock } from '../virtual-clock/virtual-clock.js'

/** The `storeTimeoutMs` of {@link bench}. */
export const storeTimeout = 1_000

/** A session after one turn. */
export function documentOf(id: string, revision: string, more: Partial<SessionDocument> = {}): SessionDocument {
  return {
    id,
    version: 2,
    revision,
    owner: 'user-7',
    runStatus: 'running',
    createdAt: '2026-01-01T00:00:00.000Z',
    savedAt: '2026-01-01T00:00:00.000Z',
    error: ['The first failure.'],
    usage: { inputTokens: 1, outputTokens: 2, modelCalls: 3 },
    turns: 1,
    bytes: 100,
    flow: {
      name: 'Booking',
      version: 1,
      currentStep: 'Ask',
      context: { config: { language: 'en' } },
      steps: { Ask: { state: { seats: 2 } } },
      memory: { Ask: { messages: [{ role: 'user', parts: [{ type: 'text', text: 'Hello' }], turn: 1 }] } },
      sequence: [{ step: 'Ask', level: 0 }],
    },
    history: [historyEntry(1, 'How many?')],
    ...more,
  }
}

/** A turn as the history keeps it. */
export function historyEntry(turn: number, reply: string): SessionDocument['history'][number] {
  return {
    turn,
    id: `turn-${turn}`,
    at: '2026-01-01T00:00:00.000Z',
    message: 'Hello',
    reply,
    contentType: 'text/plain',
    step: 'Ask',
  }
}

/** The revisions stored under some IDs; `undefined` if there is nothing. */
export async function revisions(store: SessionStore, ...ids: readonly string[]): Promise<(string | undefined)[]> {
  const found: (string | undefined)[] = []
  for (const id of ids) found.push((await store.load(id))?.revision)
  return found
}

/** A store with faults, and an engine's access to it. */
export interface Bench {
  readonly clock: VirtualClock
  readonly store: FakeSessionStore
  readonly access: StoreAccess
  /** The data behind the faults: what another process would see, or write. */
  readonly inner: MemorySessionStore
}

/** An access to a store in which the session `s-1` is stored under `revision`, or nothing. */
export async function bench(revision?: string, storeTimeoutMs: number = storeTimeout): Promise<Bench> {
  const clock = new VirtualClock()
  const inner = new MemorySessionStore()
  const store = new FakeSessionStore({ inner, clock })
  if (revision !== undefined) await inner.create(documentOf('s-1', revision))
  return { clock, store, inner, access: new StoreAccess({ store, clock, storeTimeoutMs }) }
}

/** The error of the engine that a promise rejects with. Fails if it resolves, or rejects with anything else. */
export async function errorOf(promise: Promise<unknown>): Promise<FlowError> {
  const error: unknown = await promise.then(
    () => 'none',
    (reason: unknown) => reason,
  )
  if (!FlowError.isInstance(error)) throw new Error(`Expected a FlowError, got ${String(error)}.`)
  return error
}
