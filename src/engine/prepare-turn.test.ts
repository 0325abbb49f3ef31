import { describe, expect, test } from 'vitest'
import { chatWith, flowOf, lines, place, TestFlow } from '../../testing/contract/chat.js'
import { FakeSessionStore } from '../../testing/index.js'
import {
  type FlowConstructor,
  HttpContentType,
  LogicStep,
  reply,
  Step,
  type StepConstructor,
  type Turn,
} from '../index.js'

const Start = place('Start')

/** A flow of the class, under other static properties. */
function registered(
  flow: typeof TestFlow,
  statics: { id?: string; aliases?: readonly string[]; version?: number },
): FlowConstructor {
  class Registered extends flow {}
  for (const [name, value] of Object.entries(statics)) Object.defineProperty(Registered, name, { value })
  return Registered
}

/** One turn with the first flow, and then the session in the hands of the second. */
async function handedOver(first: FlowConstructor, second: FlowConstructor, script: readonly string[] = []) {
  const before = chatWith(first, { script })
  await before.execute('Hi')
  const after = chatWith(second, { sessionStore: before.store, script })
  after.sessionId = before.sessionId
  return { chat: after, stored: await before.document() }
}

describe('before any session is read', () => {
  class Talk extends Step {
    static override readonly id = 'Talk'
  }

  test.each([
    [
      'the constructor',
      class extends TestFlow {
        constructor() {
          super()
          throw new Error('no constructor')
        }
      },
      'no constructor',
    ],
    [
      'init',
      class extends flowOf(Start) {
        override init() {
          throw new Error('no init')
        }
      },
      'no init',
    ],
    [
      'steps',
      class extends TestFlow {
        override steps(): never {
          throw new Error('no steps')
        }
      },
      'no steps',
    ],
    [
      'model',
      class extends flowOf(Start) {
        override model(): never {
          throw new Error('no model')
        }
      },
      'no model',
    ],
  ])('what %s throws fails the run, and the session stays as it was', async (_where, flow, message) => {
    const chat = chatWith(flow)
    const { error, response } = await chat.execute('Hi', { sessionId: 'an-id' })
    expect(error).toMatchObject({ code: 'FLOW_ERROR', message })
    expect(response.session).toBe('an-id')
    expect(chat.store.operations).toEqual([])
  })

  test('init is waited for', async () => {
    class Waiting extends flowOf(Start) {
      override async init() {
        await Promise.resolve()
        this.addContext({ ready: true })
      }
    }
    const chat = chatWith(Waiting)
    await chat.say('Hi')
    expect((await chat.document()).flow.context).toEqual({ ready: true })
  })

  test('[4.4-18] the model of every model step is checked, also of one that is far away', async () => {
    class Far extends Step {
      static override readonly id = 'Far'
      override model() {
        return { provider: 'elsewhere', name: 'small' }
      }
    }
    const chat = chatWith(flowOf(Start, Far))
    await expect(chat.say('Hi', { sessionId: 'an-id' })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message:
        "Model provider 'elsewhere' is not registered. Registered: 'scripted'. Pass it to the engine as providers: [...].",
    })
    expect(chat.store.operations).toEqual([])
  })

  test("[4.4-18] the flow's own model is checked, though no step uses it", async () => {
    class Lost extends flowOf(Start) {
      override model() {
        return { provider: 'elsewhere', name: 'small' }
      }
    }
    const chat = chatWith(Lost)
    await expect(chat.say('Hi')).rejects.toMatchObject({ code: 'INVALID_INPUT' })
    expect(chat.store.operations).toEqual([])
  })

  test('a model step without a model is found', async () => {
    class Modelless extends flowOf(Start, Talk) {
      override model() {
        return undefined
      }
    }
    const chat = chatWith(Modelless)
    await expect(chat.say('Hi')).rejects.toMatchObject({
      code: 'FLOW_ERROR',
      message: "Step 'Talk' of flow 'Test' has no model. Return one from model() of the step or of the flow.",
    })
    expect(chat.store.operations).toEqual([])
  })

  test('a model step with its own model needs none of the flow', async () => {
    class Own extends Step {
      static override readonly id = 'Own'
      override model() {
        return { provider: 'scripted', name: 'own' }
      }
    }
    class Modelless extends flowOf(Own) {
      override model() {
        return undefined
      }
    }
    expect(await chatWith(Modelless, { script: ['Hello.'] }).say('Hi')).toBe('Hello.')
  })

  test("a step's parameters are merged with the flow's for the same model, and for no other", async () => {
    const params: unknown[] = []
    const selecting = (id: string, name: string): StepConstructor =>
      class extends Step {
        static override readonly id: string = id
        override model() {
          return { provider: 'scripted', name, params: { topP: 1, temperature: 1 } }
        }
      }
    class Merging extends flowOf(selecting('Same', 'large'), selecting('Other', 'small'), Talk) {
      override model() {
        return { provider: 'scripted', name: 'large', params: { temperature: 0, seed: 7 } }
      }
      override initialStep() {
        return ['Same', 'Other', 'Talk'][params.length]
      }
    }
    for (let turn = 0; turn < 3; turn++) {
      const chat = chatWith(Merging, { script: ['Hello.'] })
      await chat.say('Hi')
      params.push(chat.provider.requests[0]?.params)
    }
    expect(params).toEqual([
      { temperature: 1, seed: 7, topP: 1 },
      { topP: 1, temperature: 1 },
      { temperature: 0, seed: 7 },
    ])
  })
})

describe('the flow that a session is bound to', () => {
  test('[2.1-3 2.1-4 2.6-2] another one is refused, before its restore hooks, and the document stays', async () => {
    let restored = 0
    class Other extends flowOf(Start) {
      static override readonly id = 'Other'
      override onRestore() {
        restored++
      }
    }
    const { chat, stored } = await handedOver(flowOf(Start), Other)
    const { error, response } = await chat.execute('Hi')
    expect(error).toMatchObject({
      code: 'SESSION_FLOW_MISMATCH',
      message: `Session '${stored.id}' belongs to flow 'Test' and cannot run flow 'Other'.`,
    })
    expect(response.session).toBe(stored.id)
    expect(restored).toBe(0)
    expect(await chat.document()).toEqual(stored)
  })

  test('is found under its former names', async () => {
    const { chat, stored } = await handedOver(
      flowOf(Start),
      registered(flowOf(Start), { id: 'Renamed', aliases: ['Older', 'Test'] }),
    )
    expect(await chat.say('Hi')).toBe('At Start.')
    expect(await chat.document()).toMatchObject({
      id: stored.id,
      flow: { name: 'Test' },
      history: [{ turn: 1 }, { turn: 2 }],
    })
  })

  test.each([
    ['newer', 1, 2],
    ['older', 2, 1],
  ])('in a %s version refuses the session, and the document stays', async (_how, first, second) => {
    const { chat, stored } = await handedOver(
      registered(flowOf(Start), { version: first }),
      registered(flowOf(Start), { version: second }),
    )
    expect((await chat.execute('Hi')).error).toMatchObject({
      code: 'SESSION_FLOW_INVARIANT',
      message: `Session '${stored.id}' is malformed: it was stored by version ${first} of flow 'Test', and this is version ${second}.`,
    })
    expect(await chat.document()).toEqual(stored)
  })

  test('without the step that the session is in refuses it, and the document stays', async () => {
    const { chat, stored } = await handedOver(flowOf(Start), flowOf(place('Other')))
    expect((await chat.execute('Hi')).error).toMatchObject({
      code: 'SESSION_FLOW_INVARIANT',
      message: `Session '${stored.id}' is malformed: its current step is 'Start', and the steps of its flow are Other, End.`,
    })
    expect(await chat.document()).toEqual(stored)
  })
})

describe('a step under a new ID', () => {
  interface Count {
    count?: number
  }
  class Old extends Step<Count> {
    static override readonly id: string = 'Old'
    override onEnter() {
      this.state.count = 1
    }
  }
  class New extends Step<Count> {
    static override readonly id: string = 'New'
    static override readonly aliases = ['Older', 'Old']
    override onReply(text: string, turn: Turn) {
      this.state.count = (this.state.count ?? 0) + 10
      return `${text} ${turn.entered}`
    }
  }

  test('takes over position, state, memory and model of its former ones', async () => {
    const { chat } = await handedOver(flowOf(Old), flowOf(Start, New), ['Hello.', 'Again.'])
    expect(await chat.say('How are you?')).toBe('Hello. false')
    const { flow } = await chat.document()
    expect(flow.currentStep).toBe('New')
    expect(flow.steps).toEqual({ New: { state: { count: 11 }, model: { provider: 'scripted', name: 'scripted' } } })
    expect(Object.keys(flow.memory)).toEqual(['New'])
    expect(lines(flow.memory.New?.messages)).toEqual([
      'user: Hi',
      'assistant: Hello.',
      'user: How are you?',
      'assistant: Hello. false',
    ])
  })

  test('keeps the content type that was set in the former one', async () => {
    class Page extends LogicStep {
      static override readonly id: string = 'Page'
      override run(turn: Turn) {
        return turn.number === 1 ? reply('a').withContentType(HttpContentType.Html) : reply('b')
      }
    }
    class Leaf extends Page {
      static override readonly id: string = 'Leaf'
      static override readonly aliases = ['Page']
    }
    const { chat } = await handedOver(flowOf(Page), flowOf(Leaf))
    expect((await chat.execute('Hi')).response).toMatchObject({ message: 'b', contentType: 'text/html' })
  })

  test('prefers what is stored under its own ID', async () => {
    class Both extends LogicStep<Count> {
      static override readonly id: string = 'Both'
      override run(turn: Turn) {
        turn.stateOf(Old).count = 1
        turn.stateOf(Plain).count = 2
        return reply('Stored.')
      }
    }
    class Plain extends Step<Count> {
      static override readonly id = 'New'
    }
    class Reading extends Both {
      override run(turn: Turn) {
        return reply(JSON.stringify(turn.stateOf(New)))
      }
    }
    const { chat } = await handedOver(flowOf(Both, Old, Plain), flowOf(Reading, New))
    expect(await chat.say('Hi')).toBe('{"count":2}')
    expect(Object.keys((await chat.document()).flow.steps).sort()).toEqual(['Both', 'New'])
  })

  test('leaves the other steps alone', async () => {
    const { chat, stored } = await handedOver(flowOf(Start), flowOf(Start, New))
    await chat.say('Hi')
    expect((await chat.document()).flow.steps).toEqual(stored.flow.steps)
  })
})

describe('a new session', () => {
  test('is started for an ID that is unknown, under an ID of its own', async () => {
    const chat = chatWith(flowOf(Start))
    const { response } = await chat.execute('Hi', { sessionId: 'made-up' })
    expect(response).toMatchObject({ success: true, message: 'At Start.' })
    expect(response.session).not.toBe('made-up')
    expect(chat.store.operations).toEqual(['load', 'create'])
  })

  test('is refused for one with unknownSession reject', async () => {
    const chat = chatWith(flowOf(Start), { unknownSession: 'reject' })
    await expect(chat.say('Hi', { sessionId: 'made-up' })).rejects.toMatchObject({
      code: 'SESSION_NOT_FOUND',
      message: "Session 'made-up' does not exist or has ended. Leave the session ID out to start a new one.",
    })
    expect(chat.store.operations).toEqual(['load'])
  })

  test('keeps its owner, and another owner gets a new one', async () => {
    const chat = chatWith(flowOf(Start))
    await chat.say('Hi', { owner: 'ada' })
    const { session } = (await chat.execute('Hi', { owner: 'ada' })).response
    expect((await chat.document()).owner).toBe('ada')
    expect((await chat.execute('Hi', { owner: 'grace' })).response.session).not.toBe(session)
    expect((await chat.execute('Hi', { sessionId: session })).response.session).not.toBe(session)
    expect((await chat.engine.getSession(session))?.history).toHaveLength(2)
  })
})

describe('a batch flow', () => {
  class Batch extends flowOf(
    class Counting extends LogicStep<{ count?: number }> {
      override run(turn: Turn) {
        this.state.count = turn.number
        if (turn.message === 'fail') throw new Error('failed')
        return reply(`Turn ${turn.number}.`)
      }
    },
  ) {
    override isBatch() {
      return true
    }
  }

  test('[4.5-3] saves the session once more, before each turn', async () => {
    const chat = chatWith(Batch)
    await chat.say('a')
    expect(chat.store.operations).toEqual(['create', 'save'])
    await chat.say('b')
    expect(chat.store.operations).toEqual(['create', 'save', 'load', 'save', 'save'])
    expect(await chat.document()).toMatchObject({ history: [{ turn: 1 }, { turn: 2 }] })
  })

  test('saves the state before the turn, never half of it', async () => {
    const store = new FakeSessionStore()
    const chat = chatWith(Batch, { sessionStore: store })
    await chat.say('a')
    const [created, saved] = store.journal
    expect(saved?.expectedRevision).toBe(created?.revision)
    await expect(chat.say('fail')).rejects.toThrow('failed')
    expect(await chat.document()).toMatchObject({
      runStatus: 'aborted',
      history: [{ turn: 1 }],
      flow: { steps: { Counting: { state: { count: 1 } } } },
    })
  })

  test('whose first turn was never saved starts from the beginning', async () => {
    const chat = chatWith(Batch)
    const sessions: string[] = []
    chat.engine.on('session:created', ({ sessionId }) => sessions.push(sessionId))
    chat.store.failNext('save', { times: Number.POSITIVE_INFINITY })
    expect((await chat.execute('a')).error?.code).toBe('SESSION_STORE_ERROR')
    chat.store.heal()
    chat.sessionId = sessions[0] ?? ''
    expect(await chat.document()).toMatchObject({ runStatus: 'running', history: [], flow: { currentStep: null } })
    expect(await chat.say('b')).toBe('Turn 1.')
    expect((await chat.document()).id).toBe(sessions[0])
  })

  test('creates its document also where the first turn fails', async () => {
    const chat = chatWith(Batch)
    const { response } = await chat.execute('fail')
    expect(chat.store.operations).toEqual(['create', 'save'])
    expect(response.session).not.toBe('')
    expect(await chat.document()).toMatchObject({ runStatus: 'aborted', error: ['failed'], history: [] })
  })
})
