import { describe, expect, test } from 'vitest'
import { documentOf } from '../../testing/contract/session-bench.js'
import { deepFreeze } from '../json.js'
import { copySession, decodeSession, freezeSession } from './session-codec.js'
import { isSharedList, shareList } from './shared-lists.js'

type Fields = Record<string, unknown>

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

describe('copySession', () => {
  test('copies the head and shares the lists', () => {
    const document = decodeSession(documentOf('s-1', '1-a'), 's-1')
    const copy = copySession(document)
    expect(copy).toEqual(document)
    expect(copy.history).toBe(document.history)
    expect(copy.flow.memory.Ask?.messages).toBe(document.flow.memory.Ask?.messages)
  })

  test('what is changed in the copy, or put in its place, is not changed in the original', () => {
    const document = decodeSession(documentOf('s-1', '1-a'), 's-1')
    const copy = copySession(document) as unknown as {
      error: string[]
      flow: { context: Fields; steps: Fields; memory: Record<string, Fields>; sequence: unknown[] }
    }
    copy.error.push('another')
    copy.flow.context.config = null
    Object.assign(copy.flow.steps.Ask as Fields, { state: {} })
    Object.assign(copy.flow.memory.Ask as Fields, { messages: [] })
    copy.flow.memory.New = { messages: [] }
    copy.flow.sequence.length = 0
    expect(document).toEqual(documentOf('s-1', '1-a'))
  })

  test('keeps keys named __proto__', () => {
    const text = JSON.stringify(documentOf('s-1', '1-a')).replaceAll('"Ask":{', '"__proto__":{')
    const copy = copySession(decodeSession(JSON.parse(text), 's-1'))
    expect(JSON.parse(JSON.stringify(copy))).toEqual(JSON.parse(text))
    expect(Object.keys(copy.flow.memory)).toEqual(['__proto__'])
    expect(Object.keys(copy.flow.steps)).toEqual(['__proto__'])
  })
})

describe('freezeSession', () => {
  test('leaves nothing in a document that can be changed', () => {
    const document = decodeSession(documentOf('s-1', '1-a'), 's-1')
    expect(freezeSession(document)).toBe(document)
    const open: string[] = []
    const walk = (value: unknown, path: string): void => {
      if (typeof value !== 'object' || value === null) return
      if (!Object.isFrozen(value)) open.push(path)
      for (const [key, inner] of Object.entries(value)) walk(inner, `${path}.${key}`)
    }
    walk(document, 'document')
    expect(open).toEqual([])
  })
})
