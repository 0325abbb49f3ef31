/**
 * What an encryption that binds each text to its place refuses, as tests over a real backend: somebody who can write to
 * the database, and has no key, puts stored texts somewhere else. And the one thing that it cannot notice.
 */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { SessionDocument, SessionStore } from '../../../src/index.js'
import { newSession, turnOn } from './turns.js'

/** What the cases need of a backend. */
export interface MovedTextBackend {
  /** A store with the encryption, as a process that was just started has it. */
  open(): Promise<SessionStore>
  /** Everything that is stored of a session, past the store: `revision`, `head`, and each chunk by its name. */
  texts(sessionId: string): Promise<Record<string, string>>
  /** Puts texts in the place of the stored ones, past the store. */
  put(sessionId: string, texts: Readonly<Record<string, string>>): Promise<void>
}

/** Registers the cases. */
export function movedTextCases(backend: () => MovedTextBackend): void {
  async function withStore<T>(work: (store: SessionStore) => Promise<T>): Promise<T> {
    const store = await backend().open()
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  }

  /** A session of two turns, and what was stored of it after each. The revisions are the same for every session. */
  async function twoTurns() {
    const id = randomUUID()
    const first = turnOn(newSession(id), '1-a', `first of ${id}`)
    const second = turnOn(first.document, '2-b', `second of ${id}`)
    return withStore(async (store) => {
      await store.create(first.document)
      const before = await backend().texts(id)
      await store.save(second.document, '1-a', second.hint)
      return { id, first: first.document, before, after: await backend().texts(id) }
    })
  }

  /** Puts texts into a session, and expects that it is refused, with these words, and not changed. */
  async function expectRefused(id: string, moved: Readonly<Record<string, string>>, problem: string): Promise<void> {
    await backend().put(id, moved)
    const stored = await backend().texts(id)
    await expect(withStore((store) => store.load(id))).rejects.toMatchObject({
      code: 'SESSION_FLOW_INVARIANT',
      message: `Session '${id}' is malformed: ${problem}.`,
    })
    expect(await backend().texts(id)).toEqual(stored)
  }

  test('an older head under the newer revision is refused', async () => {
    const { id, before } = await twoTurns()
    await expectRefused(id, { head: before.head ?? '' }, 'its head cannot be read')
  })

  test('the newer head under the older revision is refused', async () => {
    const { id } = await twoTurns()
    await expectRefused(id, { revision: '1-a' }, 'its head cannot be read')
  })

  test('the head of another session is refused', async () => {
    const [{ id }, { after }] = [await twoTurns(), await twoTurns()]
    await expectRefused(id, { head: after.head ?? '' }, 'its head cannot be read')
  })

  test('a chunk of another session is refused, even if its revision is the same', async () => {
    const [{ id }, { after }] = [await twoTurns(), await twoTurns()]
    await expectRefused(id, { 'history#1': after['history#1'] ?? '' }, 'chunk 1 of its list history cannot be read')
  })

  test('a chunk of another list is refused', async () => {
    const { id, after } = await twoTurns()
    const moved = { 'memory:Ask#0': after['history#0'] ?? '' }
    await expectRefused(id, moved, 'chunk 0 of its list memory:Ask cannot be read')
  })

  test("two chunks of one save in each other's place are refused", async () => {
    const id = randomUUID()
    const { document } = turnOn(newSession(id), '1-a')
    const history = Array.from({ length: 3_000 }, (_, index) => ({ ...document.history[0], message: `${index}` }))
    await withStore((store) => store.create({ ...document, history } as unknown as SessionDocument))
    const { 'history#1': one = '', 'history#2': two = '' } = await backend().texts(id)
    await expectRefused(id, { 'history#1': two, 'history#2': one }, 'chunk 2 of its list history cannot be read')
  })

  test('an older chunk of the same name is refused', async () => {
    const { id, before } = await twoTurns()
    await withStore(async (store) => {
      const loaded = await store.load(id)
      if (loaded === undefined) throw new Error('Nothing is stored.')
      // Without a hint the lists are written whole, from their first chunk on.
      await store.save(turnOn(loaded, '3-c').document, '2-b')
    })
    await expectRefused(id, { 'history#0': before['history#0'] ?? '' }, 'chunk 0 of its list history cannot be read')
  })

  test('a whole session that is put back, with its revision, is not noticed', async () => {
    const { id, first, before } = await twoTurns()
    await backend().put(id, before)
    expect(await withStore((store) => store.load(id))).toEqual(first)
  })
}
