/**
 * The data that all engines of a run share, and the stores of each engine: a memory store, or a Keyv store with its
 * cache over a session driver. Every operation on the data passes the stage, and every change of it is recorded.
 */
import Keyv from 'keyv'
import {
  MemorySessionStore,
  type SessionDocument,
  type SessionSaveHint,
  type SessionStore,
} from '../../../src/index.js'
import type { SessionDriver } from '../../../src/stores/keyv/driver/session-driver.js'
import { KeyvSessionStore } from '../../../src/stores/keyv/index.js'
import { optionalOperationsOf } from '../optional-operations.js'
import type { SeededRandom } from '../seeded-random.js'
import { viewOf } from '../simulation/model-session.js'
import { type Effect, type Stored, Timeline } from '../simulation/timeline.js'
import { FakeDriver, type FakeRecord } from '../stores/fake-driver.js'
import type { Life, Stage, Step } from './stage.js'

/** A change, and whether the same document was stored before: a message that arrived twice. */
export interface RecordedEffect extends Effect {
  readonly isAgain: boolean
}

/** A process began an operation of its store. */
export interface Touch {
  readonly life: Life
  readonly sessionId: string
  readonly tick: number
}

/** What the stores of one run share. */
export interface Backend {
  readonly timeline: Timeline
  readonly effects: readonly RecordedEffect[]
  /** The IDs of the sessions that are stored. */
  readonly stored: ReadonlyMap<string, unknown>
  /** Operations that were begun: by which process, on which session, and when. */
  readonly touches: readonly Touch[]
  /** A store for one process. */
  storeOf(life: Life): SessionStore
  /** A store directly over the data, without a cache. */
  plainStore(): SessionStore
}

interface Recorded {
  readonly view: Stored
  readonly hint: SessionSaveHint | undefined
}

interface StoredRecord {
  readonly revision: string
}

/** What was stored, and by whom, for both kinds of data. */
class Recorder<Entry extends StoredRecord> {
  readonly timeline = new Timeline()
  readonly effects: RecordedEffect[] = []
  readonly touches: Touch[] = []
  readonly #data: ReadonlyMap<string, Entry>
  /** What the engines wanted to store, by revision. */
  readonly #documents = new Map<string, Recorded>()
  /** What was stored under each key, oldest first; `undefined` for nothing. */
  readonly #versions = new Map<string, (Entry | undefined)[]>()
  /** Which version of a key each process has seen. */
  readonly #seen = new WeakMap<Life, Map<string, number>>()
  readonly #arrived = new Set<string>()

  constructor(data: ReadonlyMap<string, Entry>) {
    this.#data = data
  }

  expect(document: SessionDocument, hint?: SessionSaveHint): void {
    const { revision } = document
    if (!this.#documents.has(revision)) {
      this.#documents.set(revision, { view: { revision, session: viewOf(document) }, hint })
    }
  }

  /** Runs a change, which takes effect before `run` returns, and records it. */
  change<T>(
    life: Life,
    key: string,
    expectedRevision: string | undefined,
    revision: string | undefined,
    run: () => Promise<T>,
  ): Promise<T> {
    const old = this.#data.get(key)
    const answer = run()
    const current = this.#data.get(key)
    if (current !== old) {
      const versions = this.#versions.get(key) ?? [undefined]
      versions.push(current)
      this.#versions.set(key, versions)
      const recorded = revision === undefined ? undefined : this.#documents.get(revision)
      this.effects.push({
        tick: this.timeline.tick(),
        by: life.seat,
        sessionId: key.slice(key.lastIndexOf(':') + 1),
        before: old === undefined ? undefined : this.#documents.get(old.revision)?.view,
        after: recorded?.view,
        expectedRevision,
        hint: recorded?.hint,
        isAgain: revision !== undefined && this.#arrived.has(revision),
      })
      if (revision !== undefined) this.#arrived.add(revision)
      this.timeline.effects.push(this.effects.at(-1) as Effect)
    }
    return answer.then((value) => {
      this.look(life, key)
      return value
    })
  }

  /** Remembers that a process has seen what is stored under a key. */
  look(life: Life, key: string): void {
    const seen = this.#seen.get(life) ?? new Map<string, number>()
    this.#seen.set(life, seen)
    seen.set(key, (this.#versions.get(key)?.length ?? 1) - 1)
  }

  /** An older version of a key, if the process has seen no newer one: its reads never go back in time. */
  older(life: Life, key: string, random: SeededRandom): Entry | undefined {
    const versions = this.#versions.get(key) ?? []
    const seen = this.#seen.get(life)?.get(key) ?? 0
    return versions[seen + random.below(Math.max(0, versions.length - 1 - seen))]
  }
}

/** Sessions in memory. */
export function memoryBackend(stage: Stage): Backend {
  const data = new Map<string, SessionDocument>()
  const recorder = new Recorder(data)
  const plainStore = (): SessionStore => new MemorySessionStore({ backing: data })
  return {
    timeline: recorder.timeline,
    effects: recorder.effects,
    touches: recorder.touches,
    stored: data,
    plainStore,
    storeOf(life) {
      const store = plainStore()
      const write = (
        label: string,
        document: SessionDocument,
        expected: string | undefined,
        run: () => Promise<void>,
      ) =>
        stage.pass({
          life,
          label: `engine ${life.seat}: ${label} ${document.id}`,
          kind: 'write',
          run: () => recorder.change(life, document.id, expected, document.revision, run),
        })
      return expecting(life, recorder, {
        ...optionalOperationsOf(store),
        guarantees: store.guarantees,
        load: (sessionId) =>
          stage.pass({
            life,
            label: `engine ${life.seat}: load ${sessionId}`,
            kind: 'read',
            run() {
              recorder.look(life, sessionId)
              return store.load(sessionId)
            },
            stale() {
              const record = recorder.older(life, sessionId, stage.random)
              return (
                record && (() => new MemorySessionStore({ backing: new Map([[sessionId, record]]) }).load(sessionId))
              )
            },
          }),
        create: (document) => write('create', document, undefined, () => store.create(document)),
        save: (document, expected, hint) =>
          write('save', document, expected, () => store.save(document, expected, hint)),
        delete: (sessionId, expected) =>
          stage.pass({
            life,
            label: `engine ${life.seat}: delete ${sessionId}`,
            kind: 'write',
            run: () => recorder.change(life, sessionId, expected, undefined, () => store.delete(sessionId, expected)),
          }),
        close: () => store.close(),
      })
    },
  }
}

/** One for all: the stores use only its settings. */
const keyv = new Keyv()

/** Sessions behind a driver; the stage is in front of the driver. */
export function keyvBackend(stage: Stage, cacheBytes: number | undefined): Backend {
  const data = new Map<string, FakeRecord>()
  const recorder = new Recorder<FakeRecord>(data)
  const backend = new FakeDriver(data)
  const storeOver = (driver: SessionDriver): SessionStore =>
    new KeyvSessionStore({ keyv, driver, closeKeyv: false, ...(cacheBytes === undefined ? {} : { cacheBytes }) })
  return {
    timeline: recorder.timeline,
    effects: recorder.effects,
    touches: recorder.touches,
    stored: data,
    plainStore: () => storeOver(backend),
    storeOf(life) {
      const step = <T>(kind: Step<T>['kind'], label: string, run: () => Promise<T>): Step<T> => ({
        life,
        label: `engine ${life.seat}: ${label}`,
        kind,
        run,
      })
      const read = <T>(label: string, key: string, from: (driver: FakeDriver) => Promise<T>): Promise<T> =>
        stage.pass({
          ...step('read', `${label} ${key}`, () => {
            recorder.look(life, key)
            return from(backend)
          }),
          stale() {
            const record = recorder.older(life, key, stage.random)
            return record && (() => from(new FakeDriver(new Map([[key, record]]))))
          },
        })
      return expecting(
        life,
        recorder,
        storeOver({
          guarantees: backend.guarantees,
          read: (key, chunks) => read(`read ${chunks}`, key, (driver) => driver.read(key, chunks)),
          readAll: (key) => read('read all of', key, (driver) => driver.readAll(key)),
          swap: (swap) => {
            const { key, expectedRevision, revision } = swap
            const run = () => recorder.change(life, key, expectedRevision, revision, () => backend.swap(swap))
            return stage.pass(step('write', `swap ${key} to ${revision}`, run))
          },
          remove: (key, expected) => {
            const run = () => recorder.change(life, key, expected, undefined, () => backend.remove(key, expected))
            return stage.pass(step('write', `remove ${key}`, run))
          },
          claim: (key, sessionId, ttlMs) => backend.claim(key, sessionId, ttlMs),
          close: () => backend.close(),
        }),
      )
    },
  }
}

/** The store of an engine: its calls are recorded before they do anything. */
function expecting(life: Life, recorder: Recorder<StoredRecord>, store: SessionStore): SessionStore {
  const touch = (sessionId: string): void => {
    if (!life.isGone) recorder.touches.push({ life, sessionId, tick: recorder.timeline.tick() })
  }
  return {
    ...optionalOperationsOf(store),
    guarantees: store.guarantees,
    load(sessionId) {
      touch(sessionId)
      return store.load(sessionId)
    },
    create(document) {
      touch(document.id)
      recorder.expect(document)
      return store.create(document)
    },
    save(document, expected, hint) {
      touch(document.id)
      recorder.expect(document, hint)
      return store.save(document, expected, hint)
    },
    delete(sessionId, expected) {
      touch(sessionId)
      return store.delete(sessionId, expected)
    },
    close: () => store.close(),
  }
}
