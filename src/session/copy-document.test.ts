import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { documentOf } from '../../testing/contract/session-bench.js'
import { copyDocument, frozenCopy } from './copy-document.js'
import { shareList } from './lists/shared-lists.js'
import { decodeSession } from './session-codec.js'
import type { SessionDocument } from './session-document.js'

const throughJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

describe('the copy of a document', () => {
  test('equals a round trip through JSON, for any content', () => {
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
        const frozen = frozenCopy(document)
        expect(JSON.stringify(frozen)).toBe(JSON.stringify(document))
        expectFrozen(frozen)
        const next = frozenCopy({ ...frozen, flow: { ...frozen.flow, steps: {} } }, frozen)
        expect(JSON.stringify(next)).toBe(JSON.stringify({ ...frozen, flow: { ...frozen.flow, steps: {} } }))
        expectFrozen(next)
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
    expect(frozenCopy(document)).toEqual(throughJson(document))
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

describe('the frozen copy of a document', () => {
  test('shares only frozen lists with the document, and does not change it', () => {
    const document = documentOf('s', '1-a', { history: shareList([]) })
    const copy = frozenCopy(document)
    expect(copy.history).toBe(document.history)
    for (const part of [document, document.error, document.usage, document.flow, document.flow.context]) {
      expect(Object.isFrozen(part)).toBe(false)
    }
    ;(document.flow.context as { config: { language: string } }).config.language = 'de'
    expect(copy.flow.context).toEqual({ config: { language: 'en' } })
  })

  test('shares objects that are identical in the previous copy, at each level', () => {
    const first = frozenCopy(documentOf('s', '1-a'))
    const { flow } = first
    const steps = { ...flow.steps, Pay: { state: {} } }
    const second = frozenCopy({ ...first, usage: { ...first.usage }, flow: { ...flow, steps } }, first)
    expect(second.error).toBe(first.error)
    expect(second.history).toBe(first.history)
    expect(second.flow.context).toBe(flow.context)
    expect(second.flow.memory).toBe(flow.memory)
    expect(second.flow.steps.Ask).toBe(flow.steps.Ask)
    expect(second.usage).not.toBe(first.usage)
    expect(second.flow.steps.Pay).not.toBe(steps.Pay)
    expectFrozen(second)
  })

  test('does not mistake inherited properties for properties of the previous copy', () => {
    const first = frozenCopy(documentOf('s', '1-a'))
    const context = JSON.parse('{"constructor":{"a":1},"__proto__":{"b":2}}')
    const second = frozenCopy({ ...first, flow: { ...first.flow, context } }, first)
    expect(JSON.stringify(second.flow.context)).toBe(JSON.stringify(context))
    expectFrozen(second)
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

  test('changes and replacements in the copy do not affect the original', () => {
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

/** Expects a value to be deeply frozen. */
function expectFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  expect(Object.isFrozen(value)).toBe(true)
  for (const inner of Object.values(value)) expectFrozen(inner)
}
