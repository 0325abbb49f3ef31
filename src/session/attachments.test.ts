import { describe, expect, test } from 'vitest'
import { documentOf } from '../../testing/contract/session-bench.js'
import type { FilePart, ImagePart, StoredMessage } from '../model/message.js'
import {
  attachmentId,
  describeRemoved,
  findIn,
  isReference,
  moveBytes,
  referenceTo,
  withAttachments,
} from './attachments.js'
import { bytesOfLists } from './document-bytes.js'
import { isSharedList } from './lists/shared-lists.js'
import type { SessionDocument } from './session-document.js'

const photo: ImagePart = { type: 'image', mediaType: 'image/png', data: 'aGk=' }
const manual: FilePart = { type: 'file', mediaType: 'application/pdf', data: 'JVBERg==', name: 'a.pdf' }
const linked: FilePart = { type: 'file', mediaType: 'text/csv', url: 'https://files.example/a.csv' }

function userMessage(turn: number, ...parts: StoredMessage['parts']): StoredMessage {
  return { role: 'user', parts: [{ type: 'text', text: 'Look.' }, ...parts], turn }
}

/** A session with these memories, with their bytes counted. */
function sessionOf(
  memories: Record<string, readonly StoredMessage[]>,
  more: Partial<SessionDocument> = {},
): SessionDocument {
  const { flow, ...rest } = documentOf('s-1', '1-a', more)
  const memory = Object.fromEntries(Object.entries(memories).map(([name, messages]) => [name, { messages }]))
  const document = { ...rest, flow: { ...flow, memory } }
  return { ...document, bytes: bytesOfLists(document) }
}

const partsOf = ({ flow }: SessionDocument, namespace = 'Ask') =>
  flow.memory[namespace]?.messages.map(({ parts }) => parts.slice(1))

describe('a reference', () => {
  test('describes its part, has no bytes, and is frozen', () => {
    expect(referenceTo(photo, '3-0')).toEqual({ type: 'image', mediaType: 'image/png', attachment: '3-0' })
    const reference = referenceTo(manual, attachmentId(3, 1))
    expect(reference).toEqual({ type: 'file', mediaType: 'application/pdf', name: 'a.pdf', attachment: '3-1' })
    expect([isReference(reference), isReference(manual), Object.isFrozen(reference)]).toEqual([true, false, true])
  })

  test('to stored bytes becomes the part that was sent; an address, and a message without either, do not change', () => {
    const messages = [userMessage(3, referenceTo(photo, '3-0'), linked, referenceTo(manual, '3-1')), userMessage(4)]
    const find = findIn([
      { id: '3-0', turn: 3, data: 'aGk=' },
      { id: '3-1', turn: 3, data: 'JVBERg==' },
    ])
    const read = withAttachments(messages, find)
    expect(read[0]).toEqual(userMessage(3, photo, linked, manual))
    expect(read[0]?.parts[2]).toBe(linked)
    expect(read[1]).toBe(messages[1])
    expect([read[0], read[0]?.parts, read[0]?.parts[1]].map(Object.isFrozen)).toEqual([true, true, true])
  })

  test('to removed bytes becomes a text that describes them', () => {
    const text = (what: string) => ({
      type: 'text',
      text: `[The user sent ${what} here. It is no longer available.]`,
    })
    const read = withAttachments([userMessage(3, referenceTo(photo, '3-0'), referenceTo(manual, '3-1'))], findIn([]))
    expect(read[0]?.parts.slice(1)).toEqual([
      text('an image of type image/png'),
      text("a file 'a.pdf' of type application/pdf"),
    ])
    expect(describeRemoved({ ...referenceTo(manual, '3-1'), name: 'b' })).toContain("'b'")
  })
})

describe('moveBytes', () => {
  test('puts references in place of bytes, oldest turn first, and counts the bytes of all lists', () => {
    const document = sessionOf({
      Ask: [userMessage(2, photo, linked), userMessage(3)],
      Other: [userMessage(1, manual)],
    })
    const text = JSON.stringify(document)
    const moved = moveBytes(document)
    expect(moved.attachments).toEqual([
      { id: '1-0', turn: 1, data: 'JVBERg==' },
      { id: '2-0', turn: 2, data: 'aGk=' },
    ])
    expect(partsOf(moved)).toEqual([[referenceTo(photo, '2-0'), linked], []])
    expect(partsOf(moved, 'Other')).toEqual([[referenceTo(manual, '1-0')]])
    expect(moved.bytes).toBe(bytesOfLists(moved))
    expect(JSON.stringify(document)).toBe(text)
    const lists = [moved.attachments, moved.flow.memory.Ask?.messages, moved.flow.memory.Other?.messages]
    expect(lists.map((list) => isSharedList(list ?? []))).toEqual([true, true, true])
    // Parts that did not have to change are identical.
    expect([moved.history, moved.flow.memory.Ask?.messages[1]]).toEqual([
      document.history,
      document.flow.memory.Ask?.messages[1],
    ])
    expect(moved.flow.memory.Ask?.messages[1]).toBe(document.flow.memory.Ask?.messages[1])
  })

  test('stores the same bytes of one turn once, even for several memories, and separately for another turn', () => {
    const moved = moveBytes(
      sessionOf({ Ask: [userMessage(1, photo), userMessage(2, photo)], Other: [userMessage(1, photo)] }),
    )
    expect(moved.attachments?.map(({ id }) => id)).toEqual(['1-0', '2-0'])
    expect([partsOf(moved), partsOf(moved, 'Other')]).toEqual([
      [[referenceTo(photo, '1-0')], [referenceTo(photo, '2-0')]],
      [[referenceTo(photo, '1-0')]],
    ])
    expect(moved.bytes).toBe(bytesOfLists(moved))
  })

  test('returns a document without bytes unchanged, and does not touch namespaces without bytes', () => {
    const document = { ...sessionOf({ Ask: [userMessage(1, linked, referenceTo(photo, '1-0'))] }), attachments: [] }
    expect(moveBytes(document)).toBe(document)
    const mixed = sessionOf({ Ask: [userMessage(1, photo)], Other: [userMessage(1)] })
    expect(moveBytes(mixed).flow.memory.Other).toBe(mixed.flow.memory.Other)
  })

  test('adds an attachments list if the messages refer to attachments', () => {
    const { attachments: _, ...document } = sessionOf({ Ask: [userMessage(1, referenceTo(photo, '1-0'))] })
    expect(moveBytes(document)).toEqual({ ...document, attachments: [] })
    const plain = sessionOf({ Ask: [userMessage(1)] })
    expect(moveBytes(plain)).toBe(plain)
  })

  test('does not reuse an ID that a message still refers to, although its bytes were removed', () => {
    // The flow's `onRestore` put the second of two photos back, from an archive.
    const document = sessionOf(
      {
        Ask: [
          userMessage(5, referenceTo(photo, '5-0'), { ...photo, data: 'SGk=' }),
          userMessage(6, referenceTo(photo, '6-0')),
        ],
      },
      { attachments: [{ id: '6-0', turn: 6, data: 'aGk=' }] },
    )
    const moved = moveBytes(document)
    expect(moved.attachments).toEqual([
      { id: '5-1', turn: 5, data: 'SGk=' },
      { id: '6-0', turn: 6, data: 'aGk=' },
    ])
    const read = withAttachments(moved.flow.memory.Ask?.messages ?? [], findIn(moved.attachments ?? []))
    expect(read[0]?.parts.map(({ type }) => type)).toEqual(['text', 'text', 'image'])
  })

  test('keeps a namespace named __proto__', () => {
    const document = JSON.parse(
      JSON.stringify(sessionOf({ Ask: [userMessage(1, photo)] })).replace(
        '"Ask":{"messages"',
        '"__proto__":{"messages"',
      ),
    )
    expect(Object.keys(moveBytes(document).flow.memory)).toEqual(['__proto__'])
  })
})
