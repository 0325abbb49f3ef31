import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { documentOf, historyEntry } from '../../testing/contract/session-bench.js'
import { flowOf } from '../../testing/contract/test-flows.js'
import { Conversation } from '../../testing/index.js'
import { slidingWindow } from '../compaction/index.js'
import {
  Flow,
  type FlowCompaction,
  go,
  LogicStep,
  reply,
  Step,
  type StepConstructor,
  type Turn,
  tool,
} from '../index.js'
import { bytesOfLists } from './document-bytes.js'
import { entryBytes } from './lists/shared-lists.js'

const empty = { ...documentOf('s-1', '1-a'), history: [] }
const withoutMemory = { ...empty, flow: { ...empty.flow, memory: {} } }

describe('bytesOfLists', () => {
  test('is 0 for a session without entries', () => {
    expect(bytesOfLists(withoutMemory)).toBe(0)
  })

  test('adds up every list of the document, without context and states', () => {
    const history = [historyEntry(1, 'One.'), historyEntry(2, 'Two.')]
    const attachments = [{ id: '1-0', turn: 1, data: 'A'.repeat(100) }]
    const receipts = [{ key: 'k', request: 'r', turn: 1 }]
    const effects = { charge: { begunAt: 'now', attempts: 1 } }
    const messages = documentOf('s-1', '1-a').flow.memory.Ask?.messages ?? []
    const memory = { Ask: { messages }, Other: { messages } }
    const entries = [...history, ...attachments, ...receipts, ...messages, ...messages]
    const bytes = entries.reduce((sum, entry) => sum + entryBytes(entry), 0)
    const document = { ...empty, history, attachments, receipts, flow: { ...empty.flow, memory } }
    expect(bytesOfLists(document)).toBe(bytes)
    expect(bytesOfLists({ ...document, flow: { ...document.flow, context: { text: 'x'.repeat(99) } } })).toBe(bytes)
    const withEffects = bytesOfLists({ ...document, effects })
    expect(Math.abs(withEffects - bytes - JSON.stringify(effects).length)).toBeLessThan(3)
  })
})

describe('the count of a stored session', () => {
  class Sort extends LogicStep {
    static override readonly id = 'Sort'
    override run({ message }: Turn) {
      if (message.startsWith('desk')) return go(Desk)
      return message.startsWith('fail') ? go('Nowhere') : reply(`Noted: ${message}`)
    }
  }
  class Desk extends Step {
    static override readonly id = 'Desk'
    override tools() {
      return [tool({ name: 'look', description: 'Looks.', execute: () => 'Seen.' })]
    }
    override onReply(text: string) {
      return text.length > 200 ? go(Other).withMessage('Shorter, please.') : text
    }
  }
  class Other extends Step {
    static override readonly id = 'Other'
    override onReply(text: string) {
      return go(Sort).withReply(text)
    }
  }
  class Desks extends Flow {
    static override readonly id: string = 'Desks'
    static override readonly compaction: FlowCompaction = { Other: slidingWindow({ above: 6, keep: 2 }) }
    override model() {
      return { provider: 'scripted', name: 'scripted' }
    }
    override steps(): readonly StepConstructor[] {
      return [Sort, Desk, Other]
    }
  }

  const says = fc.record({
    text: fc.tuple(fc.constantFrom('desk', 'note'), fc.nat(400)).map(([word, size]) => word + 'x'.repeat(size)),
    answer: fc.integer({ min: 2, max: 400 }),
    calls: fc.boolean(),
    photo: fc.option(fc.integer({ min: 1, max: 1500 })),
    restarts: fc.boolean(),
  })

  test('equals the bytes of its lists after every turn of any conversation, whatever is removed or refused', async () => {
    let trimmed = 0
    let refused = 0
    await fc.assert(
      fc.asyncProperty(fc.array(says, { minLength: 5, maxLength: 25 }), async (turns) => {
        let now = turns[0] as (typeof turns)[number]
        await using conversation = new Conversation(Desks, {
          script: ({ origin }) =>
            now.calls && origin.callNumber === 1
              ? { toolCalls: [{ name: 'look' }] }
              : 'y'.repeat(origin.stepId === 'Desk' ? now.answer : now.answer / 2),
          limits: { maxHistoryBytes: 2500, maxMemoryBytes: 2500, maxHistoryTurns: 9, maxSessionBytes: 5200 },
        })
        for (const turn of turns) {
          now = turn
          const attachments =
            turn.photo === null
              ? []
              : [{ type: 'image' as const, mediaType: 'image/png', data: 'AAAA'.repeat(turn.photo) }]
          const { success } = await conversation.say(turn.text, { attachments })
          if (!success) {
            conversation.expectError('LIMIT_EXCEEDED')
            refused++
          }
          const document = await conversation.document()
          expect(document.runStatus).toBe('running')
          if (document.history[0]?.turn !== 1) trimmed++
          expect(document.bytes).toBe(bytesOfLists(JSON.parse(JSON.stringify(document))))
          if (turn.restarts) await conversation.restart()
        }
      }),
      { numRuns: 40 },
    )
    expect(trimmed).toBeGreaterThan(20)
    expect(refused).toBeGreaterThan(0)
  })
})

test('a flow without model steps is counted too', async () => {
  class Only extends LogicStep {
    static override readonly id = 'Only'
    override run({ message }: Turn) {
      return reply(message)
    }
  }
  await using conversation = new Conversation(flowOf(Only), { limits: { maxHistoryTurns: 3 } })
  for (const text of ['Größe', '"quoted"', '\n', '👋', 'e']) {
    await conversation.say(text)
    const document = await conversation.document()
    expect(document.bytes).toBe(bytesOfLists(document))
  }
})
