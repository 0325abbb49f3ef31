// Sessions that earlier releases stored are read, and continued, by this one.
//
// WRITE_GOLDEN=1  writes the files of this release, if it stores another layout than those that are there.
import { expect, test } from 'vitest'
import type { Message, ModelRequest, SessionDocument, SessionStore } from '../../../src/index.js'
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

/** Every layout that was ever released. */
const stores: readonly (readonly [string, () => SessionStore])[] = [
  ['document of version 1', () => textStoreOf(readDocument(1), JSON.parse(readDocument(1)).revision)],
  ['Keyv session of layout 1', () => keyvStoreOver(backendOf(readKeyvSession(1)))],
  ['Keyv session of layout 2', () => keyvStoreOver(backendOf(readKeyvSession(2)))],
]

test('each layout that this release writes has a golden file', () => {
  expect(JSON.parse(readDocument(sessionLayoutVersion)).version).toBe(sessionLayoutVersion)
  expect(JSON.parse(readDocumentOfParts(sessionLayoutVersion)).version).toBe(sessionLayoutVersion)
  expect(JSON.parse(readKeyvSession(storedLayoutVersion).head).layout).toBe(storedLayoutVersion)
})

test('messages with every type of part are loaded whole, and the model receives them again', async () => {
  const stored = JSON.parse(readDocumentOfParts(1)) as SessionDocument
  const store = textStoreOf(readDocumentOfParts(1), stored.revision)
  const asked: (readonly Message[])[] = []
  const generate = async ({ messages }: ModelRequest) => {
    asked.push(messages)
    return { parts: [{ type: 'text' as const, text: 'It is.' }] }
  }
  const resolve = () => ({ provider: 'counting', name: 'counting', generate })
  const engine = goldenEngine(store, {}, { provider: 'counting', resolve })
  expect(await engine.getSession(goldenId)).toEqual(stored)
  const messages = stored.flow.memory.Chat?.messages ?? []
  const types = messages.flatMap(({ parts }) => parts.map(({ type }) => type))
  expect([...new Set(types)].sort()).toEqual(['file', 'image', 'reasoning', 'text', 'tool-call', 'tool-result'])
  expect(messages.filter(({ role }) => role === 'user').map(({ parts }) => parts)).toEqual([
    [{ type: 'text', text: talkOfParts[0]?.userMessage }, ...(talkOfParts[0]?.attachments ?? [])],
    talkOfParts[1]?.attachments,
  ])
  const { success } = await engine.run({ flowName: 'Golden', userMessage: 'Is it?', sessionId: goldenId })
  expect(success).toBe(true)
  expect(asked[0]?.slice(0, -1)).toEqual(messages)
  const after = (await goldenEngine(store).getSession(goldenId)) as SessionDocument
  expect(after.flow.memory.Chat?.messages.slice(0, -2)).toEqual(messages)
  expect(after.history).toHaveLength(stored.history.length + 1)
})

test.each(stores)('a %s is loaded whole, and gone on with', async (_name, makeStore) => {
  const store = makeStore()
  const engine = goldenEngine(store)
  const before = (await engine.getSession(goldenId)) as SessionDocument
  expect(before).toEqual(JSON.parse(readDocument(1)))
  expect(before.history.map(({ message }) => message)).toEqual(goldenTalk)
  expect(before.flow.memory.Chat?.messages).toHaveLength(6)
  const input = { flowName: 'Golden', sessionId: goldenId }
  for (const userMessage of ['go on', 'move again']) {
    expect(await engine.run({ ...input, userMessage })).toMatchObject({ success: true, session: goldenId })
  }
  const after = (await goldenEngine(store).getSession(goldenId)) as SessionDocument
  expect(after.history.slice(0, 4)).toEqual(before.history)
  expect(after.history.map(({ turn, message }) => [turn, message]).slice(4)).toEqual([
    [5, 'go on'],
    [6, 'move again'],
  ])
  expect(after.flow.memory.Chat?.messages.slice(0, 6)).toEqual(before.flow.memory.Chat?.messages)
  expect(after.flow.context).toEqual(before.flow.context)
  expect(after.flow.steps.Ask).toEqual(before.flow.steps.Ask)
  expect(await engine.deleteSession(goldenId)).toMatchObject({ success: true })
  expect(await store.load(goldenId)).toBeUndefined()
})
