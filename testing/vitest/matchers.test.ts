import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { Flow, finish, type ModelSelection, Step, type StepConstructor, type Tool, tool } from '../../src/index.js'
import type { ReplySchema } from '../conversation/expect/reply.js'
import { Conversation, type ConversationOptions } from '../index.js'
import './index.js'

const Seat = z.object({ row: z.number() })

class Book extends Step<{ row: number }> {
  static override readonly id = 'Book'
  override initialState(): { row: number } {
    return { row: 0 }
  }
  override prompt(): string {
    return 'Book a seat.'
  }
  override tools(): readonly Tool[] {
    return [
      tool({
        name: 'book',
        description: 'Books a seat.',
        input: Seat,
        execute: ({ row }) => {
          this.state.row = row
          return finish(`Row ${row} is yours.`)
        },
      }),
    ]
  }
}

class Seats extends Flow {
  static override readonly id = 'Seats'
  override model(): ModelSelection {
    return { provider: 'any', name: 'any' }
  }
  override steps(): readonly StepConstructor[] {
    return [Book]
  }
}

const bookRow3 = { toolCalls: [{ name: 'book', input: { row: 3 } }] }

/** A conversation that is asked for something and then for a row. */
async function booked(options: ConversationOptions = {}): Promise<Conversation> {
  const conversation = new Conversation(Seats, { script: ['Which row?', bookRow3], ...options })
  // The tests below fail on purpose; what they leave is not of interest.
  onTestFinished(() => conversation.close().catch(() => undefined))
  await conversation.say('A seat, please.')
  return conversation
}

describe('a conversation that is as expected', () => {
  test('passes, and closes whole', async () => {
    const conversation = new Conversation(Seats, { script: ['Which row?', bookRow3, new Error('Busy')] })
    await conversation.say('A seat, please.')
    expect(conversation).toHaveReplied('Which row?')
    expect(conversation).toHaveReplied(/row/)
    expect(conversation).toBeAtStep(Book)
    expect(conversation).toHaveCalledTools([])
    expect(conversation).toHaveAskedModel({ system: 'Book a seat.', user: /seat/, tools: ['book'] })
    await conversation.say('Row 3')
    expect(conversation).toHaveCalledTools([{ name: 'book', input: { row: 3 } }])
    expect(conversation).toHaveState(Book, { row: 3 })
    expect(conversation).toBeAtStep('End')
    expect(conversation).toBeCompleted()
    await conversation.say('And now?')
    expect(conversation).toHaveFailedWith('MODEL_ERROR', /failed/)
    await conversation.close()
  })

  test('a JSON reply is read by a schema', async () => {
    const conversation = await booked({ script: ['{"row":3}'] })
    expect(conversation).toHaveReplied(Seat)
  })
})

/** The failure of a matcher. */
function failureOf(check: () => void): string {
  try {
    check()
  } catch (error) {
    return (error as Error).message
  }
  return 'it passed'
}

describe('a conversation that is not', () => {
  test('fails in the words of the conversation, with its transcript', async () => {
    const conversation = await booked()
    expect(failureOf(() => expect(conversation).toHaveReplied('Which seat?'))).toMatchInlineSnapshot(`
      "Expected the reply "Which seat?"
        but it was "Which row?"
      Where: flow 'Seats', step 'Book', turn 1

      The conversation so far:

      # Seats

      ## Turn 1

      User: A seat, please.

      - enters Book

      Reply: Which row?

      Now at Book.
      "
    `)
  })

  test('has what differs on the error, for the difference that vitest shows', async () => {
    const conversation = await booked()
    const check = (): void => expect(conversation).toHaveReplied('Which seat?')
    expect(check).toThrow(expect.objectContaining({ expected: 'Which seat?', actual: 'Which row?' }))
  })

  test.each<[string, (conversation: Conversation) => void]>([
    ['Expected a reply that matches /seat/', (conversation) => expect(conversation).toHaveReplied(/seat/)],
    ["Expected the conversation to be at step 'End'", (conversation) => expect(conversation).toBeAtStep('End')],
    ['row: expected 3, got 0', (conversation) => expect(conversation).toHaveState(Book, { row: 3 })],
    ['Expected the conversation to be completed.', (conversation) => expect(conversation).toBeCompleted()],
    ['expected 1 call, got 0', (conversation) => expect(conversation).toHaveCalledTools(['book'])],
    ['user: expected "No"', (conversation) => expect(conversation).toHaveAskedModel({ user: 'No' })],
    [
      'to fail with TOOL_ERROR, but it succeeded',
      (conversation) => expect(conversation).toHaveFailedWith('TOOL_ERROR'),
    ],
  ])('%s', async (message, check) => {
    const conversation = await booked()
    const failure = failureOf(() => check(conversation))
    expect(failure).toContain(message)
    expect(failure).toContain('User: A seat, please.')
  })
})

describe('a mistake in the test', () => {
  test('.not is refused, and leaves the conversation as it is', async () => {
    const conversation = await booked({ script: ['Which row?', 'left'] })
    expect(failureOf(() => expect(conversation).not.toBeCompleted())).toMatchInlineSnapshot(
      `"A conversation has no .not.toBeCompleted: many wrong turns would satisfy it. Expect what the turn should be."`,
    )
    await expect(conversation.close()).rejects.toThrow('1 reply of 2 left')
  })

  test('something else than a conversation is refused, in both directions', () => {
    const other: unknown = { reply: 'Which row?' }
    const check = expect(other as Conversation)
    expect(failureOf(() => check.toHaveReplied('a'))).toMatchInlineSnapshot(
      `"toHaveReplied takes a Conversation of turnkeeper/testing: expect(conversation).toHaveReplied(...). It got {"reply":"Which row?"}."`,
    )
    expect(failureOf(() => check.not.toHaveReplied('a'))).toContain('takes a Conversation of turnkeeper/testing')
  })

  test('a conversation in which nothing was said', () => {
    expect(failureOf(() => expect(new Conversation(Seats)).toBeCompleted())).toMatchInlineSnapshot(
      `
      "expectCompleted needs a turn: await conversation.say(...) first.
      Where: flow 'Seats', before the first turn

      The conversation so far:

      # Seats
      "
    `,
    )
  })

  test('another error is thrown unchanged', async () => {
    const conversation = await booked({ script: ['{}'] })
    const validate = (): never => {
      throw new RangeError('a broken schema')
    }
    const broken: ReplySchema = { '~standard': { version: 1, vendor: 'own', validate } }
    expect(() => expect(conversation).toHaveReplied(broken)).toThrow(RangeError)
  })
})
