// Sessions with a summary in their memory, as a release stored them, are read and continued by this one.
//
// WRITE_GOLDEN=1  writes the files that are missing.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { rollingSummary } from '../../../src/compaction/index.js'
import { type FlowCompaction, FlowEngine, type SessionDocument, type SessionStore } from '../../../src/index.js'
import { VirtualClock } from '../../virtual-clock/virtual-clock.js'
import { countingProvider } from '../simulation/flows.js'
import type { FakeRecord } from '../stores/fake-driver.js'
import { TextStore } from '../text-store.js'
import { backendOf, type GoldenKeyvSession, goldenId, goldenKey, keyvStoreOver, textStoreOf } from './golden-files.js'
import { Golden } from './golden-flow.js'

class Short extends Golden {
  static override readonly compaction: FlowCompaction = {
    Chat: rollingSummary({ above: 6, keep: 2, model: { provider: 'counting', name: 'counting' } }),
  }
}

const talk = ['move on to the model', 'and more', 'still more', 'and on']

/** Says it all, each after the summary before it. */
async function sayAll(store: SessionStore, messages: readonly string[], sessionId?: string): Promise<void> {
  let count = 0
  const engine = new FlowEngine({
    flows: [Short],
    providers: [countingProvider],
    sessionStore: store,
    clock: new VirtualClock(),
    generateId: (kind) => (kind === 'session' ? goldenId : `${kind}${++count}`),
  })
  let id = sessionId ?? ''
  for (const userMessage of messages) {
    const response = await engine.run({ flowName: 'Golden', userMessage, sessionId: id })
    if (!response.success) throw new Error(response.message)
    id = response.session
    await engine.settled()
  }
}

const fileOf = (name: string): URL => new URL(`./${name}-summary.json`, import.meta.url)
const textOf = (name: string): string => readFileSync(fileOf(name), 'utf8').trimEnd()

async function writeFiles(): Promise<void> {
  const texts = new TextStore(new Map())
  const records = new Map<string, FakeRecord>()
  for (const store of [texts, keyvStoreOver(records)]) await sayAll(store, talk)
  const record = records.get(goldenKey) as FakeRecord
  const keyv = JSON.stringify({ ...record, chunks: Object.fromEntries(record.chunks) }, null, 2)
  for (const [name, text] of [
    ['document-2', texts.data.get(goldenId)?.text ?? ''],
    ['keyv-2', keyv],
  ] as const) {
    if (!existsSync(fileOf(name))) writeFileSync(fileOf(name), `${text}\n`)
  }
}

if (process.env.WRITE_GOLDEN === '1') test('writes the files that are not there', writeFiles)

test.each<[string, () => SessionStore]>([
  [
    'document of version 2',
    () => textStoreOf(textOf('document-2'), (JSON.parse(textOf('document-2')) as SessionDocument).revision),
  ],
  ['Keyv session of layout 2', () => keyvStoreOver(backendOf(JSON.parse(textOf('keyv-2')) as GoldenKeyvSession))],
])('a summary in a %s is loaded whole, and gone on with', async (_name, makeStore) => {
  const store = makeStore()
  const before = (await store.load(goldenId)) as SessionDocument
  expect(before).toEqual(JSON.parse(textOf('document-2')))
  const memory = before.flow.memory.Chat?.messages ?? []
  expect(memory.map(({ role, summary }) => [role, summary])).toEqual([
    ['user', true],
    ['user', undefined],
    ['assistant', undefined],
    ['user', undefined],
    ['assistant', undefined],
  ])
  await sayAll(store, ['go on'], goldenId)
  const after = (await store.load(goldenId)) as SessionDocument
  expect(after.history.slice(0, 4)).toEqual(before.history)
  expect(after.flow.memory.Chat?.messages[0]).toEqual({ ...memory[0], turn: 4 })
  expect(after.flow.memory.Chat?.messages).toHaveLength(3)
})
