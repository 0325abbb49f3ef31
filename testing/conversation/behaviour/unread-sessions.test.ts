/** A store that the harness cannot read after a turn: what needs the session says so, and nothing else does. */
import { expect, test } from 'vitest'
import {
  Flow,
  finish,
  LogicStep,
  MemorySessionStore,
  reply,
  type SessionDocument,
  Step,
  type Turn,
  tool,
} from '../../../src/index.js'
import { Conversation } from '../conversation.js'
import { runStep } from '../run-step.js'

class Act extends LogicStep {
  static override readonly id = 'Act'
  override run({ message }: Turn) {
    return message === 'Bye' ? finish('Bye.') : reply('Done.')
  }
}
class Acting extends Flow {
  static override readonly id = 'Acting'
  override steps() {
    return [Act]
  }
}
class Look extends Step {
  static override readonly id = 'Look'
  override prompt() {
    return 'Look.'
  }
  override tools() {
    return [tool({ name: 'look', description: 'Looks.', execute: () => 'A ship.' })]
  }
}
class Looking extends Flow {
  static override readonly id = 'Looking'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps() {
    return [Look]
  }
}

/**
 * A store whose connection for reading is lost after some loads: one of the engine, and one of the harness, for each
 * turn.
 */
class Unreadable extends MemorySessionStore {
  loads = 0
  readonly lostAt: number
  readonly lost: () => Promise<SessionDocument>
  constructor(lostAt: number, lost = (): Promise<never> => Promise.reject(new Error('the replica is gone'))) {
    super()
    this.lostAt = lostAt
    this.lost = lost
  }
  override load(id: string) {
    return ++this.loads === this.lostAt ? this.lost() : super.load(id)
  }
}

const textOf = (act: () => unknown): string => {
  try {
    act()
    return 'nothing failed'
  } catch (error) {
    return (error as Error).message.replaceAll(/\n {2}at .*/g, '')
  }
}

test('expectations of the session say that it could not be read, and in which turn', async () => {
  const store = new Unreadable(3)
  await using conversation = new Conversation(Acting, { createStore: () => store })
  await conversation.say('Hello')
  await conversation.say('And?')
  conversation.expectReply('Done.').expectToolCalls([])
  const step = textOf(() => conversation.expectStep(Act))
  expect(step).toMatchInlineSnapshot(`
    "The session could not be read after the turn "And?". The store threw Error: the replica is gone
    Where: flow 'Acting', turn 2

    The conversation so far:

    # Acting

    ## Turn 1

    User: Hello

    - enters Act

    Reply: Done.

    Now at Act.

    ## Turn 2

    User: And?

    Reply: Done.

    The session could not be read after it.
    "
  `)
  expect(textOf(() => conversation.expectState(Act, {}))).toBe(step)
  expect(textOf(() => conversation.expectCompleted())).toContain('The reply said completed: false')
  await conversation.say('Again')
  conversation.expectStep(Act)
  expect(conversation.transcript()).toContain('## Turn 3\n\nUser: Again')
})

test('the turn after it has the next number while it is under way', async () => {
  const store = new Unreadable(3)
  await using conversation = new Conversation(Acting, { createStore: () => store })
  await conversation.say('Hello')
  await conversation.say('And?')
  const saying = conversation.say('Again')
  expect(textOf(() => conversation.expectStep(Act))).toContain('turn 3')
  await saying
})

test('a turn that ends the session is not known to be stored', async () => {
  const store = new Unreadable(1)
  await using conversation = new Conversation(Acting, { createStore: () => store })
  await conversation.say('Bye')
  expect(textOf(() => conversation.expectCompleted())).toContain('could not be read after the turn "Bye"')
  await conversation.say('Hello')
  expect(conversation.transcript()).toContain('## Turn 1 (in a new session)')
})

test('a load that hangs is named', async () => {
  const store = new Unreadable(1, () => new Promise(() => undefined))
  await using conversation = new Conversation(Acting, { hangAfterMs: 40, createStore: () => store })
  await conversation.say('Hello')
  expect(textOf(() => conversation.expectStep(Act))).toContain(
    'could not be read after the turn "Hello". load() of the store has not settled',
  )
})

test('results of tools are missing for this reason', async () => {
  const store = new Unreadable(1)
  const script = [{ toolCalls: [{ name: 'look' }] }, 'A ship, it seems.']
  await using conversation = new Conversation(Looking, { script, createStore: () => store })
  await conversation.say('Look')
  conversation.expectToolCalls(['look'])
  expect(textOf(() => conversation.expectToolCalls([{ name: 'look', output: 'A ship.' }]))).toContain(
    'call 1, output: expected "A ship.", got nothing\nThe calls:\n  1. look {}\nThe session could not be read after the turn "Look".',
  )
})

test('a step that runs alone fails', async () => {
  const store = new Unreadable(2)
  await expect(runStep(Act, { message: 'Hello', createStore: () => store })).rejects.toThrow(
    'The session could not be read after the turn "Hello". The store threw Error: the replica is gone',
  )
})
