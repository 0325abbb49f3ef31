/**
 * Conversations of ten turns as tests write them, with a tool, a refused argument, a restart and a lost save: how many
 * a second on one core, by the CPU time they take. The work alone, ten turns of F1 (Map, structuredClone), is measured
 * in between, in short batches.
 */
import { Flow, finish, go, LogicStep, reply, Step, tool } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
import { z } from 'zod'
import { createF1 } from './floors.mjs'
import { bench, median } from './harness.mjs'
import { userMessage } from './work.mjs'

const conversationsPerBatch = 50
const batches = 40
const turns = 10

const Wish = z.object({ guests: z.number().int().min(1).max(8), day: z.enum(['Friday', 'Saturday']) })
const Choice = z.object({ table: z.number() })

class AskWish extends Step {
  static id = 'AskWish'
  prompt() {
    return 'Ask how many guests come and on which day; call find_tables, then take_table.'
  }
  tools() {
    return [
      tool({ name: 'find_tables', description: 'Finds the tables that are free.', input: Wish, execute: () => [] }),
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
  static id = 'Confirm'
  run(turn) {
    const question = `Table ${turn.stateOf(AskWish).table}. Is that right?`
    if (turn.entered) return reply(question)
    if (turn.message === 'yes') return finish('Booked.')
    return turn.message === 'no' ? go(AskWish).withReply('What shall I change?') : reply(`Yes or no? ${question}`)
  }
}

class Booking extends Flow {
  static id = 'Booking'
  model() {
    return { provider: 'bench', name: 'instant' }
  }
  steps() {
    return [AskWish, Confirm]
  }
}

const find = (guests, day) => ({ toolCalls: [{ name: 'find_tables', input: { guests, day } }] })
const take = (table) => ({ toolCalls: [{ name: 'take_table', input: { table } }] })

async function talk() {
  const conversation = new Conversation(Booking, {
    script: [
      'For how many, and when?',
      ...[find('a few', 'Friday'), 'How many exactly?'],
      ...[find(4, 'Friday'), 'Table 4 by the window, or table 7?'],
      'Table 4 has the view.',
      take(4),
      ...[find(4, 'Saturday'), 'Only table 7 is free on Saturday.'],
      take(7),
    ],
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
  conversation.store.failNext('save', { after: true })
  await conversation.say('7 then')
  conversation.expectReply('Table 7. Is that right?').expectState(AskWish, { table: 7 })
  await conversation.say('yes')
  conversation.expectReply('Booked.').expectCompleted()
  await conversation.close()
}

bench({
  url: import.meta.url,
  title: 'conversation: tests of ten turns with a tool, a refused argument, a restart and a lost save',
  async once() {
    const floor = createF1(true)
    const work = async () => {
      const say = floor.start()
      for (let turn = 1; turn <= turns; turn++) await say(userMessage(turn))
    }
    const times = { ours: [], floor: [] }
    for (let batch = -10; batch < batches; batch++) {
      const ours = await timeOfOne(talk)
      const alone = await timeOfOne(work)
      // The first batches warm the code up.
      if (batch < 0) continue
      times.ours.push(ours)
      times.floor.push(alone)
    }
    const [ours, alone] = [median(times.ours), median(times.floor)]
    return { perSecond: 1000 / ours, ms: ours, floorMs: alone, ratio: ours / alone }
  },
  rows: [
    { label: 'one conversation, expectations and all', figure: 'ms', unit: 'ms of CPU', target: 1 },
    { label: 'conversations', figure: 'perSecond', unit: 'a second of CPU' },
    { label: 'the work alone: ten turns of F1 with a tool call', figure: 'floorMs', unit: 'ms of CPU' },
    { label: 'conversation over F1', figure: 'ratio', unit: 'x' },
  ],
})

async function timeOfOne(conversation) {
  const start = process.cpuUsage()
  for (let count = 0; count < conversationsPerBatch; count++) await conversation()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000 / conversationsPerBatch
}
