import { describe, expect, test } from 'vitest'
import { flowOf } from '../../testing/contract/test-flows.js'
import { Conversation } from '../../testing/index.js'
import { End, EndStep, finish, LogicStep, reply, Step, type Turn } from '../index.js'

class Bare extends LogicStep {
  override run() {
    return finish()
  }
}

describe('the ID of a step', () => {
  test('is the class name', () => {
    expect(Bare.id).toBe('Bare')
    expect(Bare.aliases).toEqual([])
  })

  test('is a static field or a static accessor of the class, if it has one', () => {
    class WithField extends Bare {
      static override readonly id = 'ask-name'
    }
    class WithAccessor extends Bare {
      static override get id() {
        return 'ask-age'
      }
    }
    expect(WithField.id).toBe('ask-name')
    expect(WithAccessor.id).toBe('ask-age')
  })

  // The output of compilers for `static id = ...` with a target below ES2022.
  test('can be assigned to one class without changing others', () => {
    class First extends Bare {}
    class Second extends Bare {}
    First.id = 'first'
    First.aliases = ['one']
    expect([First.id, First.aliases]).toEqual(['first', ['one']])
    expect([Second.id, Second.aliases]).toEqual(['Second', []])
    expect([Bare.id, LogicStep.id]).toEqual(['Bare', 'LogicStep'])
  })

  test('is inherited, and can be overridden', () => {
    class Base extends Bare {}
    Base.id = 'base'
    class Inheriting extends Base {}
    class Own extends Base {}
    Own.id = 'own'
    expect([Base.id, Inheriting.id, Own.id]).toEqual(['base', 'base', 'own'])
  })

  test('of the default end step is End', () => {
    expect(End.id).toBe('End')
    expect(new End()).toBeInstanceOf(EndStep)
  })

  test('that was assigned is stored in sessions', async () => {
    class Ask extends LogicStep<{ asked?: boolean }> {
      override run() {
        this.state.asked = true
        return reply('Your name?')
      }
    }
    Ask.id = 'ask'
    await using conversation = new Conversation(flowOf(Ask))
    await conversation.say('Hello')
    expect((await conversation.document()).flow).toMatchObject({
      currentStep: 'ask',
      steps: { ask: { state: { asked: true } } },
    })
  })
})

describe('the state of a step', () => {
  test('exists only inside a turn', () => {
    const message = 'A step has state only inside a turn, not in a constructor.'
    expect(() => new Bare().state).toThrow(expect.objectContaining({ code: 'FLOW_ERROR', message }))
    expect(() => {
      new Bare().state = {}
    }).toThrow(message)
  })

  test('may not be a class field, which would hide the stored one', async () => {
    class Broken extends LogicStep {
      static override readonly id = 'Ask'
      constructor() {
        super()
        // The effect of \`state = { name: 'Ada' }\` in JavaScript; TypeScript refuses it.
        Object.defineProperty(this, 'state', { value: { name: 'Ada' } })
      }
      override run() {
        return reply('Your name?')
      }
    }
    await using conversation = new Conversation(flowOf(Broken))
    await conversation.say('Hello')
    conversation.expectError('FLOW_ERROR', "Step 'Ask' declares a field named state; use initialState() instead.")
  })
})

describe('the defaults of', () => {
  const turn = {} as Turn

  test('any step: an empty state, hooks that do nothing', () => {
    const step = new Bare()
    expect(step.initialState()).toEqual({})
    expect([step.onEnter(turn), step.onExit(turn), step.onRestore(turn)]).toEqual([undefined, undefined, undefined])
  })

  test('a model step: no prompt, no tools, no model or memory of its own, and the answer unchanged', () => {
    const step = new (class extends Step {})()
    expect([step.prompt(turn), step.tools(turn), step.model(), step.memory]).toEqual(['', [], undefined, undefined])
    expect(step.onReply('Hello.', turn)).toBe('Hello.')
  })

  test('an end step: an empty closing text', () => {
    expect(new End().message(turn)).toBe('')
  })
})
