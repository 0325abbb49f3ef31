import { describe, expect, test } from 'vitest'
import { documentOf } from '../../../testing/contract/session-bench.js'
import type { SessionDocument } from '../../session/session-document.js'
import { heapBytes } from './heap-bytes.js'

describe('the memory that a document takes', () => {
  test('grows with history and messages, and with context and states', () => {
    const base = heapBytes(documentOf('s', '1-a', { bytes: 1_000 }), 500)
    expect(heapBytes(documentOf('s', '1-a', { bytes: 101_000 }), 500) - base).toBe(200_000)
    expect(heapBytes(documentOf('s', '1-a', { bytes: 1_000 }), 100_500) - base).toBe(200_000)
  })

  test('measures context and states if their size is not given', () => {
    const document = documentOf('s', '1-a')
    const large = { ...document, flow: { ...document.flow, context: { text: 'x'.repeat(100_000) } } }
    expect(heapBytes(large) - heapBytes(document)).toBeGreaterThan(100_000)
    const other = { ...document, flow: { ...document.flow, context: { text: '' } } }
    expect(heapBytes(large, 0)).toBe(heapBytes(other, 0))
  })

  test('counts each object and list in contexts and states: two bytes of JSON take many bytes of memory', () => {
    const document = documentOf('s', '1-a')
    const objects = Array.from({ length: 1_000 }, () => ({}))
    const context = { ...document, flow: { ...document.flow, context: { objects } } }
    const steps = { ...document, flow: { ...document.flow, steps: { A: { state: { lists: objects.map(() => []) } } } } }
    expect(heapBytes(context, 0) - heapBytes(document, 0)).toBeGreaterThan(60_000)
    expect(heapBytes(steps, 0) - heapBytes(document, 0)).toBeGreaterThan(60_000)
  })

  test('counts an unfrozen context again, because it may have changed', () => {
    const document = documentOf('s', '1-a')
    const objects: object[] = []
    const changing = { ...document, flow: { ...document.flow, context: { objects } } } as unknown as SessionDocument
    const before = heapBytes(changing, 0)
    objects.push({}, {})
    expect(heapBytes(changing, 0) - before).toBe(2 * 64)
  })

  test.each<[string, unknown]>([
    ['no number of bytes', { bytes: undefined }],
    ['a text for a number', { bytes: 'many' }],
    ['less than nothing', { bytes: -1_000_000 }],
    ['no flow', { flow: undefined }],
    ['a flow that is null', { flow: null }],
  ])('is a whole number above 0 also for a document with %s', (_name, change) => {
    const bytes = heapBytes({ ...documentOf('s', '1-a'), ...(change as Partial<SessionDocument>) })
    expect(Number.isInteger(bytes)).toBe(true)
    expect(bytes).toBeGreaterThan(0)
  })
})
