import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Message, MessagePart } from '../index.js'
import { removableCount } from './message-cut.js'

function said(role: Message['role'], turn: number, ...parts: MessagePart[]): Message {
  return { role, turn, parts: parts.length > 0 ? parts : [{ type: 'text', text: `${role} ${turn}` }] }
}

const call = (toolCallId: string): MessagePart => ({ type: 'tool-call', toolCallId, toolName: 'note', input: {} })
const result = (toolCallId: string): MessagePart => ({
  type: 'tool-result',
  toolCallId,
  toolName: 'note',
  output: 'Done.',
})

/** Turns of two messages, then one with two calls in one message. */
const talk: readonly Message[] = [
  said('user', 1),
  said('assistant', 1),
  said('user', 2),
  said('assistant', 2),
  said('user', 3),
  said('assistant', 3, call('a'), call('b')),
  said('tool', 3, result('a')),
  said('tool', 3, result('b')),
  said('assistant', 3),
]

describe('the cut', () => {
  test.each([
    [1, 4],
    [4, 4],
    [5, 4],
    [6, 2],
    [7, 2],
    [8, 0],
    [9, 0],
    [100, 0],
  ])('with %i messages to keep removes %i', (keep, removed) => {
    expect(removableCount(talk, keep)).toBe(removed)
  })

  test('is before the beginning of a turn, rather than before a message of the user inside one', () => {
    const retried = [said('user', 1), said('assistant', 1), said('user', 2), said('assistant', 2), said('user', 2)]
    expect(removableCount([...retried, said('assistant', 2)], 1)).toBe(2)
  })

  test('is before a message of the user inside a turn if there is no other place', () => {
    const once = [said('user', 1), said('assistant', 1), said('user', 1), said('assistant', 1), said('user', 1)]
    expect(removableCount(once, 1)).toBe(4)
    expect(removableCount(once, 2)).toBe(2)
  })

  test('is not between a call and its result, even if a message of the user is between them', () => {
    const interrupted = [
      said('user', 1),
      said('assistant', 1, call('a')),
      said('user', 2),
      said('tool', 2, result('a')),
      said('user', 3),
    ]
    expect(removableCount(interrupted, 1)).toBe(4)
    expect(removableCount(interrupted, 2)).toBe(0)
  })

  test('is found if IDs of calls are used again in each turn', () => {
    const turns = [1, 2, 3].flatMap((turn) => [
      said('user', turn),
      said('assistant', turn, call('call_0'), call('call_0')),
      said('tool', turn, result('call_0')),
      said('tool', turn, result('call_0')),
      said('assistant', turn),
    ])
    expect(removableCount(turns, 1)).toBe(10)
    expect(removableCount(turns, 6)).toBe(5)
  })

  test.each([
    ['an empty list', []],
    ['one message', [said('user', 1)]],
    ['no message of the user', [said('assistant', 1), said('assistant', 2), said('assistant', 3)]],
    ['a result without a call', [said('user', 1), said('user', 2), said('tool', 2, result('lost'))]],
  ])('is nowhere in %s', (_what, messages) => {
    expect(removableCount(messages, 1)).toBe(0)
  })
})

/** Conversations as an engine creates them, and others: results may come late, and IDs may be used again. */
const conversations = fc
  .array(
    fc.record({
      kind: fc.constantFrom('user', 'assistant', 'call', 'result', 'next turn'),
      id: fc.constantFrom('a', 'b', 'c', 'd'),
    }),
    { maxLength: 60 },
  )
  .map((steps) => {
    const messages: Message[] = []
    const open: string[] = []
    let turn = 1
    for (const { kind, id } of steps) {
      if (kind === 'next turn') turn++
      else if (kind === 'user' || kind === 'assistant') messages.push(said(kind, turn))
      else if (kind === 'call' && !open.includes(id)) {
        open.push(id)
        messages.push(said('assistant', turn, call(id)))
      } else if (kind === 'result' && open.length > 0) {
        messages.push(said('tool', turn, result(open.shift() ?? '')))
      }
    }
    while (open.length > 0) messages.push(said('tool', turn, result(open.shift() ?? '')))
    return messages
  })

/** Whether every result has its call before it, and every call its result after it. */
function hasWholePairs(messages: readonly Message[]): boolean {
  const open = new Set<string>()
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (part.type === 'tool-call') open.add(part.toolCallId)
    if (part.type === 'tool-result' && !open.delete(part.toolCallId)) return false
  }
  return open.size === 0
}

test('the cut separates no call from its result, keeps enough messages, is before a message of the user, and removes as many as possible', () => {
  fc.assert(
    fc.property(conversations, fc.integer({ min: 1, max: 30 }), (messages, keep) => {
      const cut = removableCount(messages, keep)
      const isPossible = (index: number): boolean =>
        messages[index]?.role === 'user' &&
        messages.length - index >= keep &&
        hasWholePairs(messages.slice(0, index)) &&
        hasWholePairs(messages.slice(index))
      const beginsTurn = (index: number): boolean => messages[index]?.turn !== messages[index - 1]?.turn
      const possible = messages.map((_, index) => index).filter((index) => index > 0 && isPossible(index))
      const wanted = possible.filter(beginsTurn).at(-1) ?? possible.at(-1) ?? 0
      expect(cut).toBe(wanted)
    }),
    { numRuns: 2_000 },
  )
})
