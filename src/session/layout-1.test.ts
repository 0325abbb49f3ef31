import { describe, expect, test } from 'vitest'
import { documentOf, historyEntry } from '../../testing/contract/session-bench.js'
import { bytesOfLists } from './document-bytes.js'
import { toCurrentLayout, withCounts } from './layout-1.js'
import type { SessionDocument } from './session-document.js'

const photo = { type: 'image', mediaType: 'image/png', data: 'aGk=' } as const

/** A document of layout 1 with this message; an older release need not have counted it. */
function olderWith(...parts: SessionDocument['flow']['memory'][string]['messages'][number]['parts']): SessionDocument {
  const document = documentOf('s-1', '1-a', { version: 1, bytes: 7 })
  return { ...document, flow: { ...document.flow, memory: { Ask: { messages: [{ role: 'user', parts, turn: 1 }] } } } }
}

describe('toCurrentLayout', () => {
  test('is the document itself where it has this layout, bytes in its messages or not', () => {
    const document = { ...olderWith(photo), version: 2 }
    expect(toCurrentLayout(document)).toBe(document)
  })

  test('moves the bytes of layout 1', () => {
    const current = toCurrentLayout(olderWith(photo))
    expect([current.version, current.attachments?.map(({ data }) => data)]).toEqual([2, ['aGk=']])
    expect(current.flow.memory.Ask?.messages[0]?.parts).toEqual([
      { type: 'image', mediaType: 'image/png', attachment: '1-0' },
    ])
    expect(current.bytes).toBe(bytesOfLists(current))
  })

  test('shares every list where there are no bytes to move, and counts them anew', () => {
    const plain = olderWith({ type: 'text', text: 'Hello' })
    const current = toCurrentLayout(plain)
    expect([current.history === plain.history, current.flow === plain.flow]).toEqual([true, true])
    expect(current).toEqual({ ...plain, version: 2, bytes: bytesOfLists(plain) })
  })
})

describe('what layout 1 lacks', () => {
  const stored = (reply: object) => {
    const { turns: _, ...document } = documentOf('s-1', '1-a', { version: 1 })
    return { ...document, history: [historyEntry(1, 'One.'), { ...historyEntry(2, 'Two.'), ...reply }] }
  }

  test('comes from the history: the number of turns, and the content type of the last reply', () => {
    expect(withCounts(stored({ contentType: 'text/csv' }))).toMatchObject({
      turns: 2,
      flow: { contentType: 'text/csv' },
    })
  })

  test('does not include the content type of a last reply that was bytes', () => {
    const { flow } = withCounts(stored({ contentType: 'image/png', encoding: 'base64' })) as SessionDocument
    expect(flow).not.toHaveProperty('contentType')
  })
})
