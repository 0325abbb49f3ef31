import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { documentOf } from '../../../testing/contract/session-bench.js'
import { decodeSession } from '../session-codec.js'
import type { SessionDocument } from '../session-document.js'
import { copyDocument, freezeLists } from './copy-document.js'
import { isFrozenList, isSharedList, shareList } from './shared-lists.js'

const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('the copy of a document', () => {
  test('is what JSON would carry, whatever was in it', () => {
    const odd = fc.constantFrom<unknown>(
      undefined,
      Number.NaN,
      -0,
      1e21,
      () => 1,
      new Date(0),
      Symbol('no'),
      Object.create(null),
    )
    const anything = fc.oneof(fc.jsonValue({ stringUnit: 'binary', maxDepth: 3 }), odd)
    const fields = fc.dictionary(fc.string({ unit: 'binary', maxLength: 4 }), anything)
    fc.assert(
      fc.property(fields, fields, fc.array(anything), (head, flow, error) => {
        const base = documentOf('s', '1-a')
        const document = { ...base, ...head, error, flow: { ...base.flow, ...flow } } as unknown as SessionDocument
        expect(JSON.stringify(copyDocument(document))).toBe(JSON.stringify(document))
        expect(copyDocument(document)).toEqual(throughJson(document))
      }),
      { numRuns: 300 },
    )
  })

  test.each([
    ['no flow', { flow: undefined }],
    ['a flow that is a text', { flow: 'x' }],
    ['a list for a flow', { flow: [1] }],
    ['a flow that says what its JSON is', { flow: { toJSON: () => ({ name: 'Booking' }) } }],
  ])('takes a document with %s as JSON does', (_name, change) => {
    const document = { ...documentOf('s', '1-a'), ...change } as unknown as SessionDocument
    expect(copyDocument(document)).toEqual(throughJson(document))
    expect(() => freezeLists(copyDocument(document))).not.toThrow()
  })

  test('keeps a key named __proto__', () => {
    const text = JSON.stringify(documentOf('s', '1-a')).replace('"config":', '"__proto__":')
    expect(text).toContain('__proto__')
    expect(JSON.stringify(copyDocument(JSON.parse(text)))).toBe(text)
  })

  test('shares frozen lists with the original, and nothing else', () => {
    const document = documentOf('s', '1-a', { history: shareList([]) })
    const copy = copyDocument(document)
    expect(copy.history).toBe(document.history)
    expect(copy.flow.memory.Ask?.messages).not.toBe(document.flow.memory.Ask?.messages)
    expect(copy.flow.memory.Ask).not.toBe(document.flow.memory.Ask)
    expect(copy.flow.context).not.toBe(document.flow.context)
    expect(copy.usage).not.toBe(document.usage)
    expect(copy.error).not.toBe(document.error)
  })
})

describe('freezing the lists', () => {
  test('freezes history, messages and sequence down to the last value, and vouches for none', () => {
    const document = freezeLists(copyDocument(documentOf('s', '1-a')))
    const lists = [document.history, document.flow.sequence, document.flow.memory.Ask?.messages ?? []]
    for (const list of lists) {
      expect(isFrozenList(list)).toBe(true)
      expect(isSharedList(list)).toBe(false)
      expect(Object.isFrozen(list[0])).toBe(true)
    }
    expect(Object.isFrozen(document.flow.memory.Ask?.messages[0]?.parts[0])).toBe(true)
    expect(Object.isFrozen(document)).toBe(false)
  })

  test.each(['history', 'flow.sequence', 'flow.memory', 'flow.memory.Ask'])('stands a document with no %s', (path) => {
    const document = throughJson(documentOf('s', '1-a')) as Record<string, unknown>
    const keys = path.split('.')
    const owner = keys.slice(0, -1).reduce((value, key) => value[key] as Record<string, unknown>, document)
    owner[keys.at(-1) as string] = null
    expect(() => freezeLists(document as unknown as SessionDocument)).not.toThrow()
  })
})

describe('the copy that a hook may change', () => {
  test('copies the head and shares the lists', () => {
    const document = decodeSession(documentOf('s-1', '1-a'), 's-1')
    const copy = copyDocument(document)
    expect(copy).toEqual(document)
    expect(copy.history).toBe(document.history)
    expect(copy.flow.memory.Ask?.messages).toBe(document.flow.memory.Ask?.messages)
  })

  test('what is changed in the copy, or put in its place, is not changed in the original', () => {
    const document = decodeSession(documentOf('s-1', '1-a'), 's-1')
    const copy = copyDocument(document) as unknown as {
      error: string[]
      flow: {
        context: Record<string, unknown>
        steps: Record<string, unknown>
        memory: Record<string, Record<string, unknown>>
        sequence: unknown[]
      }
    }
    copy.error.push('another')
    copy.flow.context.config = null
    Object.assign(copy.flow.steps.Ask as Record<string, unknown>, { state: {} })
    Object.assign(copy.flow.memory.Ask as Record<string, unknown>, { messages: [] })
    copy.flow.memory.New = { messages: [] }
    copy.flow.sequence = []
    expect(document).toEqual(documentOf('s-1', '1-a'))
  })

  test('keeps keys named __proto__', () => {
    const text = JSON.stringify(documentOf('s-1', '1-a')).replaceAll('"Ask":{', '"__proto__":{')
    const copy = copyDocument(decodeSession(JSON.parse(text), 's-1'))
    expect(JSON.parse(JSON.stringify(copy))).toEqual(JSON.parse(text))
    expect(Object.keys(copy.flow.memory)).toEqual(['__proto__'])
    expect(Object.keys(copy.flow.steps)).toEqual(['__proto__'])
  })
})
