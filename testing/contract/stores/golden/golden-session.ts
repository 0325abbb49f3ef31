/**
 * Stored sessions of every layout, byte for byte as a release wrote them, and how that of this release was written:
 * `WRITE_GOLDEN=1` with golden.test.ts writes the files that are missing. A file that exists is never written again.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Keyv } from 'keyv'
import type { Message, SessionDocument, SessionSaveHint } from '../../../../src/index.js'
import { shareList } from '../../../../src/session/lists/shared-lists.js'
import { KeyvSessionStore } from '../../../../src/stores/keyv/keyv-session-store.js'
import { FakeDriver } from '../fake-driver.js'
import { newSession, turnOn } from '../turns.js'

/** One session as a file holds it. */
export interface GoldenSession {
  readonly revision: string
  /** The texts of a backend. */
  readonly head: string
  readonly chunks: Readonly<Record<string, string>>
  /** What a load must give. */
  readonly document: SessionDocument
}

/** The ID of each of them. */
export const goldenId = 'golden'

function fileOf(layout: number): URL {
  return new URL(`./layout-${layout}.json`, import.meta.url)
}

/** The stored session of a layout. */
export function readGolden(layout: number): GoldenSession {
  return JSON.parse(readFileSync(fileOf(layout), 'utf8')) as GoldenSession
}

/** The layout of a head. */
export function layoutOf({ head }: { readonly head: string }): number {
  return (JSON.parse(head) as { layout: number }).layout
}

/** Writes the file of the layout that this release stores, unless it is there. */
export async function writeGolden(): Promise<void> {
  const driver = new FakeDriver()
  const store = new KeyvSessionStore({ keyv: new Keyv(), driver })
  const document = await talk(store)
  const [record] = driver.records.values()
  if (record === undefined) throw new Error('Nothing was stored.')
  const { revision, head } = record
  const file = fileOf(layoutOf(record))
  const golden: GoldenSession = { revision, head, chunks: Object.fromEntries(record.chunks), document }
  if (!existsSync(file)) writeFileSync(file, `${JSON.stringify(golden, null, 2)}\n`)
}

/**
 * Seven turns in two namespaces, one of which is rewritten after the fifth, and a save that cuts lists and has every
 * other one. Returns what is stored in the end.
 */
async function talk(store: KeyvSessionStore): Promise<SessionDocument> {
  let document = newSession(goldenId)
  await store.create(document)
  for (let turn = 1; turn <= 7; turn++) {
    const namespace = turn % 3 === 0 ? 'Plan' : 'Ask'
    const next = turnOn(document, `${turn + 1}-golden`, `Größe ${turn}: "5 €" 👋\n`, namespace)
    await store.save(next.document, document.revision, next.hint)
    document = next.document
    if (turn === 5) document = await rewriteAsk(store, document)
  }
  return cutLists(store, document)
}

/** A turn whose document is one of version 2, cut in the middle of a chunk, with every other list. */
async function cutLists(store: KeyvSessionStore, before: SessionDocument): Promise<SessionDocument> {
  const { document, expectedRevision, hint } = turnOn(before, '9-golden', 'Is it this one?')
  const { flow } = document
  const messages = shareList((flow.memory.Ask?.messages ?? []).slice(1))
  const lists = {
    attachments: shareList([Object.freeze({ id: 'photo-1', turn: 8, data: 'iVBORw0KGgo=' })]),
    receipts: shareList([Object.freeze({ key: 'digest of a key', request: 'digest of a request', turn: 8 })]),
    effects: { 'charge card': { begunAt: '2026-01-01T00:00:00.000Z', attempts: 1, result: { id: 7 } } },
  }
  const cut = {
    ...document,
    ...lists,
    version: 2,
    turns: 8,
    history: shareList(document.history.slice(3).map((entry) => Object.freeze({ ...entry, id: `turn-${entry.turn}` }))),
    flow: { ...flow, contentType: 'text/markdown', memory: { ...flow.memory, Ask: { messages } } },
  } as SessionDocument
  await store.save(cut, expectedRevision, {
    appended: { ...hint.appended, attachments: 1, receipts: 1 },
    removed: { 'memory:Ask': 1 },
    rewritten: ['history'],
  })
  return cut
}

/** A save as a summary makes it: one message in place of the oldest. */
async function rewriteAsk(store: KeyvSessionStore, before: SessionDocument): Promise<SessionDocument> {
  const { flow } = before
  const summary: Message = {
    role: 'assistant',
    parts: [{ type: 'text', text: 'What was said.' }],
    turn: 1,
    summary: true,
  }
  const messages = shareList([Object.freeze(summary), ...(flow.memory.Ask?.messages ?? []).slice(-2)])
  const hint: SessionSaveHint = { appended: {}, rewritten: ['memory:Ask'] }
  const memory = { ...flow.memory, Ask: { messages } }
  const document: SessionDocument = { ...before, revision: '7-summary', flow: { ...flow, memory } }
  await store.save(document, before.revision, hint)
  return document
}
