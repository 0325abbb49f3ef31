import { describe, expect, test } from 'vitest'
import { flowOf, place } from '../../../../testing/contract/test-flows.js'
import { Conversation } from '../../../../testing/index.js'
import { Transition } from '../../../flow/transition.js'
import { finish, go, LogicStep, reply, Step, type Turn } from '../../../index.js'

const Next = place('Next')

describe('what a hook may not return', () => {
  const wrong: Readonly<Record<string, readonly [Partial<Record<keyof LogicStep, () => unknown>>, string]>> = {
    'nothing from run': [
      { run: () => undefined },
      "Step 'Start' returned nothing from run(). Return go(...), reply(...), stay(...) or finish(...).",
    ],
    'a text from run': [
      { run: () => 'Hello.' },
      "Step 'Start' returned no transition from run(). Return go(...), reply(...), stay(...) or finish(...).",
    ],
    'a text from onEnter': [
      { onEnter: () => 'Hello.' },
      "onEnter of step 'Start' must return nothing or a transition.",
    ],
    'a transition from onExit': [
      { onExit: () => reply('Bye.') },
      "onExit of step 'Start' returned a value; it may not return a transition.",
    ],
    'a promise of one from onExit': [
      { onExit: async () => go('Next') },
      "onExit of step 'Start' returned a value; it may not return a transition.",
    ],
    'a transition from onRestore': [
      { onRestore: () => go('Next') },
      "onRestore of step 'Start' returned a value; it may not return a transition.",
    ],
  }

  test.each(Object.keys(wrong))('%s', async (name) => {
    const [hooks, message] = wrong[name] as (typeof wrong)[string]
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run(turn: Turn) {
        return turn.entered ? reply('Hello.') : go('Next')
      }
    }
    Object.assign(Start.prototype, hooks)
    await using conversation = new Conversation(flowOf(Start, Next))
    const { success } = await conversation.say('one')
    if (success) await conversation.say('two')
    conversation.expectError('FLOW_ERROR', message)
  })

  test('anything but a text or a transition from onReply', async () => {
    class Start extends Step {
      static override readonly id = 'Start'
      override onReply() {
        return undefined as unknown as string
      }
    }
    await using conversation = new Conversation(flowOf(Start), { script: ['Hello.'] })
    await conversation.say('Hi')
    conversation.expectError('FLOW_ERROR', "onReply of step 'Start' must return a text, retry(...) or a transition.")
  })
})

describe('a target that there is not', () => {
  class Elsewhere extends LogicStep {
    static override readonly id = 'Elsewhere'
    override run() {
      return reply('Elsewhere.')
    }
  }

  test.each([
    ['a step of another flow', go(Elsewhere), 'Elsewhere'],
    ['an unknown ID', go('Nowhere'), 'Nowhere'],
    ['an empty ID', go(''), ''],
    ['a name from Object', go('constructor'), 'constructor'],
    ['none at all', new Transition({ kind: 'go' }), ''],
  ])('%s is an error that lists the steps', async (_what, transition, id) => {
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return transition
      }
    }
    await using conversation = new Conversation(flowOf(Start, Next))
    await conversation.say('Hi')
    conversation.expectError(
      'FLOW_ERROR',
      `Flow 'Test' has no step '${id}'. Its steps: Start, Next, End. Add it to steps().`,
    )
  })
})

describe('the limit maxTransitionsPerTurn', () => {
  class Ping extends LogicStep {
    static override readonly id = 'Ping'
    override run() {
      return go('Pong')
    }
  }
  class Pong extends LogicStep {
    static override readonly id = 'Pong'
    override run() {
      return go('Ping')
    }
  }

  test('ends a cycle of steps, and says where it was', async () => {
    await using conversation = new Conversation(flowOf(Ping, Pong))
    await conversation.say('Hi')
    conversation.expectError(
      'LIMIT_EXCEEDED',
      "The number of moves in one turn (the last one from 'Ping' to 'Pong') exceeds the limit maxTransitionsPerTurn (32).",
    )
    expect(await conversation.document()).toMatchObject({ runStatus: 'aborted', flow: { currentStep: null } })
  })

  test('ends a cycle of onEnter hooks', async () => {
    class Door extends LogicStep {
      static override readonly id = 'Door'
      override onEnter() {
        return go('Door')
      }
      override run() {
        return reply('run was called.')
      }
    }
    await using conversation = new Conversation(flowOf(Door), { limits: { maxTransitionsPerTurn: 3 } })
    await conversation.say('Hi')
    conversation.expectError('LIMIT_EXCEEDED')
    expect(conversation.reply.error).toMatchObject({ limit: 'maxTransitionsPerTurn', value: 3 })
  })

  test('counts moves of one turn, neither entering the first step nor finishing', async () => {
    class First extends LogicStep {
      static override readonly id = 'First'
      override run() {
        return go('Second')
      }
    }
    class Second extends LogicStep {
      static override readonly id = 'Second'
      override run() {
        return finish('Bye.')
      }
    }
    await using conversation = new Conversation(flowOf(First, Second), { limits: { maxTransitionsPerTurn: 1 } })
    await conversation.say('Hi')
    conversation.expectReply('Bye.')
  })

  test('starts anew in each turn', async () => {
    class Loop extends LogicStep {
      static override readonly id = 'Loop'
      override run(turn: Turn) {
        return turn.entered ? reply(`Turn ${turn.number}.`) : go('Loop')
      }
    }
    await using conversation = new Conversation(flowOf(Loop), { limits: { maxTransitionsPerTurn: 1 } })
    await conversation.say('a')
    conversation.expectReply('Turn 1.')
    await conversation.say('b')
    conversation.expectReply('Turn 2.')
    await conversation.say('c')
    conversation.expectReply('Turn 3.')
  })
})
