// Two documents as a tree of changes, and two turns by the fields in which they differ.
import { expect, test } from 'vitest'
import type { StoredTurn } from '../api/types.js'
import { changesOf, differencesOf } from './differences.js'

test('changes are a tree, in which a field that is undefined is not there', () => {
  const before = { same: 1, gone: [1], text: 'a', list: [1, { deep: null }], none: undefined }
  const after = { same: 1, text: 'b', list: [1, { deep: {} }, 3], none: undefined, late: undefined }
  expect(changesOf(before, after)).toEqual([
    { key: 'gone', kind: 'removed', before: [1] },
    { key: 'text', kind: 'changed', before: 'a', after: 'b' },
    {
      key: 'list',
      kind: 'changed',
      children: [
        { key: '1', kind: 'changed', children: [{ key: 'deep', kind: 'changed', before: null, after: {} }] },
        { key: '2', kind: 'added', after: 3 },
      ],
    },
  ])
  expect(changesOf(undefined, { a: 1 })).toEqual([{ key: 'a', kind: 'added', after: 1 }])
  expect(changesOf({ a: { b: undefined } }, { a: {} })).toEqual([])
})

const turn: StoredTurn = {
  input: { text: 'Hello' },
  at: 1,
  reply: 'Hello!',
  contentType: 'text/plain',
  step: 'Ask',
  path: [],
  durationMs: 1,
  calls: [],
  models: [],
  document: { id: 'a', flow: { context: { size: 1 }, steps: { Ask: { state: {}, memory: 1 } } } } as never,
}

test.each<[string, object]>([
  ['message', { input: { text: 'Hi' } }],
  ['message', { input: { text: 'Hello', event: { name: 'note' } } }],
  ['reply', { reply: 'Hi!' }],
  ['reply', { contentType: 'text/markdown' }],
  ['reply', { error: { code: 'FLOW_ERROR', text: '', frames: [] } }],
  ['parts', { parts: [] }],
  ['step', { step: 'Pay' }],
  ['tools', { models: [{ answer: [{ type: 'tool-call', toolName: 'pay' }] }] }],
  ['state', { document: { flow: { context: { size: 2 }, steps: { Ask: { state: {} } } } } }],
  ['state', { document: { flow: { context: { size: 1 }, steps: { Ask: { state: { a: 1 } } } } } }],
])('a turn differs in its %s: %j', (field, change) => {
  expect(differencesOf(turn, { ...turn, ...change })).toEqual([field])
})

test('a turn does not differ in its times, its session, its path, or the words of a model before a tool', () => {
  const document = { id: 'b', flow: { context: { size: 1 }, steps: { Ask: { state: {}, memory: 2 } } } } as never
  const models = [{ answer: [{ type: 'text', text: 'Hm' }] }] as never
  expect(
    differencesOf(turn, { ...turn, at: 2, durationMs: 2, path: [{ step: 'Ask', level: 0 }], document, models }),
  ).toEqual([])
})
