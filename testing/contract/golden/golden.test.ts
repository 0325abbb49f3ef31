// Sessions that earlier releases stored are read, and continued, by this one.
//
// WRITE_GOLDEN=1  writes the files of this release, if it stores another layout than those that are there.
import { expect, test } from 'vitest'
import type { Message, ModelRequest, SessionDocument, SessionStore } from '../../../src/index.js'
import { findIn, withAttachments } from '../../../src/session/attachments.js'
import { bytesOfLists } from '../../../src/session/document-bytes.js'
import { sessionLayoutVersion } from '../../../src/session/session-document.js'
import { storedLayoutVersion } from '../../../src/stores/keyv/layout/head.js'
import {
  backendOf,
  goldenEngine,
  goldenId,
  goldenTalk,
  keyvStoreOver,
  readDocument,
  readDocumentOfParts,
  readKeyvSession,
  talkOfParts,
  textStoreOf,
  writeGoldenFiles,
} from './golden-files.js'

if (process.env.WRITE_GOLDEN === '1') test('writes the files that are not there', writeGoldenFiles)

/** Every layout of documents that was ever released, and of heads and chunks. */
const stores: readonly (readonly [string, number, () => SessionStore])[] = [
  ['document of version 2', 2, () => textStoreOf(readDocument(2), JSON.parse(readDocument(2)).revision)],
  ['Keyv session of layout 2', 2, () => keyvStoreOver(backendOf(readKeyvSession(2)))],
]

test('each layout that this release writes has a golden file', () => {
  expect(JSON.parse(readDocument(sessionLayoutVersion)).version).toBe(sessionLayoutVersion)
  expect(JSON.parse(readDocumentOfParts(sessionLayoutVersion)).version).toBe(sessionLayoutVersion)
  expect(JSON.parse(readKeyvSession(storedLayoutVersion).head).layout).toBe(storedLayoutVersion)
})

test.each([2])(
  'messages of version %d with every type of part are loaded whole, and the model receives them again',
  async (version) => {
    const text = readDocumentOfParts(version)
    const stored = JSON.parse(text) as SessionDocument
    const store = textStoreOf(text, stored.revision)
    const asked: (readonly Message[])[] = []
    const generate = async ({ messages }: ModelRequest) => {
      asked.push(messages)
      return { parts: [{ type: 'text' as const, text: 'It is.' }] }
    }
    const resolve = () => ({ provider: 'counting', name: 'counting', generate })
    const engine = goldenEngine(store, {}, { provider: 'counting', resolve })
    expect(await engine.getSession(goldenId)).toEqual(stored)
    const messages = stored.flow.memory.Chat?.messages ?? []
    // The document has references to the bytes that the model got.
    const sent = withAttachments(messages, findIn(stored.attachments ?? []))
    const types = sent.flatMap(({ parts }) => parts.map(({ type }) => type))
    expect([...new Set(types)].sort()).toEqual(['file', 'image', 'reasoning', 'text', 'tool-call', 'tool-result'])
    expect(sent.filter(({ role }) => role === 'user').map(({ parts }) => parts)).toEqual([
      [{ type: 'text', text: talkOfParts[0]?.userMessage }, ...(talkOfParts[0]?.attachments ?? [])],
      talkOfParts[1]?.attachments,
    ])
    const { success } = await engine.run({ flowName: 'Golden', userMessage: 'Is it?', sessionId: goldenId })
    expect(success).toBe(true)
    expect(asked[0]?.slice(0, -1)).toEqual(sent)
    const after = (await goldenEngine(store).getSession(goldenId)) as SessionDocument
    expect(after.flow.memory.Chat?.messages.slice(0, -2)).toEqual(messages)
    expect(after.attachments).toEqual([{ id: '2-0', turn: 2, data: 'UklGRg==' }])
    expect([after.version, after.turns, after.history.length]).toEqual([2, 3, 3])
    expect(after.bytes).toBe(bytesOfLists(JSON.parse(JSON.stringify(after))))
  },
)

test.each(stores)('a %s is loaded whole, and gone on with', async (_name, version, makeStore) => {
  const store = makeStore()
  const engine = goldenEngine(store)
  const before = (await engine.getSession(goldenId)) as SessionDocument
  expect(before).toEqual(JSON.parse(readDocument(version)))
  expect(before.history.map(({ message }) => message)).toEqual(goldenTalk)
  expect(before.flow.memory.Chat?.messages).toHaveLength(6)
  const input = { flowName: 'Golden', sessionId: goldenId }
  for (const userMessage of ['go on', 'move again']) {
    expect(await engine.run({ ...input, userMessage })).toMatchObject({ success: true, session: goldenId })
  }
  const after = (await goldenEngine(store).getSession(goldenId)) as SessionDocument
  expect([after.version, after.turns]).toEqual([2, 6])
  expect(after.history.slice(0, 4)).toEqual(before.history)
  expect(after.history.map(({ turn, id, message }) => [turn, typeof id, message]).slice(4)).toEqual([
    [5, 'string', 'go on'],
    [6, 'string', 'move again'],
  ])
  expect(after.flow.memory.Chat?.messages.slice(0, 6)).toEqual(before.flow.memory.Chat?.messages)
  expect(after.flow.context).toEqual(before.flow.context)
  expect(after.flow.steps.Ask).toEqual(before.flow.steps.Ask)
  expect(await engine.deleteSession(goldenId)).toMatchObject({ success: true })
  expect(await store.load(goldenId)).toBeUndefined()
})
