import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { documentOf, historyEntry } from '../../../../testing/contract/session-bench.js'
import { ConversationMemory, message, textMessage } from '../../../flow/conversation-memory.js'
import type { Message, StoredMessage } from '../../../model/message.js'
import { GrowingList } from '../../../session/lists/growing-list.js'
import { entryBytes, listBytes, shareList } from '../../../session/lists/shared-lists.js'
import type { SessionAttachment, SessionDocument } from '../../../session/session-document.js'
import { type EngineLimits, resolveLimits } from '../../core/engine-limits.js'
import { RemovedEntries, type TurnLists, trimLists, trimToBytes } from './trim-lists.js'

const off = Number.POSITIVE_INFINITY
const noLimits = { maxHistoryTurns: off, maxHistoryBytes: off, maxMemoryBytes: off, attachmentTurns: off }

type HistoryEntry = SessionDocument['history'][number]

interface Given {
  readonly history?: readonly HistoryEntry[]
  readonly memory?: Record<string, readonly StoredMessage[]>
  readonly attachments?: readonly SessionAttachment[]
}

/** The lists at the end of turn `turn`, all of them used by it. The last entry of the history is that of the turn. */
function listsOf(turn: number, { history = [], memory = {}, attachments }: Given): TurnLists {
  const { flow } = documentOf('s-1', '1-a')
  const stored = Object.fromEntries(
    Object.entries(memory).map(([name, messages]) => [
      name,
      { messages: shareList(messages.filter((one) => one.turn !== turn)) },
    ]),
  )
  const kept = attachments === undefined ? {} : { attachments: shareList([...attachments]) }
  const opened = new ConversationMemory({ flow: { ...flow, memory: stored }, ...kept })
  for (const [name, messages] of Object.entries(memory)) {
    opened.open(name)
    for (const one of messages) if (one.turn === turn) opened.append(name, one)
  }
  const list = new GrowingList<HistoryEntry>(shareList(history.slice(0, -1)))
  for (const entry of history.slice(-1)) list.push(entry)
  return { turn, history: list, memory: opened }
}

function trim(
  turn: number,
  given: Given,
  limits: Partial<EngineLimits>,
): { lists: TurnLists; removed: RemovedEntries } {
  const [lists, removed] = [listsOf(turn, given), new RemovedEntries()]
  trimLists(lists, resolveLimits({ ...noLimits, ...limits }), removed)
  return { lists, removed }
}

const turnsOf = (list: readonly { readonly turn: number }[] = []): number[] => list.map(({ turn }) => turn)
const historyOf = (count: number, size = 0): HistoryEntry[] =>
  Array.from({ length: count }, (_, index) => historyEntry(index + 1, 'x'.repeat(size)))

/** A question and its answer. */
const talk = (turn: number, size = 1): Message[] => [
  textMessage('user', 'u'.repeat(size), turn),
  textMessage('assistant', 'a'.repeat(size), turn),
]
const call = (turn: number, ...ids: readonly string[]): Message =>
  message(
    'assistant',
    ids.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'look', input: {} })),
    turn,
  )
const result = (turn: number, ...ids: readonly string[]): Message =>
  message(
    'tool',
    ids.map((toolCallId) => ({ type: 'tool-result', toolCallId, toolName: 'look', output: 'Seen.' })),
    turn,
  )
const summary: Message = Object.freeze({ ...textMessage('user', 'So far: nothing.', 3), summary: true })

describe('the history', () => {
  test('stays as it is up to its limits', () => {
    const history = historyOf(8)
    const { lists, removed } = trim(8, { history }, { maxHistoryTurns: 8, maxHistoryBytes: listBytes(history) })
    expect([lists.history.length, removed.isEmpty]).toEqual([8, true])
    expect(lists.history.change).toEqual({ removed: 0, appended: 1, isRewritten: false })
  })

  test('of too many turns keeps three quarters of the limit, the newest ones', () => {
    const history = historyOf(9)
    const { lists, removed } = trim(9, { history }, { maxHistoryTurns: 8 })
    expect(turnsOf(lists.history.list)).toEqual([4, 5, 6, 7, 8, 9])
    expect(removed).toMatchObject({ history: history.slice(0, 3), attachments: [] })
    expect([removed.isEmpty, lists.history.change]).toEqual([false, { removed: 3, appended: 1, isRewritten: false }])
  })

  test('of too many bytes keeps three quarters of the limit', () => {
    const history = historyOf(9, 100)
    const bytes = entryBytes(history[0])
    const { lists } = trim(9, { history }, { maxHistoryBytes: 8 * bytes })
    expect(turnsOf(lists.history.list)).toEqual([4, 5, 6, 7, 8, 9])
    expect(lists.history.bytes).toBe(6 * bytes)
  })

  test.each([
    [1, [9]],
    [1.2, [9]],
    [2, [9]],
    [3, [8, 9]],
  ])('of at most %d turns keeps %j', (maxHistoryTurns, kept) => {
    expect(turnsOf(trim(9, { history: historyOf(9) }, { maxHistoryTurns }).lists.history.list)).toEqual(kept)
  })

  test('keeps the entry of this turn, however long it is', () => {
    const history = [...historyOf(3), historyEntry(4, 'x'.repeat(500))]
    const { lists } = trim(4, { history }, { maxHistoryBytes: 100 })
    expect(turnsOf(lists.history.list)).toEqual([4])
    expect(turnsOf(trim(4, { history: history.slice(3) }, { maxHistoryBytes: 100 }).lists.history.list)).toEqual([4])
  })
})

describe('a memory', () => {
  const bytes = listBytes(talk(1, 100))

  test('of too many bytes is cut to three quarters of the limit, before the first message of a turn', () => {
    const memory = { Ask: [1, 2, 3, 4, 5, 6, 7, 8, 9].flatMap((turn) => talk(turn, 100)) }
    const { lists, removed } = trim(9, { memory }, { maxMemoryBytes: 8 * bytes })
    const { messages } = lists.memory.open('Ask')
    expect(turnsOf(messages.list)).toEqual([4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9])
    expect(turnsOf(removed.memory.Ask)).toEqual([1, 1, 2, 2, 3, 3])
    expect(messages.change).toEqual({ removed: 6, appended: 2, isRewritten: false })
    expect(trim(9, { memory }, { maxMemoryBytes: 9 * bytes }).removed.isEmpty).toBe(true)
  })

  test('is one of several: each has the limit for itself', () => {
    const memory = { Ask: [...talk(1, 100), ...talk(2, 100)], Other: talk(2, 100) }
    const { removed } = trim(2, { memory }, { maxMemoryBytes: 1.5 * bytes })
    expect(Object.keys(removed.memory)).toEqual(['Ask'])
  })

  test('that this turn did not use is not measured', () => {
    const { flow } = documentOf('s-1', '1-a')
    const stored = { Ask: { messages: shareList([...talk(1, 100), ...talk(2, 100)]) } }
    const memory = new ConversationMemory({ flow: { ...flow, memory: stored } })
    const removed = new RemovedEntries()
    trimLists({ turn: 3, history: new GrowingList([]), memory }, resolveLimits({ maxMemoryBytes: 1 }), removed)
    expect([removed.isEmpty, memory.toStored()]).toEqual([true, stored])
  })

  test('keeps its summary at the start, and is then stored anew', () => {
    const memory = { Ask: [summary, ...talk(4, 100), ...talk(5, 100), ...talk(6, 100)] }
    const { lists, removed } = trim(6, { memory }, { maxMemoryBytes: 2 * bytes })
    const { messages } = lists.memory.open('Ask')
    expect(messages.list).toEqual([summary, ...talk(6, 100)])
    expect(turnsOf(removed.memory.Ask)).toEqual([4, 4, 5, 5])
    expect(messages.change.isRewritten).toBe(true)
  })

  test('keeps the messages of this turn, and a summary, however long they are', () => {
    const memory = { Ask: [summary, ...talk(4, 100)] }
    const { lists, removed } = trim(4, { memory }, { maxMemoryBytes: 1 })
    expect([lists.memory.open('Ask').messages.length, removed.isEmpty]).toEqual([3, true])
  })

  test('does not part a call from its result, in whichever message it is', () => {
    const turn = [
      textMessage('user', 'Look.', 1),
      call(1, 'c1', 'c2'),
      result(1, 'c1'),
      result(1, 'c2'),
      call(1, 'c3'),
      result(1, 'c3'),
      textMessage('assistant', 'Seen.', 1),
    ]
    // Nothing but the one long turn: it may be cut inside of this turn's predecessor only between pairs.
    for (const maxMemoryBytes of Array.from({ length: 60 }, (_, index) => 20 * (index + 1))) {
      const { lists } = trim(2, { memory: { Ask: [...turn, ...talk(2)] } }, { maxMemoryBytes })
      expect(unpaired(lists.memory.open('Ask').messages.list), `${maxMemoryBytes} bytes`).toEqual([])
    }
  })

  test('does not part a call from a result that came later, behind other messages', () => {
    const late = [
      textMessage('user', 'Look.', 1),
      call(1, 'c1', 'c2'),
      textMessage('assistant', 'One moment.', 1),
      result(1, 'c1'),
      textMessage('user', 'And?', 2),
      textMessage('assistant', 'Soon.', 2),
      result(2, 'c2'),
      ...talk(3),
      call(3, 'c3'),
      textMessage('assistant', 'Looking.', 3),
      result(3, 'c3'),
      textMessage('assistant', 'Seen.', 3),
    ]
    const cuts = new Set<number>()
    for (let maxMemoryBytes = 20; maxMemoryBytes <= listBytes(late); maxMemoryBytes += 20) {
      // Used by this turn, and (all of it older) only opened by it.
      for (const list of [[...late, ...talk(4)], late]) {
        const { lists } = trim(4, { memory: { Ask: list } }, { maxMemoryBytes })
        const kept = lists.memory.open('Ask').messages.list
        expect(unpaired(kept), `${maxMemoryBytes} bytes`).toEqual([])
        cuts.add(list.length - kept.length)
      }
    }
    // Before turn 3 or turn 4, or inside turn 3 where that turn is the last; never before turn 2, where
    // a call has no result yet.
    expect([...cuts].sort((one, other) => one - other)).toEqual([7, 8, 9, 12, 13])
  })

  test('of this turn alone keeps its calls, although they have no results yet', () => {
    const memory = { Ask: [textMessage('user', 'Look.', 1), call(1, 'c1')] }
    expect(trim(1, { memory }, { maxMemoryBytes: 1 }).removed.isEmpty).toBe(true)
  })

  test('is cut inside a turn only where no turn begins later', () => {
    // A summary was asked for, and the flow put what followed into one turn.
    const list = [
      textMessage('user', 'One.', 1),
      ...[1, 2, 3, 4].map(() => textMessage('assistant', 'x'.repeat(50), 1)),
    ]
    const lists = listsOf(9, { memory: { Ask: list } })
    const removed = new RemovedEntries()
    trimLists(lists, resolveLimits({ ...noLimits, maxMemoryBytes: listBytes(list) - 1 }), removed)
    const kept = lists.memory.open('Ask').messages.list
    expect([kept.length > 0, kept.length < list.length]).toEqual([true, true])
    expect(listBytes(kept)).toBeLessThanOrEqual(0.75 * listBytes(list))
  })

  test.each(['constructor', 'toString', 'hasOwnProperty'])('may be called %s', (name) => {
    const { removed } = trim(2, { memory: { [name]: [...talk(1), ...talk(2)] } }, { maxMemoryBytes: 1 })
    expect(Object.entries(removed.memory)).toEqual([[name, talk(1)]])
  })
})

describe('attachments', () => {
  const attachments = [1, 3, 3, 4, 5].map((turn, index) => ({ id: `${turn}-${index}`, turn, data: 'AAAA' }))

  test.each([
    [1, [5]],
    [2, [4, 5]],
    [3, [3, 3, 4, 5]],
    [off, [1, 3, 3, 4, 5]],
  ])('are kept for %d turns', (attachmentTurns, kept) => {
    const { lists, removed } = trim(5, { attachments }, { attachmentTurns })
    expect(turnsOf(lists.memory.attachments?.list)).toEqual(kept)
    expect(turnsOf([...removed.attachments, ...(lists.memory.attachments?.list ?? [])])).toEqual([1, 3, 3, 4, 5])
  })

  test('of earlier turns alone are removed all', () => {
    const { lists, removed } = trim(9, { attachments }, { attachmentTurns: 2 })
    expect([lists.memory.attachments?.list, removed.attachments]).toEqual([[], attachments])
  })
})

describe('trimToBytes', () => {
  /** Cuts until at most so many bytes are left, and returns what is. */
  function cut(turn: number, given: Given, mostBytes: number) {
    const lists = listsOf(turn, given)
    const removed = new RemovedEntries()
    const before = [given.history?.slice(0, -1), given.attachments, ...Object.values(given.memory ?? {})]
    const stored = before.reduce((sum, list) => sum + listBytes(list ?? []), 0)
    const ofTurn = Object.values(given.memory ?? {}).flatMap((list) => list.filter((one) => one.turn === turn))
    const bytesNow = () => stored - listBytes(ofTurn) + lists.history.addedBytes + lists.memory.addedBytes
    const fits = trimToBytes(lists, bytesNow, mostBytes, removed)
    expect(fits).toBe(bytesNow() <= mostBytes)
    return { fits, bytes: bytesNow(), lists, removed }
  }
  const photos = [1, 2].map((turn) => ({ id: `${turn}-0`, turn, data: 'A'.repeat(1000) }))
  const given: Given = {
    history: historyOf(4, 250),
    memory: { Ask: [1, 2, 3, 4].flatMap((turn) => talk(turn, 100)), Other: [1, 4].flatMap((turn) => talk(turn, 50)) },
    attachments: photos,
  }
  const all = listBytes(given.history ?? []) + listBytes(photos)
  const total = all + Object.values(given.memory ?? {}).reduce((sum, list) => sum + listBytes(list), 0)

  test('removes nothing where all fits', () => {
    expect(cut(4, given, total)).toMatchObject({ fits: true, bytes: total, removed: { isEmpty: true } })
  })

  test('removes the attachments of earlier turns first, then half of the history, then half of the memories', () => {
    const first = cut(4, given, total - 1)
    expect([turnsOf(first.removed.attachments), first.lists.history.length, first.removed.memory]).toEqual([
      [1, 2],
      4,
      {},
    ])
    const second = cut(4, given, first.bytes - 1)
    expect([turnsOf(second.lists.history.list), second.removed.memory]).toEqual([[3, 4], {}])
    const third = cut(4, given, second.bytes - 1)
    expect(turnsOf(third.lists.memory.open('Ask').messages.list)).toEqual([3, 3, 4, 4])
    expect(turnsOf(third.lists.memory.open('Other').messages.list)).toEqual([4, 4])
    expect(third.lists.history.length).toBe(2)
    const fourth = cut(4, given, third.bytes - 1)
    expect([fourth.fits, turnsOf(fourth.lists.history.list)]).toEqual([true, [4]])
  })

  test('cuts a memory that this turn did not use', () => {
    const { flow } = documentOf('s-1', '1-a')
    const stored = { Ask: { messages: shareList([...talk(1, 100), ...talk(2, 100)]) } }
    const memory = new ConversationMemory({ flow: { ...flow, memory: stored } })
    const removed = new RemovedEntries()
    const most = listBytes(talk(1, 100))
    const bytesNow = () => listBytes(stored.Ask.messages) + memory.addedBytes
    expect(trimToBytes({ turn: 3, history: new GrowingList([]), memory }, bytesNow, most, removed)).toBe(true)
    expect(turnsOf(removed.memory.Ask)).toEqual([1, 1])
  })

  test('removes a memory whole that this turn did not use, where that is what it takes', () => {
    const { flow } = documentOf('s-1', '1-a')
    const stored = { Old: { messages: shareList([...talk(1, 5000)]) } }
    const memory = new ConversationMemory({ flow: { ...flow, memory: stored } })
    const removed = new RemovedEntries()
    const bytesNow = () => listBytes(stored.Old.messages) + memory.addedBytes
    expect(trimToBytes({ turn: 3, history: new GrowingList([]), memory }, bytesNow, 100, removed)).toBe(true)
    expect([turnsOf(removed.memory.Old), memory.toStored().Old?.messages]).toEqual([[1, 1], []])
  })

  test('goes past a call that never got a result', () => {
    const { flow } = documentOf('s-1', '1-a')
    const call = { type: 'tool-call', toolCallId: 'lost', toolName: 'look', input: {} } as const
    const asked: StoredMessage = Object.freeze({ role: 'assistant', parts: Object.freeze([call]), turn: 1 })
    const stored = { Ask: { messages: shareList([...talk(1, 100), asked, ...talk(2, 100), ...talk(3, 100)]) } }
    const memory = new ConversationMemory({ flow: { ...flow, memory: stored } })
    const removed = new RemovedEntries()
    const bytesNow = () => listBytes(stored.Ask.messages) + memory.addedBytes
    const most = listBytes(talk(3, 100)) + listBytes(talk(2, 100))
    expect(trimToBytes({ turn: 3, history: new GrowingList([]), memory }, bytesNow, most, removed)).toBe(true)
    expect(turnsOf(removed.memory.Ask)).toContain(1)
  })

  test('keeps the last receipts, and that of the turn that created the session', () => {
    const receipts = new GrowingList(
      shareList(
        Array.from({ length: 20 }, (_, index) => Object.freeze({ key: `k${index}`, request: 'r', turn: index + 1 })),
      ),
    )
    const { flow } = documentOf('s-1', '1-a')
    const memory = new ConversationMemory({ flow: { ...flow, memory: {} } })
    trimLists({ turn: 21, history: new GrowingList([]), memory, receipts }, resolveLimits(), new RemovedEntries())
    expect(receipts.list.map(({ turn }) => turn)).toEqual([1, ...Array.from({ length: 16 }, (_, index) => index + 5)])
  })

  test('returns false where only what this turn added is left', () => {
    const { fits, lists } = cut(4, { ...given, attachments: [...photos, { id: '4-0', turn: 4, data: 'AAAA' }] }, 10)
    expect(fits).toBe(false)
    expect([lists.history.list, lists.memory.attachments?.list].map((list) => turnsOf(list))).toEqual([[4], [4]])
    expect([
      turnsOf(lists.memory.open('Ask').messages.list),
      turnsOf(lists.memory.open('Other').messages.list),
    ]).toEqual([
      [4, 4],
      [4, 4],
    ])
  })
})

/** The calls without a result, and the results without a call before them. */
function unpaired(messages: readonly StoredMessage[]): string[] {
  const open = new Set<string>()
  const lost: string[] = []
  for (const part of messages.flatMap(({ parts }) => parts)) {
    if (part.type === 'tool-call') open.add(part.toolCallId)
    else if (part.type === 'tool-result' && !open.delete(part.toolCallId)) lost.push(`result ${part.toolCallId}`)
  }
  return [...lost, ...[...open].map((id) => `call ${id}`)]
}

describe('of any conversation', () => {
  /** What a model does in a turn: it answers, or calls tools whose results come in one message or in several. */
  const round = fc.record({ calls: fc.nat(3), together: fc.boolean(), size: fc.nat(400) })
  const turnOfTalk = fc.record({ size: fc.nat(400), rounds: fc.array(round, { maxLength: 3 }), photo: fc.nat(300) })
  const conversation = fc.record({
    turns: fc.array(turnOfTalk, { minLength: 1, maxLength: 12 }),
    hasSummary: fc.boolean(),
    maxHistoryTurns: fc.integer({ min: 1, max: 12 }),
    maxHistoryBytes: fc.integer({ min: 1, max: 4000 }),
    maxMemoryBytes: fc.integer({ min: 1, max: 8000 }),
    attachmentTurns: fc.integer({ min: 1, max: 5 }),
    mostBytes: fc.nat(15_000),
  })

  type TalkTurn = typeof turnOfTalk extends fc.Arbitrary<infer T> ? T : never

  function messagesOf({ size, rounds }: TalkTurn, turn: number): Message[] {
    const called = rounds.flatMap(({ calls, together, size: length }, index) => {
      const ids = Array.from({ length: calls }, (_, one) => `${turn}-${index}-${one}`)
      if (ids.length === 0) return [textMessage('assistant', 'a'.repeat(length), turn)]
      const results = together ? [result(turn, ...ids)] : ids.map((id) => result(turn, id))
      return [call(turn, ...ids), ...results]
    })
    return [textMessage('user', 'u'.repeat(size), turn), ...called, textMessage('assistant', 'Done.', turn)]
  }

  const stored = (turns: readonly TalkTurn[], hasSummary: boolean): Required<Given> => ({
    history: turns.map(({ size }, index) => historyEntry(index + 1, 'x'.repeat(size))),
    memory: {
      Ask: [
        ...(hasSummary ? [{ ...summary, turn: 0 }] : []),
        ...turns.flatMap((one, index) => messagesOf(one, index + 1)),
      ],
    },
    attachments: turns.flatMap(({ photo }, index) =>
      photo < 150 ? [] : [{ id: `${index + 1}-0`, turn: index + 1, data: 'A'.repeat(photo) }],
    ),
  })

  test('what is left is whole, holds this turn, and is within its limits where anything could go', () => {
    fc.assert(
      fc.property(conversation, ({ turns, hasSummary, mostBytes, ...limits }) => {
        const turn = turns.length
        const given = stored(turns, hasSummary)
        const { lists, removed } = trim(turn, given, limits)
        check(given, lists, removed, turn)
        const { messages } = lists.memory.open('Ask')
        const earlier = (list: readonly { turn: number; summary?: true }[]): boolean =>
          list.some((one) => one.turn !== turn && one.summary !== true)
        if (lists.history.length > 1) {
          expect(lists.history.length).toBeLessThanOrEqual(limits.maxHistoryTurns)
          expect(lists.history.bytes).toBeLessThanOrEqual(limits.maxHistoryBytes)
        }
        if (earlier(messages.list)) expect(messages.bytes).toBeLessThanOrEqual(limits.maxMemoryBytes)
        const oldest = lists.memory.attachments?.list[0]
        if (oldest !== undefined) expect(oldest.turn).toBeGreaterThan(turn - limits.attachmentTurns)
        // The session as a whole: on top of what its lists lost already.
        const bytesNow = (): number => lists.history.bytes + messages.bytes + (lists.memory.attachments?.bytes ?? 0)
        const fits = trimToBytes(lists, bytesNow, mostBytes, removed)
        check(given, lists, removed, turn)
        expect(fits).toBe(bytesNow() <= mostBytes)
        const rest = [lists.history.list, messages.list, lists.memory.attachments?.list ?? []]
        if (!fits) expect(rest.map(earlier)).toEqual([false, false, false])
      }),
      { numRuns: 500 },
    )
  })

  function check(given: Required<Given>, lists: TurnLists, removed: RemovedEntries, turn: number): void {
    const memory = given.memory.Ask ?? []
    const { list } = lists.memory.open('Ask').messages
    expect(unpaired(list)).toEqual([])
    const lead = memory[0]?.summary === true ? memory.slice(0, 1) : []
    expect([...lead, ...(removed.memory.Ask ?? []), ...list.slice(lead.length)]).toEqual(memory)
    expect(list.slice(0, lead.length)).toEqual(lead)
    expect(list.filter((one) => one.turn === turn)).toEqual(memory.filter((one) => one.turn === turn))
    // What is left begins with the first message of a turn.
    expect(list[lead.length]?.role).toBe('user')
    expect([...removed.history, ...lists.history.list]).toEqual(given.history)
    expect(lists.history.last).toEqual(given.history.at(-1))
    expect([...removed.attachments, ...(lists.memory.attachments?.list ?? [])]).toEqual(given.attachments)
  }
})
