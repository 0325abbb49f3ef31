import { Flow, finish, go, LogicStep, reply, Step, type Turn, tool } from 'turnkeeper'
import { Conversation, type ModelScript } from 'turnkeeper/testing'
import { test } from 'vitest'
import { z } from 'zod'

// The flow: in an application it has a file of its own.

const Wish = z.object({ guests: z.number().int().min(1).max(8), day: z.enum(['Friday', 'Saturday']) })
const Choice = z.object({ table: z.number() })

class AskWish extends Step<{ wish?: z.infer<typeof Wish>; table?: number }> {
  static override readonly id = 'AskWish'
  override prompt() {
    return 'Ask how many guests come and on which day; call find_tables, then take_table.'
  }
  override tools() {
    return [
      tool({
        name: 'find_tables',
        description: 'Finds the tables that are free.',
        input: Wish,
        execute: async (wish, _turn, { signal }) => {
          this.state.wish = wish
          return (await fetch(`https://tables.example/${wish.day}?guests=${wish.guests}`, { signal })).json()
        },
      }),
      tool({
        name: 'take_table',
        description: 'Takes one of the tables that were found.',
        input: Choice,
        execute: ({ table }) => {
          this.state.table = table
          return go(Confirm)
        },
      }),
    ]
  }
}

class Confirm extends LogicStep {
  static override readonly id = 'Confirm'
  override run(turn: Turn) {
    const question = `Table ${turn.stateOf(AskWish).table}. Is that right?`
    if (turn.entered) return reply(question)
    if (turn.message === 'yes') return finish('Booked.')
    return turn.message === 'no' ? go(AskWish).withReply('What shall I change?') : reply(`Yes or no? ${question}`)
  }
}

class Booking extends Flow {
  static override readonly id = 'Booking'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps() {
    return [AskWish, Confirm]
  }
}

// The test.

const find = (guests: number | string, day: string) => ({
  toolCalls: [{ name: 'find_tables', input: { guests, day } }],
})
const take = (table: number) => ({ toolCalls: [{ name: 'take_table', input: { table } }] })
const script: ModelScript = [
  'For how many, and when?',
  ...[find('a few', 'Friday'), 'How many exactly?'],
  ...[find(4, 'Friday'), 'Table 4 by the window, or table 7?'],
  'Table 4 has the view.',
  take(4),
  ...[find(4, 'Saturday'), 'Only table 7 is free on Saturday.'],
  take(7),
]

test('a table is booked, in ten turns and on a bad day', async () => {
  await using conversation = new Conversation(Booking, {
    script,
    tools: { find_tables: [[4, 7], [7]] },
  })
  await conversation.say('Hello')
  conversation.expectReply('For how many, and when?').expectAsked({ system: /find_tables/, user: 'Hello' })

  await conversation.say('A few, on Friday')
  conversation.expectToolCalls([{ name: 'find_tables', isError: true, output: /^Invalid arguments: guests/ }])

  await conversation.say('Four')
  conversation.expectToolCalls([{ name: 'find_tables', input: { guests: 4 }, output: [4, 7] }])

  await conversation.restart()
  await conversation.say('Which is nicer?')
  conversation.expectReply(/the view/).expectStep(AskWish)

  await conversation.say('The one by the window')
  conversation.expectReply('Table 4. Is that right?').expectStep(Confirm).expectState(AskWish, { table: 4 })

  await conversation.say('Hm')
  conversation.expectReply(/^Yes or no\?/).expectStep(Confirm)

  await conversation.say('no')
  conversation.expectReply('What shall I change?').expectStep(AskWish)

  await conversation.say('Saturday, please')
  conversation.expectToolCalls([{ name: 'find_tables', input: { day: 'Saturday' }, output: [7] }])

  conversation.store.failNext('save', { after: true }) // the answer of the database is lost
  await conversation.say('7 then')
  conversation.expectReply('Table 7. Is that right?').expectState(AskWish, { table: 7 })

  await conversation.say('yes')
  conversation.expectReply('Booked.').expectCompleted()
})
