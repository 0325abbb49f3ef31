import { expect, test } from 'vitest'
import { followChunks } from './chunks.js'

const chunk = { previous: '', revision: '1-a', entries: ['one'] }
const next = { previous: '1-a', revision: '2-b', entries: ['two'] }
const head = { name: 'history', chunks: 2, entries: 2, tip: '2-b' }

test('chunks that end where the head says make the list', () => {
  expect(followChunks(undefined, head, [chunk, next], 20)).toMatchObject({ entries: ['one', 'two'], tip: '2-b' })
})

test.each([
  ['another tip than the head names', { ...head, tip: '2-c' }, [chunk, next]],
  ['fewer chunks', head, [chunk]],
  ['another number of entries', { ...head, entries: 3 }, [chunk, next]],
  ['a chunk of another list', head, [chunk, { ...next, previous: '1-z' }]],
])('chunks with %s do not make the list', (_what, described, chunks) => {
  expect(followChunks(undefined, described, chunks, 20)).toBeUndefined()
})
