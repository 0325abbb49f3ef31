import { describe, expect, test } from 'vitest'
import { place } from '../../testing/contract/test-flows.js'
import { Conversation } from '../../testing/index.js'
import { Flow, type FlowServices, LogicStep, reply, type Turn } from '../index.js'

const Start = place('Start')

class Plain extends Flow {
  override steps() {
    return [Start]
  }
}

describe('the name of a flow', () => {
  test('[2.5-2] is the class name, with no aliases, in version 1', () => {
    expect([Plain.id, Plain.aliases, Plain.version]).toEqual(['Plain', [], 1])
  })

  test('[4.7-5] can be overridden by the class', () => {
    class WithField extends Plain {
      static override readonly id = 'with-field'
      static override readonly aliases = ['old']
      static override readonly version = 3
    }
    class WithAccessor extends Plain {
      static override get id() {
        return 'with-accessor'
      }
    }
    expect([WithField.id, WithField.aliases, WithField.version]).toEqual(['with-field', ['old'], 3])
    expect(WithAccessor.id).toBe('with-accessor')
  })

  // The output of compilers for `static id = ...` with a target below ES2022.
  test('can be assigned to one class without changing others', () => {
    class First extends Plain {}
    class Second extends Plain {}
    First.id = 'first'
    First.aliases = ['one']
    First.version = 2
    expect([First.id, First.aliases, First.version]).toEqual(['first', ['one'], 2])
    expect([Second.id, Second.aliases, Second.version]).toEqual(['Second', [], 1])
    expect([Plain.id, Flow.id]).toEqual(['Plain', 'Flow'])
  })

  test('[4.7-6] that was assigned is registered and stored', async () => {
    class Assigned extends Plain {}
    Assigned.id = 'stable-name'
    Assigned.version = 2
    await using conversation = new Conversation(Assigned)
    await conversation.open()
    expect(conversation.engine.getFlowNames()).toEqual(['stable-name'])
    await conversation.say('Hello')
    expect((await conversation.document()).flow).toMatchObject({ name: 'stable-name', version: 2 })
  })
})

describe('the defaults of a flow', () => {
  test('no model, no shared tools, no batch, the first step as the initial one, the session unchanged', () => {
    const flow = new Plain()
    expect([flow.model(), flow.tools({} as Turn), flow.isBatch(), flow.initialStep()]).toEqual([
      undefined,
      [],
      false,
      undefined,
    ])
    expect([flow.init(), flow.onRestore({} as never)]).toEqual([undefined, undefined])
  })

  test('outside a turn: no services and no context', () => {
    const flow = new Plain()
    expect([flow.services, flow.context]).toEqual([{}, {}])
  })
})

describe('the context of a flow', () => {
  test('gains the values of addContext, of which later ones win', () => {
    const flow = new Plain()
    flow.addContext({ a: 1, b: 1 })
    flow.addContext({ b: 2 })
    expect(flow.context).toEqual({ a: 1, b: 2 })
  })

  test('[2.6-5 4.5-1] holds the config before init, and both are stored', async () => {
    class Greeting extends Plain {
      override init() {
        this.addContext({ greeting: `Hello, ${(this.context.config as { user: string }).user}.` })
      }
    }
    await using conversation = new Conversation(Greeting)
    await conversation.say('Hello', { config: { user: 'Ada' } })
    expect((await conversation.document()).flow.context).toEqual({ config: { user: 'Ada' }, greeting: 'Hello, Ada.' })
  })

  test('[4.5-2] of a restored session is replaced by the stored one', async () => {
    let started = 0
    class Counting extends Plain {
      override init() {
        this.addContext({ started: ++started })
      }
    }
    await using conversation = new Conversation(Counting)
    await conversation.say('Hello', { config: { user: 'Ada' } })
    await conversation.say('Hello again')
    await conversation.say('And again', { config: { user: 'Grace' } })
    expect(started).toBe(3)
    expect((await conversation.document()).flow.context).toEqual({ config: { user: 'Ada' }, started: 1 })
  })

  test('can be added to while a turn runs, and is stored with the turn', async () => {
    class Noting extends Flow {
      static override readonly id = 'Noting'
      static current: Flow
      override init() {
        Noting.current = this
      }
      override steps() {
        return [Note]
      }
    }
    class Note extends LogicStep {
      override run(turn: Turn) {
        Noting.current.addContext({ [turn.message]: turn.number })
        return reply(Object.keys(turn.context).join(' '))
      }
    }
    await using conversation = new Conversation(Noting)
    await conversation.say('one')
    conversation.expectReply('one')
    await conversation.say('two')
    conversation.expectReply('one two')
    expect((await conversation.document()).flow.context).toEqual({ one: 1, two: 2 })
  })

  test('that flow code changed in place is unchanged after a turn that fails', async () => {
    class Counting extends Flow {
      static override readonly id = 'Counting'
      static current: Flow
      override init() {
        Counting.current = this
      }
      override steps() {
        return [Count]
      }
    }
    class Count extends LogicStep {
      override run(turn: Turn) {
        if (turn.number === 1) return reply('Ready.')
        ;(Counting.current.context.config as { count: number }).count++
        throw new Error('no')
      }
    }
    await using conversation = new Conversation(Counting)
    await conversation.say('Hi', { config: { count: 0 } })
    await conversation.say('Hi')
    conversation.expectError('FLOW_ERROR')
    expect((await conversation.document()).flow.context).toEqual({ config: { count: 0 } })
  })

  test('must be plain JSON: the error names the path, and nothing is stored', async () => {
    class Broken extends Plain {
      override init() {
        this.addContext({ rates: { today: new Map() } })
      }
    }
    await using conversation = new Conversation(Broken)
    await conversation.say('Hello')
    conversation.expectError('FLOW_ERROR', 'context.rates.today is an instance of Map, which JSON cannot carry.')
    expect(conversation.store.operations).toEqual([])
  })

  test('can hold a config as deep as maxJsonDepth allows, and no deeper', async () => {
    class Deep extends Plain {
      override init() {
        if (this.context.deeper === undefined) return
        this.addContext({ deeper: { than: { that: {} } } })
      }
    }
    const limits = { maxJsonDepth: 2 }
    await using conversation = new Conversation(Deep, { limits })
    await conversation.say('Hi', { config: { a: {} } })
    conversation.expectReply('At Start.')
    await using deeper = await new Conversation(Deep, { limits }).open()
    const { message } = await deeper.engine.runFlow('Deep', 'Hi', '', { deeper: {} })
    expect(message).toMatch(/^The nesting of context\.deeper\.than\.that exceeds the limit maxJsonDepth \(2\)\./)
  })

  test('that JSON cannot carry fails the turn, and the session keeps the old one', async () => {
    class Noting extends Flow {
      static override readonly id = 'Noting'
      override steps() {
        const add = (): void => this.addContext({ when: new Date(0) })
        return [
          class Note extends LogicStep {
            override run() {
              add()
              return reply('Noted.')
            }
          },
        ]
      }
    }
    await using conversation = new Conversation(Noting)
    await conversation.say('Hello', { config: {} })
    conversation.expectError(
      'FLOW_ERROR',
      'context.when is an instance of Date, which JSON cannot carry: use date.toISOString().',
    )
    expect(await conversation.document()).toMatchObject({ runStatus: 'aborted', flow: { context: { config: {} } } })
  })
})

describe('the services of the application', () => {
  test('are the same object for the flow and for its turns', async () => {
    const services: FlowServices = { clockwork: true } as FlowServices
    const seen: unknown[] = []
    class Serving extends Plain {
      override init() {
        seen.push(this.services)
      }
      override steps() {
        return [
          class Look extends LogicStep {
            override run(turn: Turn) {
              seen.push(turn.services)
              return reply('Seen.')
            }
          },
        ]
      }
    }
    await using conversation = new Conversation(Serving, { services })
    await conversation.say('Hello')
    expect(seen).toHaveLength(2)
    expect(seen[0]).toBe(services)
    expect(seen[1]).toBe(services)
    expect(JSON.stringify(await conversation.document())).not.toContain('clockwork')
  })
})
