/**
 * Two owners, and a third caller who knows every session ID: the same requests are sent once for a session of an owner,
 * and once for an ID that no session has. Everything that can be observed is written down, with the ID left out. It
 * asserts nothing.
 */
import { Keyv } from 'keyv'
import {
  type EngineEventMap,
  FlowEngine,
  type FlowEngineOptions,
  type FlowRunInput,
  type FlowStreamEvent,
  MemorySessionStore,
  type SessionDocument,
  type SessionStore,
} from '../../src/index.js'
import { createMapDriver } from '../../src/stores/keyv/drivers/map-driver.js'
import { KeyvSessionStore } from '../../src/stores/keyv/index.js'
import { FakeSessionStore, VirtualClock } from '../index.js'
import { flowOf, gatedFlow } from './engine-harness.js'
import { recordEvents } from './event-recorder.js'

/** How long the store takes to load a document. */
const loadMs = 10

/** What is wrong with the stored session, or has become of it. */
export const conditions = [
  'running',
  'completed',
  'of another flow',
  'of a later version of the flow',
  'malformed',
  'malformed in its lists',
  'of a newer layout',
  'unreadable',
] as const

/** One request of a caller who is not the owner. `atMs` after the owner's turns began. */
export interface Request {
  readonly by: 'bob' | 'mallory' | undefined
  readonly kind: 'run' | 'stream' | 'other flow' | 'bad input' | 'delete' | 'delete unreadable' | 'cancel' | 'get'
  readonly isKeyed: boolean
  readonly atMs: number
}

/** What happens. */
export interface Scene {
  readonly store: 'memory' | 'map' | 'map without a cache'
  readonly condition: (typeof conditions)[number]
  readonly busy: NonNullable<FlowEngineOptions['busy']>
  readonly unknownSession: 'new' | 'reject'
  /** How long the flow works before its session is loaded. */
  readonly initMs: number
  /** When turns of the owner begin, and whether they have keys, which everybody knows. */
  readonly ownersTurns: readonly { readonly isKeyed: boolean; readonly atMs: number }[]
  readonly requests: readonly Request[]
}

interface Place {
  readonly store: SessionStore
  /** The commands that reached the backend. */
  readonly commands: readonly string[]
  /** All that is stored. */
  dump(): unknown
  /** Does to a stored session what {@link conditions} says. */
  change(sessionId: string, condition: Scene['condition']): void
}

function changeDocument(document: Record<string, unknown>, condition: Scene['condition']): void {
  const flow = document.flow as Record<string, unknown>
  if (condition === 'completed') document.runStatus = 'completed'
  else if (condition === 'of another flow') flow.name = 'Other'
  else if (condition === 'of a later version of the flow') flow.version = 9
  else if (condition === 'malformed') document.usage = 'none'
  else if (condition === 'malformed in its lists') document.history = [{ turn: 'first' }]
  else if (condition === 'of a newer layout') document.version = 99
  else if (condition === 'unreadable') delete document.owner
}

function memoryPlace(clock: VirtualClock): Place {
  const backing = new Map<string, SessionDocument>()
  return {
    store: new MemorySessionStore({ backing, clock }),
    commands: [],
    dump: () => [...backing],
    change(sessionId, condition) {
      const copy = structuredClone(backing.get(sessionId)) as SessionDocument
      changeDocument(copy as unknown as Record<string, unknown>, condition)
      backing.set(sessionId, copy)
    },
  }
}

function mapPlace(cacheBytes: number | undefined): Place {
  const map = new Map<string, { head: string; chunks: Map<string, string> }>()
  const commands: string[] = []
  const inner = createMapDriver(map)
  const driver = new Proxy(inner, {
    get(target, name: keyof typeof inner) {
      const method = target[name]
      if (typeof method !== 'function') return method
      return (...args: unknown[]) => {
        commands.push(name)
        return Reflect.apply(method, target, args)
      }
    },
  })
  return {
    store: new KeyvSessionStore({
      keyv: new Keyv(),
      driver,
      ...(cacheBytes === undefined ? {} : { cacheBytes }),
    }),
    commands,
    dump: () => [...map].map(([key, { head, chunks }]) => [key, head, [...(chunks ?? [])]]),
    change(sessionId, condition) {
      const [key, record] = [...map].find(([name]) => name.endsWith(sessionId)) as [string, { head: string }]
      const chunks = new Map(map.get(key)?.chunks)
      const head = JSON.parse(record.head)
      if (condition === 'malformed in its lists') for (const name of chunks.keys()) chunks.set(name, '{"nothing":1')
      else if (condition === 'of a newer layout') head.layout = 99
      else changeDocument(head.document, condition)
      // Encrypted with a key that was lost.
      const text = condition === 'unreadable' ? 'AAAA' : JSON.stringify(head)
      map.set(key, { ...record, head: text, chunks })
    },
  }
}

/** What was observed. */
export interface Observed {
  readonly foreign: readonly EngineEventMap['session:foreign'][]
  /** Must be the same for a foreign ID and for an unknown one. */
  readonly seen: Readonly<Record<string, unknown>>
}

const keyOf = (number: number): string => `a key that everybody knows ${number}`.replaceAll(' ', '-')

/** Plays a scene. */
export async function observe(scene: Scene, isForeign: boolean): Promise<Observed> {
  const { condition, busy, unknownSession, initMs, ownersTurns, requests } = scene
  const clock = new VirtualClock()
  const place = scene.store === 'memory' ? memoryPlace(clock) : mapPlace(scene.store === 'map' ? undefined : 0)
  const store = new FakeSessionStore({ inner: place.store, clock })
  const counts: Record<string, number> = {}
  const generateId = (kind: string): string => {
    counts[kind] = (counts[kind] ?? 0) + 1
    return `${kind}-${counts[kind]}`
  }
  const { flow, open } = gatedFlow()
  if (initMs > 0) Object.assign(flow.prototype as object, { init: () => after(clock, initMs) })
  const flows = [flow, flowOf('Other')]
  const engine = new FlowEngine({ flows, sessionStore: store, clock, generateId, busy, unknownSession })
  const say = (input: Partial<FlowRunInput>) => engine.execute({ flowName: 'Talk', userMessage: 'start', ...input })
  const ada = (await clock.runUntil(say({ owner: 'ada' }))).response.session
  await clock.runUntil(say({ owner: 'bob' }))
  if (condition !== 'running') place.change(ada, condition)
  store.delayNext('load', loadMs, { times: Number.POSITIVE_INFINITY })
  const sessionId = isForeign ? ada : 'session-0'
  const events = recordEvents(engine)
  const foreign: EngineEventMap['session:foreign'][] = []
  engine.on('session:foreign', (event) => foreign.push(event))
  const [operations, commands] = [store.operations.length, place.commands.length]
  const begun = clock.now()
  const settled: unknown[] = []

  const owners = ownersTurns.map(async ({ isKeyed, atMs }, index) => {
    await after(clock, atMs)
    const named = { owner: 'ada', sessionId: ada, userMessage: `turn ${index}` }
    return say(isKeyed ? { ...named, idempotencyKey: keyOf(index) } : named)
  })
  const asked = requests.map(async (request, index) => {
    await after(clock, request.atMs)
    const answer = await ask(engine, sessionId, request, index)
    settled.push(index)
    return { answer, ms: clock.now() - begun }
  })
  const answers = await clock.runUntil(Promise.all(asked))
  for (const index of ownersTurns.keys()) open(`turn ${index}`)
  const turns = await clock.runUntil(Promise.all(owners))
  const hidden = <T>(value: T): T => withoutId(value, sessionId)
  return {
    foreign,
    seen: {
      answers: hidden(answers),
      settled,
      ofOwner: withoutId(turns, ''),
      events: events
        .filter(([name]) => name !== 'session:foreign' && name !== 'session:unreadable')
        .map(([name, event]) => [name, event.owner === 'ada' ? withoutId(event, '') : hidden(event)]),
      stored: withoutId(place.dump(), ''),
      operations: store.operations.slice(operations),
      commands: place.commands.slice(commands),
      locked: engine.getFlowSession().locked,
      timers: clock.pending,
    },
  }
}

function after(clock: VirtualClock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.setTimer(resolve, ms))
}

async function ask(engine: FlowEngine, sessionId: string, request: Request, index: number): Promise<unknown> {
  const { by, kind, isKeyed } = request
  const owner = by === undefined ? {} : { owner: by }
  const key = isKeyed ? { idempotencyKey: keyOf(index % 2) } : {}
  const input: FlowRunInput = { flowName: 'Talk', userMessage: 'start', sessionId, ...owner, ...key }
  if (kind === 'delete') return engine.executeDelete(sessionId, owner)
  if (kind === 'delete unreadable') return engine.executeDelete(sessionId, { owner: by ?? 'mallory', unreadable: true })
  if (kind === 'cancel') return engine.cancel(sessionId, owner)
  if (kind === 'get') return engine.getSession(sessionId, owner).catch((error: unknown) => error)
  if (kind === 'other flow') return engine.execute({ ...input, flowName: 'Other' })
  if (kind === 'bad input') return engine.execute({ ...input, userMessage: 5 as unknown as string })
  if (kind === 'run') return engine.execute(input)
  const pieces: FlowStreamEvent[] = []
  for await (const piece of engine.stream(input)) pieces.push(piece)
  return pieces
}

/** As JSON, errors included, with `the ID` in place of an ID. */
function withoutId<T>(value: T, sessionId: string): T {
  const text = JSON.stringify(value, (_key, one) =>
    one instanceof Error ? { ...one, message: one.message, cause: String(one.cause) } : one,
  )
  if (text === undefined) return value
  return JSON.parse(sessionId === '' ? text : text.replaceAll(new RegExp(`\\b${sessionId}\\b`, 'g'), 'the ID'))
}
