// Keyv stores over fake drivers, as tests of the store use them: each store is what one process has of it.
import { Keyv } from 'keyv'
import type { SessionDocument } from '../../../src/index.js'
import { decodeSession } from '../../../src/session/session-codec.js'
import { KeyvSessionStore, type KeyvSessionStoreOptions } from '../../../src/stores/keyv/keyv-session-store.js'
import type { FakeDriver } from './fake-driver.js'
import { newSession, type Turn, turnOn } from './turns.js'

type Options = Omit<KeyvSessionStoreOptions, 'keyv' | 'driver'>

/** A store as one process has it. */
export function processOver(driver: FakeDriver, options: Options = {}): KeyvSessionStore {
  return new KeyvSessionStore({ keyv: new Keyv(), driver, ...options })
}

export function save(store: KeyvSessionStore, { document, expectedRevision, hint }: Turn): Promise<void> {
  return store.save(document, expectedRevision, hint)
}

/** Loads as the engine does: checked. */
export async function load(store: KeyvSessionStore, id = 's'): Promise<SessionDocument> {
  return decodeSession(await store.load(id), id)
}

/** A session with turns behind it, in a store that knows it. */
export async function warm(
  driver: FakeDriver,
  turns = 2,
  options: Options = {},
): Promise<[KeyvSessionStore, SessionDocument]> {
  const store = processOver(driver, options)
  let document = newSession('s')
  await store.create(document)
  for (let count = 0; count < turns; count++) {
    const turn = turnOn(document, `${count + 2}-a`)
    await save(store, turn)
    document = turn.document
  }
  await load(store)
  driver.takeCalls()
  return [store, document]
}
