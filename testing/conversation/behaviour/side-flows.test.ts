/** Calls and returns in a conversation: steps of called flows, open calls with their events and timers, one step alone. */
import { describe, expect, test } from 'vitest'
import {
  back,
  call,
  event,
  Flow,
  finish,
  go,
  LogicStep,
  reply,
  Step,
  type StepConstructor,
  type Turn,
  tool,
} from '../../../src/index.js'
import { choices } from '../../../src/parts/index.js'
import { simulate } from '../../simulate/index.js'
import { Conversation } from '../conversation.js'
import { callTool, runStep } from '../run-step.js'

const day = 86_400_000

class Chat extends LogicStep<{ town?: string }> {
  static override readonly id = 'Chat'
  override events() {
    return [
      event({ name: 'remind', after: 2 * day, execute: () => reply('Are you still there?') }),
      event({ name: 'shipped', execute: () => reply('It is on its way.') }),
    ]
  }
  override run(turn: Turn) {
    if (turn.returned !== undefined) this.state.town = turn.stateOf(Town).name ?? ''
    return turn.message === 'address' ? call(Address) : reply('What else?')
  }
}
class Hours extends LogicStep {
  static override readonly id = 'Hours'
  override run(turn: Turn) {
    return turn.message === 'thanks' ? back('told').withLead('You are welcome.') : reply('From 9 to 5.')
  }
}
class Street extends LogicStep {
  static override readonly id = 'Street'
  override events() {
    return [
      event({ name: 'remind', after: day, execute: () => reply('Your street, please.') }),
      event({ name: 'found', execute: () => go(Town) }),
    ]
  }
  override run(turn: Turn) {
    return turn.entered ? reply('Which street?') : go(Town)
  }
}
class Town extends LogicStep<{ name?: string }> {
  static override readonly id = 'Town'
  override run(turn: Turn) {
    if (turn.entered) return reply('Which town?')
    this.state.name = turn.message
    return finish('Noted.')
  }
}
class Address extends Flow {
  static override readonly id: string = 'Address'
  override steps(): readonly StepConstructor[] {
    return [Street, Town]
  }
  override events() {
    return [event({ name: 'quiet', silence: 3 * day, execute: () => finish('Later, then.') })]
  }
}
class Shop extends Flow {
  static override readonly id: string = 'Shop'
  override steps(): ReturnType<Flow['steps']> {
    return [Chat, Hours, Address]
  }
  override events() {
    return [event({ name: 'closed', execute: () => finish('We close.') })]
  }
  override onMessage({ message }: Turn) {
    return message === 'open?' ? call(Hours) : undefined
  }
}

describe('a called flow', () => {
  test('has steps that are expected by their classes, and a transcript with calls and returns', async () => {
    await using conversation = new Conversation(Shop)
    await conversation.say('Hello')
    await conversation.say('address')
    conversation.expectStep(Street).expectStep('Address/Street')
    await conversation.say('Elm Street')
    await conversation.say('Ulm')
    conversation.expectReply('Noted.\n\nWhat else?').expectStep(Chat)
    conversation.expectState(Town, { name: 'Ulm' }).expectState('Address/Town', { name: /^U/ })
    expect(() => conversation.expectStep('Street')).toThrow(
      "The flow has no step 'Street'; its steps: Chat, Hours, Address/Street, Address/Town, End.",
    )
    expect(conversation.transcript()).toContain(`## Turn 4

User: Ulm

- enters Address/End
- returns to Chat

Reply: Noted.

  What else?`)
  })

  test('has its events and timers beside those of the steps that wait', async () => {
    await using conversation = new Conversation(Shop)
    await conversation.say('Hello')
    conversation.expectEvents(['remind', 'shipped', 'closed']).expectTimers({ remind: 2 * day })
    await conversation.say('address')
    conversation.expectEvents(['remind', 'found', 'quiet', 'shipped', 'closed'])
    conversation.expectTimers({ 'Chat.remind': 2 * day, 'Address/Street.remind': day, quiet: 3 * day })
    expect((await conversation.advance(2 * day)).map(({ message }) => message)).toEqual([
      'Your street, please.',
      'Are you still there?',
    ])
    await conversation.sendEvent('shipped')
    conversation.expectReply('It is on its way.').expectStep(Street)
    await conversation.advance(day)
    conversation
      .expectReply('Later, then.\n\nWhat else?')
      .expectStep(Chat)
      .expectEvents(['remind', 'shipped', 'closed'])
  })

  test('that is called before the first step was entered leaves that step without events', async () => {
    await using conversation = new Conversation(Shop)
    await conversation.say('Hello')
    await conversation.sendEvent('closed')
    await conversation.say('open?')
    conversation.expectStep(Hours).expectEvents(['closed'])
    await conversation.say('thanks')
    conversation.expectReply('You are welcome.\n\nWhat else?').expectEvents(['remind', 'shipped', 'closed'])
  })

  test('has its tools replaced, and its models answered by the script', async () => {
    class Look extends Step {
      static override readonly id = 'Look'
      override tools() {
        return [tool({ name: 'in_step', description: 'Looks.', execute: () => 'not replaced' })]
      }
    }
    class Search extends Address {
      static override readonly id = 'Search'
      override model() {
        return { provider: 'inner', name: 'small' }
      }
      override tools() {
        return [tool({ name: 'in_flow', description: 'Looks.', execute: () => 'not replaced' })]
      }
      override steps() {
        return [Look]
      }
    }
    class Desk extends Shop {
      static override readonly id = 'Desk'
      override steps() {
        return [Chat, Hours, Search]
      }
      override onMessage() {
        return call(Search)
      }
    }
    const script = [{ toolCalls: [{ name: 'in_step' }, { name: 'in_flow' }] }, 'Found.']
    await using conversation = new Conversation(Desk, { script, tools: { in_step: 1, in_flow: 2 } })
    await conversation.say('Hello')
    conversation.expectReply('Found.').expectStep(Look)
    conversation.expectToolCalls([
      { name: 'in_step', output: 1 },
      { name: 'in_flow', output: 2 },
    ])
  })
})

describe('a conversation that begins in the middle', () => {
  test('of a called flow returns to the first step of the flow around it', async () => {
    await using conversation = Conversation.at(Shop, { step: Town, stateOf: [[Street, {}]] })
    await conversation.say('Ulm')
    conversation.expectReply('Noted.\n\nWhat else?').expectStep(Chat).expectState(Chat, { town: 'Ulm' })
    expect(conversation.transcript()).toContain('Begins at Address/Town.')
  })

  test('returns to the steps that it names, whose timers begin now', async () => {
    await using conversation = Conversation.at(Shop, { step: Hours, callers: [Chat, 'Address/Street'] })
    await conversation.sendEvent('shipped')
    conversation.expectTimers({ 'Chat.remind': 2 * day, 'Address/Street.remind': day, quiet: 3 * day })
    await conversation.say('thanks')
    conversation.expectReply('You are welcome.\n\nWhich street?').expectStep(Street)
  })

  test('has timers of one name that are due at once, each by its name', async () => {
    class Late extends LogicStep {
      static override readonly id: string = 'Late'
      override events() {
        return [event({ name: 'remind', after: day, execute: () => Promise.reject(new Error('no mail')) })]
      }
      override run() {
        return reply('Well?')
      }
    }
    class Later extends Late {
      static override readonly id = 'Later'
    }
    class Mail extends Flow {
      override steps() {
        return [Late, Later]
      }
    }
    await using conversation = Conversation.at(Mail, { step: Later, callers: [Late], onTurnError: 'rollback' })
    expect((await conversation.advance(day)).map(({ success }) => success)).toEqual([false, false])
    conversation.expectError('FLOW_ERROR', 'no mail')
    expect(conversation.transcript().match(/^Event: remind$/gm)).toHaveLength(2)
  })

  test('needs steps of the flow, and one of them', () => {
    class Twice extends Shop {
      static override readonly id = 'Twice'
      override steps() {
        return [Chat, Street, Address]
      }
    }
    expect(() => Conversation.at(Twice, { step: Street })).toThrow(
      "Conversation.at: the flow has the step Street more than once, as 'Street' and 'Address/Street': name one of them by its ID.",
    )
    expect(() => Conversation.at(Shop, { step: Hours, callers: ['Chats'] })).toThrow(
      "Conversation.at: flow 'Shop' has no step 'Chats'.",
    )
    expect(() => Conversation.at(Shop, { step: Hours, callers: Chat as never })).toThrow(
      'Conversation.at: callers must be a list of steps of the flow, or their IDs; got',
    )
  })
})

describe('a class that is in the flow twice', () => {
  test('is an error that names both IDs', async () => {
    class Work extends Address {
      static override readonly id = 'Work'
    }
    class Twice extends Shop {
      static override readonly id = 'Twice'
      override steps() {
        return [Hours, Address, Work]
      }
    }
    await using conversation = Conversation.at(Twice, { step: 'Work/Town', callers: [Hours] })
    await conversation.say('Ulm')
    conversation.expectState('Work/Town', { name: 'Ulm' })
    const text =
      "the flow has the step Town more than once, as 'Address/Town' and 'Work/Town': name one of them by its ID."
    expect(() => conversation.expectState(Town, { name: 'Ulm' })).toThrow(`expectState: ${text}`)
    expect(() => conversation.expectStep(Town)).toThrow(`expectStep: ${text}`)
  })
})

describe('one step alone', () => {
  test('returns, and says what it gives', async () => {
    const { reply: said, next, returned, document } = await runStep(Hours, { message: 'thanks' })
    expect([said, next, returned, document.flow.currentStep]).toEqual([
      'You are welcome.',
      undefined,
      { value: 'told' },
      'Hours',
    ])
    expect((await runStep(Hours)).returned).toBeUndefined()
  })

  test('calls, and waits', async () => {
    const { next, document } = await runStep(Chat, { message: 'address' })
    expect([next, document.flow.frames?.map(({ step }) => step)]).toEqual(['Address', ['Chat', 'Address']])
  })

  test('has its parts', async () => {
    class Ask extends LogicStep {
      override run() {
        return reply('Which?').withParts([choices('size', [{ value: 's', label: 'Small' }])])
      }
    }
    expect((await runStep(Ask)).parts).toMatchObject([{ type: 'choices', name: 'size' }])
    expect((await runStep(Hours)).parts).toEqual([])
  })

  test('may be a tool that returns', async () => {
    const leave = tool({ name: 'leave', description: 'Returns.', execute: () => back(4).withReply('Bye.') })
    expect(await callTool(leave, {})).toMatchObject({ reply: 'Bye.', next: undefined, returned: { value: 4 } })
  })
})

test('a called flow that has moved on to a step around it takes no events any more, in a simulation neither', async () => {
  class Ask extends LogicStep {
    static override readonly id = 'Ask'
    override run(turn: Turn) {
      return turn.entered ? reply('Shall I?') : go('Rest')
    }
  }
  class Approval extends Flow {
    static override readonly id = 'Approval'
    override steps(): readonly StepConstructor[] {
      return [Ask]
    }
    override events() {
      return [event({ name: 'approve', execute: () => reply('Approved.') })]
    }
  }
  class Begin extends LogicStep {
    static override readonly id = 'Begin'
    override run(): ReturnType<typeof call> {
      return call(Approval)
    }
  }
  class Rest extends LogicStep {
    static override readonly id = 'Rest'
    override run() {
      return reply('I rest.')
    }
  }
  class Office extends Flow {
    static override readonly id = 'Office'
    override steps(): ReturnType<Flow['steps']> {
      return [Begin, Rest, Approval]
    }
  }
  await using conversation = new Conversation(Office)
  await conversation.say('Hello')
  conversation.expectEvents(['approve'])
  await conversation.say('Yes')
  conversation.expectStep(Rest).expectEvents([])
  // An event that is not taken would be a failed turn.
  const { events } = await simulate(Office, { seeds: 20, faults: false, restarts: false, together: false })
  expect(events).toBeGreaterThan(0)
})
