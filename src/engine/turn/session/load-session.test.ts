import { describe, expect, test } from 'vitest'
import { flowOf, lines, place, TestFlow } from '../../../../testing/contract/test-flows.js'
import { Conversation, FakeSessionStore, scriptedProvider } from '../../../../testing/index.js'
import {
  type FlowConstructor,
  FlowEngine,
  go,
  HttpContentType,
  LogicStep,
  MemorySessionStore,
  reply,
  Step,
  type StepConstructor,
  type Turn,
} from '../../../index.js'

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

/** An engine with the flow. In a conversation the script would stand in for the providers that are missing. */
function engineWith(flow: FlowConstructor): { engine: FlowEngine; sessionStore: FakeSessionStore } {
  const sessionStore = new FakeSessionStore()
  return { engine: new FlowEngine({ flows: [flow], providers: [scriptedProvider([])], sessionStore }), sessionStore }
}

/** One turn with the first flow, and then the session in the hands of the second. */
async function handedOver(first: FlowConstructor, second: FlowConstructor, script: readonly string[] = []) {
  const store = new MemorySessionStore()
  const createStore = (): MemorySessionStore => store
  const before = new Conversation(first, { script, createStore })
  await before.say('Hi')
  const conversation = new Conversation(second, { script, createStore })
  conversation.sessionId = before.sessionId
  return { conversation, stored: await before.document() }
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
    await using conversation = new Conversation(flow)
    const response = await conversation.say('Hi', { sessionId: 'an-id' })
    conversation.expectError('FLOW_ERROR', message)
    expect(response.session).toBe('an-id')
    // Only for the state of the session.
    expect(conversation.store.operations).toEqual(['load'])
  })

  test('init is waited for', async () => {
    class Waiting extends flowOf(Start) {
      override async init() {
        await Promise.resolve()
        this.addContext({ ready: true })
      }
    }
    await using conversation = new Conversation(Waiting)
    await conversation.say('Hi')
    expect((await conversation.document()).flow.context).toEqual({ ready: true })
  })

  test('[4.4-18] the model of every model step is checked, also of one that is far away', async () => {
    class Far extends Step {
      static override readonly id = 'Far'
      override model() {
        return { provider: 'elsewhere', name: 'small' }
      }
    }
    const { engine, sessionStore } = engineWith(flowOf(Start, Far))
    const { error } = await engine.execute({ flowName: 'Test', userMessage: 'Hi', sessionId: 'an-id' })
    expect(error).toMatchObject({
      code: 'INVALID_INPUT',
      message:
        "Model provider 'elsewhere' is not registered. Registered: 'scripted'. Pass it to the engine as providers: [...].",
    })
    // Only for the state of the session.
    expect(sessionStore.operations).toEqual(['load'])
  })

  test("[4.4-18] the flow's own model is checked, though no step uses it", async () => {
    class Lost extends flowOf(Start) {
      override model() {
        return { provider: 'elsewhere', name: 'small' }
      }
    }
    const { engine, sessionStore } = engineWith(Lost)
    const { error } = await engine.execute({ flowName: 'Test', userMessage: 'Hi' })
    expect(error).toMatchObject({ code: 'INVALID_INPUT' })
    expect(sessionStore.operations).toEqual([])
  })

  test('a model step without a model is found', async () => {
    class Modelless extends flowOf(Start, Talk) {
      override model() {
        return undefined
      }
    }
    await using conversation = new Conversation(Modelless)
    await conversation.say('Hi')
    conversation.expectError(
      'FLOW_ERROR',
      "Step 'Talk' of flow 'Test' has no model. Return one from model() of the step or of the flow.",
    )
    expect(conversation.store.operations).toEqual([])
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
    await using conversation = new Conversation(Modelless, { script: ['Hello.'] })
    await conversation.say('Hi')
    conversation.expectReply('Hello.')
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
      await using conversation = new Conversation(Merging, { script: ['Hello.'] })
      await conversation.say('Hi')
      params.push(conversation.model.requests[0]?.params)
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
    const { conversation, stored } = await handedOver(flowOf(Start), Other)
    const response = await conversation.say('Hi')
    conversation.expectError(
      'SESSION_FLOW_MISMATCH',
      `Session '${stored.id}' belongs to flow 'Test' and cannot run flow 'Other'.`,
    )
    expect(response.session).toBe(stored.id)
    expect(restored).toBe(0)
    expect(await conversation.document()).toEqual(stored)
  })

  test('is found under its former names', async () => {
    const { conversation, stored } = await handedOver(
      flowOf(Start),
      registered(flowOf(Start), { id: 'Renamed', aliases: ['Older', 'Test'] }),
    )
    await conversation.say('Hi')
    conversation.expectReply('At Start.')
    expect(await conversation.document()).toMatchObject({
      id: stored.id,
      flow: { name: 'Test' },
      history: [{ turn: 1 }, { turn: 2 }],
    })
  })

  test.each([
    ['newer', 1, 2],
    ['older', 2, 1],
  ])('in a %s version refuses the session, and the document stays', async (_how, first, second) => {
    const { conversation, stored } = await handedOver(
      registered(flowOf(Start), { version: first }),
      registered(flowOf(Start), { version: second }),
    )
    await conversation.say('Hi')
    conversation.expectError(
      'SESSION_FLOW_INVARIANT',
      `Session '${stored.id}' is malformed: it was stored by version ${first} of flow 'Test', and this is version ${second}.`,
    )
    expect(await conversation.document()).toEqual(stored)
  })

  test('without the step that the session is in refuses it, and the document stays', async () => {
    const { conversation, stored } = await handedOver(flowOf(Start), flowOf(place('Other')))
    await conversation.say('Hi')
    conversation.expectError(
      'SESSION_FLOW_INVARIANT',
      `Session '${stored.id}' is malformed: its current step is 'Start', and the steps of its flow are Other, End (former IDs belong into static aliases).`,
    )
    expect(await conversation.document()).toEqual(stored)
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
    const { conversation } = await handedOver(flowOf(Old), flowOf(Start, New), ['Hello.', 'Again.'])
    await conversation.say('How are you?')
    conversation.expectReply('Hello. false')
    const { flow } = await conversation.document()
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
        return turn.number === 1 ? go('Page').withReply('a').withContentType(HttpContentType.Html) : reply('b')
      }
    }
    class Leaf extends Page {
      static override readonly id: string = 'Leaf'
      static override readonly aliases = ['Page']
    }
    const { conversation } = await handedOver(flowOf(Page), flowOf(Leaf))
    await conversation.say('Hi')
    expect(conversation.reply).toMatchObject({ message: 'b', contentType: 'text/html' })
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
    const { conversation } = await handedOver(flowOf(Both, Old, Plain), flowOf(Reading, New))
    await conversation.say('Hi')
    conversation.expectReply('{"count":2}')
    expect(Object.keys((await conversation.document()).flow.steps).sort()).toEqual(['Both', 'New'])
  })

  test('leaves the other steps alone', async () => {
    const { conversation, stored } = await handedOver(flowOf(Start), flowOf(Start, New))
    await conversation.say('Hi')
    expect((await conversation.document()).flow.steps).toEqual(stored.flow.steps)
  })
})

describe('a new session', () => {
  test('is started for an ID that is unknown, under an ID of its own', async () => {
    await using conversation = new Conversation(flowOf(Start))
    const response = await conversation.say('Hi', { sessionId: 'made-up' })
    expect(response).toMatchObject({ success: true, message: 'At Start.' })
    expect(response.session).not.toBe('made-up')
    expect(conversation.store.operations).toEqual(['load', 'create'])
  })

  test('is refused for one with unknownSession reject', async () => {
    await using conversation = new Conversation(flowOf(Start), { unknownSession: 'reject' })
    await conversation.say('Hi', { sessionId: 'made-up' })
    conversation.expectError(
      'SESSION_NOT_FOUND',
      "Session 'made-up' does not exist or has ended. Leave the session ID out to start a new one.",
    )
    expect(conversation.store.operations).toEqual(['load'])
  })

  test('keeps its owner, and another owner gets a new one', async () => {
    await using conversation = new Conversation(flowOf(Start))
    await conversation.say('Hi', { owner: 'ada' })
    const { session } = await conversation.say('Hi', { owner: 'ada' })
    expect((await conversation.document()).owner).toBe('ada')
    expect((await conversation.say('Hi', { owner: 'grace' })).session).not.toBe(session)
    expect((await conversation.say('Hi', { sessionId: session })).session).not.toBe(session)
    expect((await conversation.engine.getSession(session))?.history).toHaveLength(2)
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
    await using conversation = new Conversation(Batch)
    await conversation.say('a')
    expect(conversation.store.operations).toEqual(['create', 'save'])
    await conversation.say('b')
    expect(conversation.store.operations).toEqual(['create', 'save', 'load', 'save', 'save'])
    expect(await conversation.document()).toMatchObject({ history: [{ turn: 1 }, { turn: 2 }] })
  })

  test('saves the state before the turn, never half of it', async () => {
    await using conversation = new Conversation(Batch)
    await conversation.say('a')
    const [created, saved] = conversation.store.journal
    expect(saved?.expectedRevision).toBe(created?.revision)
    await conversation.say('fail')
    conversation.expectError('FLOW_ERROR', 'failed')
    expect(await conversation.document()).toMatchObject({
      runStatus: 'aborted',
      history: [{ turn: 1 }],
      flow: { steps: { Counting: { state: { count: 1 } } } },
    })
  })

  test('whose first turn was never saved starts from the beginning', async () => {
    await using conversation = new Conversation(Batch)
    const sessions: string[] = []
    await conversation.open()
    conversation.engine.on('session:created', ({ sessionId }) => sessions.push(sessionId))
    conversation.store.failNext('save', { times: Number.POSITIVE_INFINITY })
    await conversation.say('a')
    conversation.expectError('SESSION_STORE_ERROR')
    conversation.store.heal()
    conversation.sessionId = sessions[0] ?? ''
    expect(await conversation.document()).toMatchObject({
      runStatus: 'running',
      history: [],
      flow: { currentStep: null },
    })
    await conversation.say('b')
    conversation.expectReply('Turn 1.')
    expect((await conversation.document()).id).toBe(sessions[0])
  })

  test('creates its document also where the first turn fails', async () => {
    await using conversation = new Conversation(Batch)
    const response = await conversation.say('fail')
    conversation.expectError('FLOW_ERROR', 'failed')
    expect(conversation.store.operations).toEqual(['create', 'save'])
    expect(response.session).not.toBe('')
    expect(await conversation.document()).toMatchObject({ runStatus: 'aborted', error: ['failed'], history: [] })
  })
})
