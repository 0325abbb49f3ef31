import { describe, expect, test } from 'vitest'
import { documentOf } from '../../testing/contract/session-bench.js'
import { deepFreeze } from '../util/json.js'
import { extendList, isSharedList, shareList } from './lists/shared-lists.js'
import { decodeSession } from './session-codec.js'
import type { SessionDocument } from './session-document.js'

describe('decodeSession', () => {
  test('freezes the lists and marks them as checked; the head is not frozen', () => {
    const document = decodeSession(documentOf('s-1', '1-a'), 's-1')
    const { messages } = document.flow.memory.Ask ?? { messages: [] }
    expect([isSharedList(document.history), isSharedList(messages)]).toEqual([true, true])
    expect(() => Object.assign(document.history[0] as object, { reply: 'changed' })).toThrow(TypeError)
    expect(() => Object.assign(messages[0]?.parts[0] as object, { text: 'changed' })).toThrow(TypeError)
    expect(Object.isFrozen(document.flow.context)).toBe(false)
  })

  test('a list that was checked before is not checked again', () => {
    const neverChecked = shareList([{ turn: 'one' }])
    const document = { ...documentOf('s-1', '1-a'), history: neverChecked }
    expect(decodeSession(document, 's-1').history).toBe(neverChecked)
  })

  test('accepts a frozen document from a store', () => {
    expect(decodeSession(deepFreeze(documentOf('s-1', '1-a')), 's-1')).toEqual(documentOf('s-1', '1-a'))
  })
})

test('if a list extends a checked one, only the new part is checked', () => {
  const first = decodeSession(documentOf('s', '1-a'), 's')
  const entry = first.history[0] as SessionDocument['history'][number]
  const good = decodeSession({ ...first, history: extendList(first.history, [{ ...entry, turn: 2 }]) }, 's')
  expect(isSharedList(good.history)).toBe(true)
  const bad = { ...first, history: extendList(good.history, [{ ...entry, turn: 'three' } as never]) }
  expect(() => decodeSession(bad, 's')).toThrow(
    "Session 's' is malformed: history[2].turn is a string and not a count.",
  )
})
