import { describe, expect, test } from 'vitest'
import { documentOf } from '../../testing/contract/session-bench.js'
import { deepFreeze } from '../json.js'
import { decodeSession } from './session-codec.js'
import { isSharedList, shareList } from './shared-lists.js'

describe('decodeSession', () => {
  test('freezes the lists and vouches for them; the head stays open', () => {
    const document = decodeSession(documentOf('s-1', '1-a'), 's-1')
    const { messages } = document.flow.memory.Ask ?? { messages: [] }
    expect([isSharedList(document.history), isSharedList(messages)]).toEqual([true, true])
    expect(() => Object.assign(document.history[0] as object, { reply: 'changed' })).toThrow(TypeError)
    expect(() => Object.assign(messages[0]?.parts[0] as object, { text: 'changed' })).toThrow(TypeError)
    expect(Object.isFrozen(document.flow.context)).toBe(false)
  })

  test('a list that was checked before is not walked through again', () => {
    const neverChecked = shareList([{ turn: 'one' }])
    const document = { ...documentOf('s-1', '1-a'), history: neverChecked }
    expect(decodeSession(document, 's-1').history).toBe(neverChecked)
  })

  test('takes a document that a store returned frozen', () => {
    expect(decodeSession(deepFreeze(documentOf('s-1', '1-a')), 's-1')).toEqual(documentOf('s-1', '1-a'))
  })
})
