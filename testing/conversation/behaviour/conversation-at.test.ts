// Conversations that begin in the middle.
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Flow, LogicStep, MemorySessionStore, reply, Step, type Turn } from '../../../src/index.js'
import { AskName, Confirm, Onboarding } from '../../contract/onboarding.js'
import { flowOf } from '../../contract/test-flows.js'
import { Conversation } from '../conversation.js'
import { runStep } from '../run-step.js'

class Greet extends LogicStep<{ count: number; names: string[] }> {
  static override readonly id = 'Greet'
  override initialState() {
    return { count: 7, names: [] }
  }
  override run(turn: Turn) {
    return reply(JSON.stringify([turn.entered, turn.number, turn.message, this.state]))
  }
}

const capture = { toolCalls: [{ name: 'capture_name', input: { name: 'Ada Lovelace' } }] }

const cyclic: { names: Record<string, unknown> } = { names: {} }
cyclic.names.self = cyclic.names

describe('Conversation.at', () => {
  test('goes on in the step, with the states of other steps', async () => {
    await using conversation = Conversation.at(Onboarding, {
      step: Confirm,
      stateOf: [[AskName, { name: 'Ada Lovelace' }]],
    })
    expect(conversation.sessionId).toBe('session-1')
    await conversation.say('yes')
    conversation.expectReply('Thank you, Ada Lovelace.').expectCompleted().expectState(AskName, { name: /^Ada/ })
  })

  test('does not enter the step, and adds its state to the initial one', async () => {
    await using conversation = Conversation.at(flowOf(Greet), { step: 'Greet', state: { names: ['Ada'] } })
    await conversation.say('Hello')
    conversation.expectReply('[false,1,"Hello",{"count":7,"names":["Ada"]}]')
  })

  test('says in the transcript where it begins, also in that of a fork', async () => {
    await using conversation = Conversation.at(flowOf(Greet), { step: Greet })
    await conversation.say('Hello')
    await using fork = await conversation.fork()
    for (const one of [conversation, fork]) {
      expect(one.transcript()).toMatch(/^# .*\n\nBegins at Greet\.\n\n## Turn 1\n/)
    }
  })

  test('has the history as turns, and as what the model remembers', async () => {
    await using conversation = Conversation.at(Onboarding, {
      step: AskName,
      history: [['Hello', 'What is your name?']],
      script: [({ messages }) => JSON.stringify(messages.map(({ role, parts }) => [role, parts])), capture],
    })
    await conversation.say('Ada')
    conversation.expectReply(
      JSON.stringify([
        ['user', [{ type: 'text', text: 'Hello' }]],
        ['assistant', [{ type: 'text', text: 'What is your name?' }]],
        ['user', [{ type: 'text', text: 'Ada' }]],
      ]),
    )
    const { turns, history } = await conversation.document()
    expect([turns, history.map(({ turn, message }) => [turn, message])]).toEqual([
      2,
      [
        [1, 'Hello'],
        [2, 'Ada'],
      ],
    ])
    expect(conversation.transcript()).toContain('## Turn 2\n')
    await conversation.say('Ada Lovelace')
    conversation.expectCompleted()
  })

  test('gives the model the memory in place of the history, and counts no tool call of it as one of the turn', async () => {
    const calls = [{ type: 'tool-call', toolCallId: 'c-1', toolName: 'capture_name', input: { name: 'Ada' } }] as const
    const results = [{ type: 'tool-result', toolCallId: 'c-1', toolName: 'capture_name', output: 'No.' }] as const
    await using conversation = Conversation.at(Onboarding, {
      step: AskName,
      memory: [
        { role: 'user', text: 'I am Ada' },
        { role: 'assistant', parts: calls },
        { role: 'tool', parts: results },
      ],
      script: ['Your full name?'],
    })
    await conversation.say('Hm')
    conversation.expectAsked({ user: 'Hm' }).expectToolCalls([])
    const { flow } = await conversation.document()
    expect(flow.memory.AskName?.messages.map(({ role, turn }) => [role, turn])).toEqual([
      ['user', 0],
      ['assistant', 0],
      ['tool', 0],
      ['user', 1],
      ['assistant', 1],
    ])
  })

  test('puts the memory under the name that the step gives it', async () => {
    class Shared extends Step {
      static override readonly id = 'Shared'
      override readonly memory = 'desk'
    }
    const TheFlow = flowOf(Shared)
    await using conversation = Conversation.at(TheFlow, { step: Shared, history: [['a', 'b']], script: ['c'] })
    await conversation.say('d')
    expect((await conversation.document()).flow.memory.desk?.messages).toHaveLength(4)
  })

  test('refuses the memory of a step that calls no model', async () => {
    const start = { step: Greet, memory: [{ role: 'user', text: 'Hello' }] } as const
    expect(() => Conversation.at(flowOf(Greet), start)).toThrowErrorMatchingInlineSnapshot(
      `[ExpectationError: Conversation.at: memory is what the model of the step remembers, and step 'Greet' calls no model. Leave memory out, or take a model step. What the user saw of earlier turns goes into history.]`,
    )
    await expect(runStep(Greet, { memory: start.memory })).rejects.toThrow('runStep: memory is what the model')
    await using conversation = Conversation.at(flowOf(Greet), { step: Greet, history: [['Hello', 'Hi.']] })
    await conversation.say('Go on')
    conversation.expectReply(/^\[false,2,"Go on"/)
  })

  test('has its owner, the context of its flow and the store of the test, and goes on after a restart and in a fork', async () => {
    class Contextual extends Flow {
      static override readonly id = 'Contextual'
      constructor() {
        super()
        this.addContext({ currency: 'EUR' })
      }
      override steps() {
        return [Greet]
      }
    }
    const backing = new Map()
    await using conversation = Conversation.at(Contextual, {
      step: Greet,
      owner: 'ada',
      createStore: () => new MemorySessionStore({ backing }),
    })
    await conversation.open()
    expect(conversation.store.journal).toEqual([])
    expect([...backing.keys()]).toEqual([conversation.sessionId])
    expect(await conversation.document()).toMatchObject({ owner: 'ada', flow: { context: { currency: 'EUR' } } })
    await conversation.restart()
    await conversation.say('one')
    await using fork = await conversation.fork()
    await fork.say('two')
    await conversation.say('three')
    fork.expectReply(/^\[false,2,"two"/)
    conversation.expectReply(/^\[false,2,"three"/)
  })

  test('numbers a turn that hangs after those of the history', async () => {
    class Waits extends LogicStep {
      static override readonly id = 'Waits'
      override run() {
        return new Promise<never>(() => undefined)
      }
    }
    const history = [
      ['Hello', 'Hi.'],
      ['One', 'Two.'],
    ] as const
    const conversation = Conversation.at(flowOf(Waits), { step: Waits, history, hangAfterMs: 40 })
    const failure = String(await conversation.say('wait').catch((error: Error) => error))
    await conversation.close()
    expect(failure).toContain("is under way, in step 'Waits'\n")
    expect(failure).toContain('## Turn 3\n\nUser: wait\n\nNo reply so far.')
  })

  test('leaves the check of a state to the schema of the step', async () => {
    class Checked extends LogicStep<{ guests: number }> {
      static override readonly id = 'Checked'
      static override readonly stateSchema = z.object({ guests: z.number().int() })
      override run() {
        return reply(String(this.state.guests))
      }
    }
    await using right = Conversation.at(flowOf(Checked), { step: Checked, state: { guests: 4 } })
    await right.say('')
    right.expectReply('4')
    await using wrong = Conversation.at(flowOf(Checked), { step: Checked, state: { guests: 0.5 } })
    await wrong.say('')
    wrong.expectError('SESSION_FLOW_INVARIANT', /guests/)
  })

  test('refuses a step that the flow has not', () => {
    expect(() => Conversation.at(Onboarding, { step: 'Nowhere' })).toThrow(
      "Conversation.at: flow 'Onboarding' has no step 'Nowhere'. Its steps: AskName, Confirm.",
    )
    expect(() => Conversation.at(Onboarding, { step: Confirm, stateOf: [[Greet, { count: 1 }]] })).toThrow(
      "Conversation.at: flow 'Onboarding' has no step 'Greet'. Its steps: AskName, Confirm.",
    )
  })

  const anotherRealm: unknown = runInNewContext('({ name: "Ada" })')
  test.each([
    ['without a prototype', Object.assign(Object.create(null), { name: 'Ada' })],
    ['of another realm', anotherRealm],
  ])('stores an object %s in a state, as the engine does', async (_what, names) => {
    await using conversation = Conversation.at(flowOf(Greet), { step: Greet, state: { names } as never })
    await conversation.say('')
    conversation.expectState(Greet, { names: { name: 'Ada' } } as never)
  })

  test.each([
    [
      { names: [new Date(0)] },
      'state.names[0] is an instance of Date, which JSON cannot carry: use date.toISOString()',
    ],
    [{ count: Number.NaN }, 'state.count is NaN, which JSON cannot carry'],
    [{ names: { map: () => 1 } }, 'state.names.map is a function, which JSON cannot carry'],
    [{ names: ['Ada', undefined] }, 'state.names[1] is undefined, which JSON cannot carry'],
    [{ names: new Array(1) }, 'state.names[0] is undefined, which JSON cannot carry'],
    [cyclic, 'state.names.self is part of itself'],
  ])('refuses a state that JSON cannot carry: %#', (state, problem) => {
    expect(() => Conversation.at(flowOf(Greet), { step: Greet, state: state as never })).toThrow(
      `Conversation.at: the state of step 'Greet' must be plain JSON, but ${problem}.`,
    )
  })

  test('says what was left, as every conversation does', async () => {
    const conversation = Conversation.at(Onboarding, { step: AskName, script: ['Never said.'] })
    await expect(conversation.close()).rejects.toThrow('Never said.')
  })
})
