import { describe, expect, test } from 'vitest'
import { talking } from '../../../../testing/contract/effects-harness.js'
import { flowOf, place } from '../../../../testing/contract/test-flows.js'
import { Conversation, type ConversationOptions, VirtualClock } from '../../../../testing/index.js'
import { go, LogicStep, reply, type SessionDocument, Step, type Transition, type Turn } from '../../../index.js'
import { bytesOfLists } from '../../../session/document-bytes.js'

async function stepsOf(conversation: Conversation): Promise<SessionDocument['flow']['steps']> {
  return (await conversation.document()).flow.steps
}

/** A flow of one step that does this with its state. */
function acting(
  act: (state: Record<string, unknown>, turn: Turn) => void,
  options: ConversationOptions = {},
): Conversation {
  class Start extends LogicStep<Record<string, unknown>> {
    static override readonly id = 'Start'
    override run(turn: Turn) {
      act(this.state, turn)
      return reply('Done.')
    }
  }
  return new Conversation(flowOf(Start), options)
}

interface Visits {
  count: number
  names: string[]
}

class Visit extends LogicStep<Visits> {
  static override readonly id = 'Visit'
  override initialState(): Visits {
    return { count: 0, names: [] }
  }
  override run(turn: Turn) {
    this.state.count++
    this.state.names.push(turn.message)
    return reply(`${this.state.count}: ${this.state.names.join(', ')}`)
  }
}

describe('the state of a step', () => {
  test('begins with initialState() and is kept from turn to turn', async () => {
    await using conversation = new Conversation(flowOf(Visit))
    await conversation.say('Ada')
    conversation.expectReply('1: Ada')
    await conversation.say('Grace')
    conversation.expectReply('2: Ada, Grace')
    expect(await stepsOf(conversation)).toEqual({ Visit: { state: { count: 2, names: ['Ada', 'Grace'] } } })
  })

  test('begins with a value of its own, although initialState() returns a constant', async () => {
    const nobody: Visits = { count: 0, names: [] }
    class Shared extends Visit {
      override initialState() {
        return nobody
      }
    }
    await using conversation = new Conversation(flowOf(Shared))
    await conversation.say('Ada')
    conversation.expectReply('1: Ada')
    await using another = new Conversation(flowOf(Shared))
    await another.say('Grace')
    another.expectReply('1: Grace')
  })

  test('is stored as {} for a step that was entered and keeps nothing', async () => {
    await using conversation = new Conversation(flowOf(place('Start')))
    await conversation.say('Hi')
    expect(await stepsOf(conversation)).toEqual({ Start: { state: {} } })
  })

  test('can be replaced as a whole', async () => {
    class Replacing extends LogicStep<{ message?: string }> {
      static override readonly id = 'Replacing'
      override run(turn: Turn) {
        this.state = { message: turn.message }
        return reply(this.state.message ?? '')
      }
    }
    await using conversation = new Conversation(flowOf(Replacing))
    await conversation.say('a')
    conversation.expectReply('a')
    await conversation.say('b')
    conversation.expectReply('b')
    expect(await stepsOf(conversation)).toEqual({ Replacing: { state: { message: 'b' } } })
  })

  test('that was replaced by a constant is not shared between sessions', async () => {
    const empty: Visits = { count: 0, names: [] }
    class Resetting extends Visit {
      override onEnter() {
        this.state = empty
      }
    }
    await using conversation = new Conversation(flowOf(Resetting))
    await conversation.say('Ada')
    conversation.expectReply('1: Ada')
    await using another = new Conversation(flowOf(Resetting))
    await another.say('Grace')
    another.expectReply('1: Grace')
  })

  test.each([[['a']], ['a'], [null], [new Map()]])(
    'cannot be replaced by what is not a plain object: %j',
    async (state) => {
      class Replacing extends LogicStep {
        static override readonly id = 'Replacing'
        override run() {
          this.state = state as object
          return reply('Replaced.')
        }
      }
      await using conversation = new Conversation(flowOf(Replacing))
      await conversation.say('a')
      conversation.expectError('FLOW_ERROR', 'Replacing.state must be a plain object.')
    },
  )

  test('is checked where it is replaced, and the path is named', async () => {
    class Replacing extends LogicStep<{ when?: unknown }> {
      static override readonly id = 'Replacing'
      override run() {
        this.state = { when: new Date(0) }
        return reply('Replaced.')
      }
    }
    await using conversation = new Conversation(flowOf(Replacing))
    await conversation.say('a')
    conversation.expectError(
      'FLOW_ERROR',
      'Replacing.state.when is an instance of Date, which JSON cannot carry: use date.toISOString().',
    )
  })

  test('must begin as a plain object', async () => {
    class Broken extends LogicStep {
      static override readonly id = 'Broken'
      override initialState() {
        return ['a']
      }
      override run() {
        return reply('Here.')
      }
    }
    await using conversation = new Conversation(flowOf(Broken))
    await conversation.say('a')
    conversation.expectError('FLOW_ERROR', 'Broken.state must be a plain object.')
  })

  test('begins anew where onRestore removed it, and is stored also if the turn only looked at it', async () => {
    let made = 0
    class Numbered extends LogicStep<{ number: number }> {
      static override readonly id = 'Numbered'
      override initialState() {
        return { number: ++made }
      }
      override run() {
        return reply(`${this.state.number}`)
      }
    }
    class Forgetting extends flowOf(Numbered) {
      override onRestore(document: SessionDocument) {
        return { ...document, flow: { ...document.flow, steps: {} } }
      }
    }
    await using conversation = new Conversation(Forgetting)
    await conversation.say('a')
    conversation.expectReply('1')
    await conversation.say('b')
    conversation.expectReply('2')
    expect(await stepsOf(conversation)).toEqual({ Numbered: { state: { number: 2 } } })
  })

  test('drops what is undefined', async () => {
    await using conversation = acting((state) => {
      state.name = undefined
      state.age = 36
    })
    await conversation.say('Hi')
    expect(await stepsOf(conversation)).toEqual({ Start: { state: { age: 36 } } })
  })

  test('keeps data named toJSON, then or valueOf as data', async () => {
    const data = JSON.parse('{"toJSON":"a","then":"b","valueOf":"c"}')
    await using conversation = acting((state) => Object.assign(state, data))
    await conversation.say('Hi')
    expect(await stepsOf(conversation)).toEqual({ Start: { state: data } })
  })

  test('stays as it was where the turn fails: nothing of it is saved', async () => {
    await using conversation = acting((state, turn) => {
      state.count = turn.number
      if (turn.number === 2) throw new Error('no')
    })
    await conversation.say('a')
    await conversation.say('b')
    conversation.expectError('FLOW_ERROR', 'no')
    expect(await conversation.document()).toMatchObject({
      runStatus: 'aborted',
      error: ['no'],
      history: [{ turn: 1, message: 'a' }],
      flow: { steps: { Start: { state: { count: 1 } } } },
    })
  })
})

describe('a state that JSON cannot carry fails the turn, and the path is named', () => {
  const cyclic: Record<string, unknown> = { a: {} }
  cyclic.a = { back: cyclic }

  test.each([
    ['NaN', { price: Number.NaN }, 'Start.state.price is NaN, which JSON cannot carry.'],
    ['Infinity', { price: Number.POSITIVE_INFINITY }, 'Start.state.price is Infinity, which JSON cannot carry.'],
    [
      'a Date',
      { when: [new Date(0)] },
      'Start.state.when[0] is an instance of Date, which JSON cannot carry: use date.toISOString().',
    ],
    ['a Map', { 'by name': new Map() }, 'Start.state["by name"] is an instance of Map, which JSON cannot carry.'],
    ['a bigint', { id: 1n }, 'Start.state.id is a bigint, which JSON cannot carry.'],
    ['a function', { act: () => 1 }, 'Start.state.act is a function, which JSON cannot carry.'],
    ['a symbol', { kind: Symbol('a') }, 'Start.state.kind is a symbol, which JSON cannot carry.'],
    ['undefined in a list', { list: [1, undefined] }, 'Start.state.list[1] is undefined, which JSON cannot carry.'],
    ['a cycle', { cyclic }, 'Start.state.cyclic.a.back is part of itself.'],
    ['__proto__', JSON.parse('{"a":{"__proto__":1}}'), 'Start.state.a has a key named __proto__, which is reserved.'],
  ])('%s', async (_what, value, message) => {
    await using conversation = acting((state, turn) =>
      turn.number === 1 ? Object.assign(state, { before: true }) : Object.assign(state, value),
    )
    await conversation.say('a')
    await conversation.say('b')
    conversation.expectError('FLOW_ERROR', message)
    expect(await conversation.document()).toMatchObject({
      runStatus: 'aborted',
      error: [message],
      history: [{ turn: 1 }],
      flow: { steps: { Start: { state: { before: true } } } },
    })
  })

  test('as a context does, whose path is named, too', async () => {
    await using conversation = acting((_state, turn) => turn.addContext({ price: Number.NaN }))
    await conversation.say('Hi')
    conversation.expectError('FLOW_ERROR', 'context.price is NaN, which JSON cannot carry.')
  })

  test('what a getter throws has its own text', async () => {
    await using conversation = acting((state) => {
      Object.defineProperty(state, 'total', {
        enumerable: true,
        get() {
          throw new Error('no total')
        },
      })
    })
    await conversation.say('a')
    conversation.expectError('FLOW_ERROR', 'no total')
  })

  test('more levels than maxJsonDepth', async () => {
    class Deep extends LogicStep<{ a?: unknown }> {
      static override readonly id = 'Deep'
      override run() {
        this.state.a = { b: {} }
        return reply('Deep.')
      }
    }
    await using conversation = new Conversation(flowOf(Deep), { limits: { maxJsonDepth: 3 } })
    await conversation.say('Hi')
    conversation.expectReply('Deep.')
    await using another = new Conversation(flowOf(Deep), { limits: { maxJsonDepth: 2 } })
    await another.say('Hi')
    another.expectError('LIMIT_EXCEEDED', /^The nesting of Deep\.state\.a\.b exceeds the limit maxJsonDepth \(2\)\./)
  })
})

describe('stateOf', () => {
  /** A flow in which one step looks at, and perhaps changes, the state of another. */
  function looking(look: (turn: Turn) => Transition): Conversation {
    class Look extends LogicStep {
      static override readonly id = 'Look'
      override run(turn: Turn) {
        return look(turn)
      }
    }
    return new Conversation(flowOf(Look, Visit))
  }

  test('of a step never entered gives its initial state, and is stored only once written', async () => {
    await using conversation = looking((turn) => reply({ count: turn.stateOf(Visit).count }))
    await conversation.say('Hi')
    conversation.expectReply('{"count":0}')
    expect(Object.keys(await stepsOf(conversation))).toEqual(['Look'])
  })

  test('that was only looked at is not stored, also where initialState() is another each time', async () => {
    let made = 0
    class Numbered extends LogicStep<{ number: number }> {
      static override readonly id = 'Numbered'
      override initialState() {
        return { number: ++made }
      }
      override run() {
        return reply('Here.')
      }
    }
    class Look extends LogicStep {
      static override readonly id = 'Look'
      override run(turn: Turn) {
        return reply(`${turn.stateOf(Numbered).number} ${turn.stateOf(Numbered).number}`)
      }
    }
    await using conversation = new Conversation(flowOf(Look, Numbered))
    await conversation.say('Hi')
    conversation.expectReply('1 1')
    expect(Object.keys(await stepsOf(conversation))).toEqual(['Look'])
  })

  test('is live: what is written to it is stored with the turn', async () => {
    await using conversation = looking((turn) => {
      turn.stateOf(Visit).names.push(turn.message)
      return reply(turn.stateOf(Visit).names.join(', '))
    })
    await conversation.say('Ada')
    conversation.expectReply('Ada')
    await conversation.say('Grace')
    conversation.expectReply('Ada, Grace')
    expect(await stepsOf(conversation)).toEqual({
      Look: { state: {} },
      Visit: { state: { count: 0, names: ['Ada', 'Grace'] } },
    })
  })

  test('is the state that the step itself sees in the same turn', async () => {
    await using conversation = looking((turn) => {
      turn.stateOf(Visit).names.push('before')
      return go(Visit)
    })
    await conversation.say('Ada')
    conversation.expectReply('1: before, Ada')
  })

  test('of a step of another flow is an error that lists the steps', async () => {
    const Elsewhere = place('Elsewhere')
    await using conversation = looking((turn) => reply(turn.stateOf(Elsewhere)))
    await conversation.say('Hi')
    conversation.expectError(
      'FLOW_ERROR',
      "Flow 'Test' has no step 'Elsewhere'. Its steps: Look, Visit, End. Add it to steps().",
    )
  })

  test('keeps the model that answered for the other step', async () => {
    class Talk extends Step<{ topic?: string }> {
      static override readonly id = 'Talk'
      override onReply(text: string) {
        return go(Look).withReply(text)
      }
    }
    class Look extends LogicStep {
      static override readonly id = 'Look'
      override run(turn: Turn) {
        turn.stateOf(Talk).topic = turn.message
        return reply('Noted.')
      }
    }
    await using conversation = new Conversation(flowOf(Talk, Look), { script: ['Hello.'] })
    await conversation.say('Hi')
    await conversation.say('bills')
    expect((await stepsOf(conversation)).Talk).toEqual({
      state: { topic: 'bills' },
      model: { provider: 'scripted', name: 'scripted' },
    })
  })
})

describe('the document of a turn', () => {
  test('[2.6-1] has the history, the usage and the sequence of what happened, and a new revision', async () => {
    await using conversation = new Conversation(flowOf(Visit), {
      clock: new VirtualClock(Date.UTC(2026, 0, 2)),
    })
    await conversation.say('Ada')
    const first = await conversation.document()
    await conversation.say('Grace')
    const second = await conversation.document()
    expect(first.revision).toMatch(/^1-/)
    expect(second.revision).toMatch(/^2-/)
    expect(second).toMatchObject({
      id: conversation.sessionId,
      version: 2,
      turns: 2,
      runStatus: 'running',
      createdAt: '2026-01-02T00:00:00.000Z',
      savedAt: '2026-01-02T00:00:00.000Z',
      error: [],
      usage: { inputTokens: 0, outputTokens: 0, modelCalls: 0 },
      flow: {
        name: 'Test',
        version: 1,
        currentStep: 'Visit',
        context: {},
        memory: {},
        sequence: [{ step: 'Visit', level: 0 }],
      },
    })
    expect(second.history).toEqual([
      {
        turn: 1,
        id: expect.any(String),
        at: '2026-01-02T00:00:00.000Z',
        message: 'Ada',
        reply: '1: Ada',
        contentType: 'text/plain',
        step: 'Visit',
      },
      {
        turn: 2,
        id: expect.any(String),
        at: '2026-01-02T00:00:00.000Z',
        message: 'Grace',
        reply: '2: Ada, Grace',
        contentType: 'text/plain',
        step: 'Visit',
      },
    ])
    expect(second.history[0]).toEqual(first.history[0])
    expect(second.history[1]?.id).not.toBe(first.history[0]?.id)
    expect(second.bytes).toBeGreaterThan(first.bytes)
  })

  test('is saved with a hint of how many entries each list gained', async () => {
    class Talk extends Step {
      static override readonly id = 'Talk'
      override readonly memory = 'desk'
    }
    await using conversation = new Conversation(flowOf(Talk), { script: ['Hello.', 'Fine.'] })
    await conversation.say('Hi')
    await conversation.say('How are you?')
    expect(conversation.store.journal.at(-1)?.hint).toEqual({ appended: { history: 1, 'memory:desk': 2 } })
  })

  test('of a request with a key is saved with the hint of one more receipt, which is counted', async () => {
    const { say, start, store, document } = talking(() => reply('Hello.'))
    const sessionId = await start('Talk')
    await say('Hi', sessionId, { idempotencyKey: 'key-of-the-second-turn' })
    expect(store.journal.at(-1)?.hint).toEqual({ appended: { history: 1, receipts: 1 } })
    const stored = await document(sessionId)
    expect(stored.bytes).toBe(bytesOfLists(JSON.parse(JSON.stringify(stored))))
  })

  test('reaches the store without names that have no value: JSON drops them, and other formats keep them', async () => {
    const { say, start, store } = talking(() => reply('Hello.'))
    const written: SessionDocument[] = []
    const [create, save] = [store.create.bind(store), store.save.bind(store)]
    store.create = (document, ...more) => {
      written.push(document)
      return create(document, ...more)
    }
    store.save = (document, ...more) => {
      written.push(document)
      return save(document, ...more)
    }
    await say('Hi', await start('Talk'))
    expect(written).toHaveLength(2)
    for (const document of written) expect(document).toStrictEqual(JSON.parse(JSON.stringify(document)))
  })

  test('may not grow beyond maxSessionBytes: the turn is refused, and the session goes on', async () => {
    await using conversation = new Conversation(flowOf(Visit), { limits: { maxSessionBytes: 600 } })
    await conversation.say('Ada')
    await conversation.say('x'.repeat(600))
    conversation.expectError('LIMIT_EXCEEDED', 'The session exceeds the limit maxSessionBytes (600).')
    expect(await conversation.document()).toMatchObject({ runStatus: 'running', history: [{ message: 'Ada' }] })
  })

  test.each<[string, Parameters<typeof acting>[0]]>([
    ['a state', (state) => Object.assign(state, { text: 'x'.repeat(500) })],
    ['a context', (_state, turn) => turn.addContext({ text: 'x'.repeat(500) })],
  ])('is refused where %s and the lists are larger than maxSessionBytes together', async (_what, act) => {
    await using conversation = acting(act, { limits: { maxSessionBytes: 600 } })
    await conversation.say('Hi')
    conversation.expectError('LIMIT_EXCEEDED', 'The session exceeds the limit maxSessionBytes (600).')
    await using roomy = acting(act, { limits: { maxSessionBytes: 800 } })
    await roomy.say('Hi')
    roomy.expectReply('Done.')
  })
})

test('sessions share the entries of their sequences, one for each step', async () => {
  const sequenceOf = async (): Promise<SessionDocument['flow']['sequence']> => {
    await using conversation = new Conversation(Shared)
    await conversation.say('Hi')
    return (await conversation.document()).flow.sequence
  }
  const Shared = flowOf(place('Start'))
  const [[one], [other]] = [await sequenceOf(), await sequenceOf()]
  expect(one).toEqual({ step: 'Start', level: 0 })
  expect(one).toBe(other)
})
