import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectNothingLeft, gate, harness, never } from '../../../testing/contract/engine-harness.js'
import { namesOf, recordEvents } from '../../../testing/contract/event-recorder.js'
import {
  type Act,
  Chat,
  calls,
  fails,
  hello,
  modelHarness,
  says,
  silent,
  toolThat,
} from '../../../testing/contract/model-harness.js'
import { delta, modelStep, pieces, readAll, shortly, streaming } from '../../../testing/contract/stream-harness.js'
import { flowOf as flowOfSteps, lines, place } from '../../../testing/contract/test-flows.js'
import { EngineClosedError, TurnAbortedError, TurnTimeoutError } from '../../errors/engine-errors.js'
import {
  EndStep,
  Flow,
  type FlowConstructor,
  type FlowEngineOptions,
  FlowError,
  finish,
  go,
  InvalidInputError,
  LogicStep,
  reply,
  retry,
  SessionConflictError,
  SessionStoreError,
  Step,
  type StepConstructor,
  stay,
  type Tool,
  type Transition,
  type Turn,
} from '../../index.js'
import { TurnWork } from '../turn/control/turn-work.js'

afterEach(expectNothingLeft)

type Answer = (error: FlowError, turn: Turn) => unknown

/** What `onError` was called with, in short: `FLOW_ERROR: It broke.` */
let asked: string[] = []

/** A flow, `Talk`, of these steps, whose `onError` does `answer`. */
function answering(answer: Answer, ...steps: readonly StepConstructor[]) {
  asked = []
  return class Talk extends Flow {
    static override readonly id: string = 'Talk'
    override steps() {
      return steps
    }
    override onError(error: FlowError, turn: Turn) {
      asked.push(`${error.code}: ${error.message}`)
      return answer(error, turn) as Transition
    }
  }
}

/** A logic step, `Only`, whose `run` throws what `make` makes when the message is `fail`. */
function failing(make: () => unknown, members: object = {}): StepConstructor {
  return class extends LogicStep<{ count?: number }> {
    static override readonly id = 'Only'
    constructor() {
      super()
      Object.assign(this, members)
    }
    override run(turn: Turn) {
      if (turn.message === 'fail') throw make()
      this.state.count = (this.state.count ?? 0) + 1
      return reply(`count ${this.state.count}`)
    }
  }
}

const broken = () => new Error('It broke.')
const sorry: Answer = () => reply('Sorry.')

/** A session of `flow` after its first turn. */
async function started(flow: FlowConstructor, options: FlowEngineOptions = {}) {
  const made = harness({ flows: [flow], ...options })
  const events = recordEvents(made.engine)
  const session = await made.start('Talk')
  events.length = 0
  const input = (userMessage: string) => ({ flowName: 'Talk', userMessage, sessionId: session })
  const say = (userMessage = 'fail') => made.engine.execute(input(userMessage))
  return { ...made, events, session, input, say }
}

describe('a flow that answers for a failure', () => {
  test('answers the turn, which succeeds and is stored', async () => {
    const { say, document, session, events } = await started(answering(sorry, failing(broken)))
    expect(await say()).toEqual({
      response: { success: true, completed: false, message: 'Sorry.', session, contentType: 'text/plain' },
      sessionState: 'running',
    })
    expect(asked).toEqual(['FLOW_ERROR: It broke.'])
    expect(await document(session)).toMatchObject({
      runStatus: 'running',
      error: [],
      turns: 2,
      history: [{ turn: 1 }, { turn: 2, message: 'fail', reply: 'Sorry.', step: 'Only' }],
    })
    expect(namesOf(events)).not.toContain('turn:error')
    expect((await say('on')).response.message).toBe('count 2')
  })

  test('sees the session as it was before the turn, and the error', async () => {
    let seen: unknown
    class Only extends LogicStep<{ count?: number }> {
      static override readonly id = 'Only'
      override run(turn: Turn) {
        if (turn.message !== 'fail') return reply('ok')
        this.state.count = 7
        turn.transient.set('half', true)
        return go(Next).withMessage('replaced')
      }
    }
    class Next extends LogicStep {
      static override readonly id = 'Next'
      override run(turn: Turn): never {
        turn.stateOf(Only).count = 8
        throw broken()
      }
    }
    const flow = class extends answering(
      (error, turn) => {
        const { message, number, entered, transient, session } = turn
        const { isNew } = session
        seen = {
          same: turn.error === error,
          message,
          number,
          entered,
          isNew,
          half: transient.has('half'),
          count: turn.stateOf(Only).count,
          context: turn.context,
        }
        return reply('Sorry.')
      },
      Only,
      Next,
    ) {
      override init() {
        this.addContext({ shop: 'tea' })
      }
      override tools() {
        return []
      }
    }
    const { say, document, session } = await started(flow)
    const before = await document(session)
    await say()
    expect(seen).toEqual({
      same: true,
      message: 'fail',
      number: 2,
      entered: false,
      isNew: false,
      half: false,
      count: undefined,
      context: { shop: 'tea' },
    })
    const { flow: after } = await document(session)
    expect(after).toEqual(before.flow)
  })

  test('sees the context as it was, and what it adds is stored', async () => {
    let seen: unknown
    class Only extends LogicStep {
      static override readonly id = 'Only'
      override run(turn: Turn) {
        if (turn.message !== 'fail') return reply('ok')
        theFlow?.addContext({ half: true })
        throw broken()
      }
    }
    let theFlow: Flow | undefined
    const flow = class extends answering((_error, turn) => {
      seen = turn.context
      theFlow?.addContext({ failed: 1 })
      return reply('Sorry.')
    }, Only) {
      override init() {
        theFlow = this
      }
    }
    const { say, document, session } = await started(flow)
    await say()
    expect(seen).toEqual({})
    expect((await document(session)).flow.context).toEqual({ failed: 1 })
  })

  test('changes the state of its steps, and that is stored', async () => {
    const Only = failing(broken)
    const { say, document, session } = await started(
      answering((_error, turn) => {
        Object.assign(turn.stateOf(Only), { failed: true })
        return reply('Sorry.')
      }, Only),
    )
    await say()
    expect((await document(session)).flow.steps.Only?.state).toEqual({ count: 1, failed: true })
  })

  test('by a promise', async () => {
    const { say } = await started(answering(async () => reply('In a moment.'), failing(broken)))
    expect((await say()).response).toMatchObject({ success: true, message: 'In a moment.' })
  })

  test('by going on: from the step in which the turn began, and with its hooks', async () => {
    const walked: string[] = []
    const Only = failing(broken, { onExit: () => void walked.push('exit Only') })
    class Repair extends LogicStep {
      static override readonly id = 'Repair'
      override onEnter() {
        walked.push('enter Repair')
      }
      override run(turn: Turn) {
        return reply(`${turn.entered} ${turn.message} ${turn.error?.message}`)
      }
    }
    const { say, document, session } = await started(answering(() => go(Repair), Only, Repair))
    expect((await say()).response.message).toBe('true fail It broke.')
    expect(walked).toEqual(['exit Only', 'enter Repair'])
    expect((await document(session)).flow.currentStep).toBe('Repair')
  })

  test('by ending the session', async () => {
    const { say, document, session, events } = await started(answering(() => finish('Good bye.'), failing(broken)))
    expect(await say()).toMatchObject({
      response: { success: true, completed: true, message: 'Good bye.' },
      sessionState: 'completed',
    })
    expect((await document(session)).runStatus).toBe('completed')
    expect(namesOf(events)).toContain('session:completed')
  })

  test('by a text of stay', async () => {
    const { say } = await started(answering(() => stay('Once more?'), failing(broken)))
    expect((await say()).response).toMatchObject({ success: true, message: 'Once more?' })
  })

  test('in the first turn, before any step was entered; the next turn enters the first one', async () => {
    const entered: string[] = []
    const Only = failing(broken, { onEnter: (turn: Turn) => void entered.push(turn.message) })
    const { engine, document } = harness({ flows: [answering(sorry, Only)] })
    const { session, ...first } = await engine.run({ flowName: 'Talk', userMessage: 'fail' })
    expect(first).toMatchObject({ success: true, completed: false, message: 'Sorry.' })
    expect(await document(session)).toMatchObject({
      turns: 1,
      history: [{ turn: 1, reply: 'Sorry.', step: 'Only' }],
      flow: { currentStep: null, steps: {}, sequence: [] },
    })
    const next = await engine.run({ flowName: 'Talk', userMessage: 'on', sessionId: session })
    expect([next.message, entered]).toEqual(['count 1', ['fail', 'on']])
    expect((await document(session)).flow.currentStep).toBe('Only')
  })
})

describe('a flow that does not answer', () => {
  test.each([undefined, async () => undefined].map((returned) => [String(returned), returned]))(
    'but returns nothing (%s): the turn fails as it did',
    async (_name, returned) => {
      const { say, document, session } = await started(
        answering(() => (typeof returned === 'function' ? returned() : returned), failing(broken)),
      )
      expect(await say()).toMatchObject({
        response: { message: 'It broke.' },
        error: { code: 'FLOW_ERROR' },
        sessionState: 'aborted',
      })
      expect(asked).toHaveLength(1)
      expect((await document(session)).error).toEqual(['It broke.'])
    },
  )

  test('but throws: what it throws is the failure, and it is not asked for that', async () => {
    const { say, document, session } = await started(
      answering(() => {
        throw new Error('Worse.')
      }, failing(broken)),
      { onTurnError: 'rollback' },
    )
    expect(await say()).toMatchObject({ response: { message: 'Worse.' }, sessionState: 'running' })
    expect(asked).toEqual(['FLOW_ERROR: It broke.'])
    expect((await document(session)).error).toEqual(['Worse.'])
  })

  test.each([
    [() => 'Sorry.', "onError of flow 'Talk' must return nothing or a transition."],
    [() => null, "onError of flow 'Talk' must return nothing or a transition."],
    [
      () => retry('again'),
      "Flow 'Talk' returned retry() from onError. Only onReply and tools may: return reply(text) to answer the user.",
    ],
    [() => stay(), "Flow 'Talk' returned stay() without a text from onError."],
    [() => go('nowhere'), "Flow 'Talk' has no step 'nowhere'. Its steps: Only, End. Add it to steps()."],
  ])('but returns what it may not: %s', async (answer, message) => {
    const { say } = await started(answering(answer, failing(broken)))
    expect(await say()).toMatchObject({ response: { success: false, message }, error: { code: 'FLOW_ERROR' } })
    expect(asked).toEqual(['FLOW_ERROR: It broke.'])
  })

  test('twice: a failure after its go() is the failure of the turn', async () => {
    class Repair extends LogicStep {
      static override readonly id = 'Repair'
      override run(): never {
        throw new Error('Neither here.')
      }
    }
    const { say, document, session } = await started(answering(() => go(Repair), failing(broken), Repair))
    const before = await document(session)
    expect((await say()).response.message).toBe('Neither here.')
    expect(asked).toEqual(['FLOW_ERROR: It broke.'])
    expect((await document(session)).flow).toEqual(before.flow)
  })
})

describe('it is asked for failures of', () => {
  const bad = (turn: Turn): void => {
    if (turn.message === 'fail') throw broken()
  }
  const goingTo = (step: StepConstructor): StepConstructor =>
    class extends LogicStep {
      static override readonly id = 'Only'
      override run(turn: Turn) {
        return turn.message === 'fail' ? go(step) : reply('ok')
      }
    }
  class BadEntry extends LogicStep {
    static override readonly id = 'BadEntry'
    override onEnter = bad
    override run() {
      return reply('never')
    }
  }
  class BadEnd extends EndStep {
    static override readonly id = 'BadEnd'
    override message(): never {
      throw broken()
    }
  }
  const leaving = class extends goingTo(BadEntry) {
    override onExit = bad
  }

  test.each<[string, readonly StepConstructor[]]>([
    ['run', [failing(broken)]],
    ['onEnter', [goingTo(BadEntry), BadEntry]],
    ['onExit', [leaving as StepConstructor, BadEntry]],
    ['onRestore of a step', [failing(broken, { onRestore: bad })]],
    ['message of an end step', [goingTo(BadEnd), BadEnd]],
  ])('%s', async (_hook, steps) => {
    const { say } = await started(answering(sorry, ...steps))
    expect((await say()).response).toMatchObject({ success: true, message: 'Sorry.' })
    expect(asked).toEqual(['FLOW_ERROR: It broke.'])
  })

  /** A chat whose model step has these members, and its answers. */
  async function chat(members: object, acts: readonly Act[], options: FlowEngineOptions = {}, ofFlow: object = {}) {
    asked = []
    const talk = modelStep(members)
    class Asking extends Chat {
      constructor() {
        super()
        Object.assign(this, ofFlow)
      }
      override steps() {
        return [talk]
      }
      override onError(error: FlowError, turn: Turn) {
        asked.push(`${error.code}: ${error.message}`)
        return sorry(error, turn) as Transition
      }
    }
    const made = modelHarness({ 'own/small': acts }, { flows: [Asking], modelRetry: { maxAttempts: 1 }, ...options })
    return { ...made, say: () => made.engine.execute(hello) }
  }

  const throws = (): never => {
    throw broken()
  }
  test.each<[string, object, object, readonly Act[]]>([
    ['prompt', { prompt: throws }, {}, []],
    ['tools() of a step', { tools: throws }, {}, []],
    ['tools() of the flow', {}, { tools: throws }, []],
    ['onReply', { onReply: throws }, {}, ['Hi']],
    ['onModelError of the step', { onModelError: throws }, {}, [fails(broken())]],
    [
      'onModelBlocked of the flow',
      {},
      { onModelBlocked: throws },
      [() => ({ parts: [], finishReason: 'content-filter' })],
    ],
  ])('%s', async (_hook, members, ofFlow, acts) => {
    const { say } = await chat(members, acts, {}, ofFlow)
    expect((await say()).response).toMatchObject({ success: true, message: 'Sorry.' })
    expect(asked).toEqual(['FLOW_ERROR: It broke.'])
  })

  test('a tool', async () => {
    const { say } = await chat({ tools: () => [toolThat('pay', throws)] }, [calls('pay')])
    expect((await say()).response).toMatchObject({ success: true, message: 'Sorry.' })
    expect(asked).toEqual(['TOOL_ERROR: It broke.'])
  })

  test('a model, after onModelError of the step and of the flow', async () => {
    const order: string[] = []
    const { say, document } = await chat(
      { onModelError: () => void order.push('step') },
      [fails(broken())],
      {},
      { onModelError: () => void order.push('flow') },
    )
    const { response } = await say()
    expect(response).toMatchObject({ success: true, message: 'Sorry.' })
    expect(order).toEqual(['step', 'flow'])
    expect(asked).toEqual(["MODEL_ERROR: Model 'small' of provider 'own' failed."])
    expect((await document(response.session)).flow.memory).toMatchObject({
      Talk: { messages: [{ turn: 1 }, { turn: 1 }] },
    })
  })

  test('a model, unless onModelError answered', async () => {
    const { say } = await chat({ onModelError: () => reply('Later.') }, [fails(broken())])
    expect([(await say()).response.message, asked]).toEqual(['Later.', []])
  })

  test('a model that blocks its answer', async () => {
    const { say } = await chat({}, [() => ({ parts: [], finishReason: 'content-filter' })])
    await say()
    expect(asked).toEqual(["MODEL_BLOCKED: Model 'small' of provider 'own' blocked its answer."])
  })

  test('a budget that is used up; what was spent stays spent', async () => {
    const { say, document, engine } = await chat({ tools: () => [toolThat('look', () => 'found')] }, [calls('look')], {
      budgets: { turn: { modelCalls: 1 } },
    })
    const { response } = await say()
    expect(response).toMatchObject({ success: true, message: 'Sorry.' })
    expect(asked).toEqual(["BUDGET_EXCEEDED: The turn's budget modelCalls (1) is used up: 1 spent."])
    expect((await document(response.session)).usage.modelCalls).toBe(1)
    expect(engine.getFlowNames()).toEqual(['Chat'])
  })

  test.each<[string, NonNullable<FlowEngineOptions['limits']>, readonly Act[]]>([
    ['maxModelCallsPerTurn', { maxModelCallsPerTurn: 1 }, [calls('look')]],
    ['maxSessionBytes', { maxSessionBytes: 1500 }, ['x'.repeat(3000)]],
  ])('a limit: %s', async (limit, limits, acts) => {
    const { say } = await chat({ tools: () => [toolThat('look', () => 'found')] }, acts, { limits })
    expect((await say()).response).toMatchObject({ success: true, message: 'Sorry.' })
    expect(asked).toEqual([expect.stringMatching(new RegExp(`^LIMIT_EXCEEDED: .*${limit}`))])
  })

  test('the time of a tool; what the tool does later changes nothing', async () => {
    const { opened, open } = gate()
    let late = ''
    class Talk extends Step<{ paid?: boolean }> {
      static override readonly id = 'Talk'
      override tools(): readonly Tool[] {
        return [
          toolThat('pay', async (...[, turn]: unknown[]) => {
            await opened
            this.state.paid = true
            ;(turn as Turn).addContext({ paid: true })
            late = 'ran'
          }),
        ]
      }
    }
    const hold = gate()
    class Wait extends LogicStep {
      static override readonly id = 'Wait'
      override async run() {
        await hold.opened
        return reply('Sorry.')
      }
    }
    class Asking extends Chat {
      override steps() {
        return [Talk, Wait]
      }
      override onError() {
        return go(Wait)
      }
    }
    const { engine, clock, document } = modelHarness({ 'own/small': [says('Hi'), calls('pay')] }, { flows: [Asking] })
    const { session } = await engine.run(hello)
    const running = engine.run({ ...hello, sessionId: session })
    await clock.advance(30_000)
    open()
    await clock.settle()
    hold.open()
    expect(await running).toMatchObject({ success: true, message: 'Sorry.' })
    const { steps, context } = (await document(session)).flow
    expect([late, steps.Talk?.state, context]).toEqual(['ran', {}, {}])
  })

  test('maxTransitionsPerTurn, counted anew', async () => {
    const Ping: StepConstructor = class extends LogicStep {
      static override readonly id = 'Ping'
      override run(turn: Turn) {
        return turn.message === 'start' ? reply('ok') : turn.error === undefined ? go('Pong') : reply('Sorry.')
      }
    }
    const Pong: StepConstructor = class extends LogicStep {
      static override readonly id = 'Pong'
      override run() {
        return go('Ping')
      }
    }
    const { say } = await started(
      answering(() => go('Pong'), Ping, Pong),
      { limits: { maxTransitionsPerTurn: 4 } },
    )
    expect((await say()).response).toMatchObject({ success: true, message: 'Sorry.' })
    expect(asked).toEqual([expect.stringContaining('maxTransitionsPerTurn (4)')])
  })

  test('a state that JSON cannot carry, found when the turn is stored', async () => {
    class Only extends LogicStep<{ count?: unknown }> {
      static override readonly id = 'Only'
      override run(turn: Turn) {
        if (turn.message === 'fail') this.state.count = () => 1
        return reply('ok')
      }
    }
    const { say, document, session } = await started(answering(sorry, Only))
    expect((await say()).response).toMatchObject({ success: true, message: 'Sorry.' })
    expect(asked).toEqual([expect.stringMatching(/^FLOW_ERROR: Only\.state\.count/)])
    expect((await document(session)).flow.steps.Only?.state).toEqual({})
  })

  test('its own making, under any code', async () => {
    const thrown = [
      [new FlowError({ code: 'FLOW_NOT_FOUND', message: 'Gone.' }), 'FLOW_ERROR: Gone.'],
      [new InvalidInputError({ message: 'No.' }), 'INVALID_INPUT: No.'],
    ] as const
    for (const [error, seen] of thrown) {
      const { say } = await started(
        answering(
          sorry,
          failing(() => error),
        ),
      )
      expect((await say()).response.message).toBe('Sorry.')
      expect(asked).toEqual([seen])
    }
  })
})

describe('it is not asked for', () => {
  test.each([
    new SessionConflictError({ sessionId: 'elsewhere' }),
    new SessionStoreError({ operation: 'load', sessionId: 'elsewhere' }),
    new TurnAbortedError(),
    new EngineClosedError(),
    new TurnTimeoutError({ timeoutMs: 1, phase: 'turn' }),
  ])('$code', async (error) => {
    // What the flow throws stands for a failure of the engine itself.
    const isOwn = vi.spyOn(TurnWork.prototype, 'isOwn').mockReturnValue(true)
    const { say } = await started(
      answering(
        sorry,
        failing(() => error),
      ),
    )
    expect([(await say()).error, asked]).toEqual([error, []])
    isOwn.mockRestore()
  })

  test('a store that fails at the commit, and a conflict there', async () => {
    for (const error of [undefined, new SessionConflictError({ sessionId: 'elsewhere' })]) {
      const { say, store } = await started(answering(sorry, failing(broken)))
      store.failNext('save', { times: error === undefined ? 3 : 1, ...(error === undefined ? {} : { error }) })
      expect([(await say('on')).response.success, asked]).toEqual([false, []])
    }
  })

  test('a caller that cancels, the deadline of the turn, an engine that closes', async () => {
    const Only = class extends LogicStep {
      static override readonly id = 'Only'
      override run(turn: Turn) {
        return turn.message === 'start' ? reply('ok') : never<Transition>()
      }
    }
    const codes: (string | undefined)[] = []
    for (const end of ['cancel', 'deadline', 'close']) {
      const { engine, input, clock } = await started(answering(sorry, Only))
      const controller = new AbortController()
      const running = engine.execute({ ...input('wait'), signal: controller.signal })
      await clock.settle()
      if (end === 'cancel') controller.abort()
      if (end === 'deadline') await clock.advance(120_000)
      if (end === 'close') {
        const closing = engine.close()
        await clock.advance(10_000)
        await closing
      }
      codes.push((await running).error?.code)
    }
    expect([codes, asked]).toEqual([['TURN_ABORTED', 'TURN_TIMEOUT', 'ENGINE_CLOSED'], []])
  })

  test('what fails before its session is there: init, steps, onRestore of the flow', async () => {
    const Only = failing(broken)
    const cases = [
      class extends answering(sorry, Only) {
        override init(): never {
          throw broken()
        }
      },
      class extends answering(sorry, Only) {
        override onRestore(): never {
          throw broken()
        }
      },
    ]
    for (const flow of cases) {
      const { engine, backing } = harness({ flows: [answering(sorry, Only)] })
      const { session } = await engine.run({ flowName: 'Talk', userMessage: 'start' })
      const other = harness({ flows: [flow], backing })
      const input = { flowName: 'Talk', userMessage: 'on', sessionId: session }
      expect((await other.engine.run(input)).message).toBe('It broke.')
      expect(asked).toEqual([])
    }
  })
})

describe('a turn that is aborted while onError works', () => {
  test('does nothing more, and is settled as aborted', async () => {
    const { opened, open } = gate()
    const walked: string[] = []
    class Repair extends LogicStep {
      static override readonly id = 'Repair'
      override run() {
        walked.push('Repair')
        return reply('Sorry.')
      }
    }
    const flow = answering(
      async () => {
        await opened
        return go(Repair)
      },
      failing(broken, { onExit: () => void walked.push('exit Only') }),
      Repair,
    )
    const { engine, input, clock, stored, session } = await started(flow)
    const before = await stored(session)
    const controller = new AbortController()
    const running = engine.execute({ ...input('fail'), signal: controller.signal })
    await clock.settle()
    controller.abort()
    expect(await running).toMatchObject({ error: { code: 'TURN_ABORTED' }, sessionState: 'running' })
    open()
    await clock.settle()
    expect([walked, asked.length, await stored(session)]).toEqual([[], 1, before])
  })

  test('by its deadline, is settled as its flow says', async () => {
    const flow = answering(() => never(), failing(broken))
    const { say, clock, document, session } = await started(flow, { onTurnError: 'rollback' })
    const running = say()
    await clock.advance(120_000)
    expect(await running).toMatchObject({ error: { code: 'TURN_TIMEOUT' }, sessionState: 'running' })
    expect(await document(session)).toMatchObject({ turns: 1, flow: { steps: { Only: { state: { count: 1 } } } } })
  })
})

describe('a stream', () => {
  test('takes the text back that counts no more', async () => {
    const flow = class extends flowOfSteps(modelStep()) {
      override onError() {
        return reply('Sorry.')
      }
    }
    const { engine } = harness({
      flows: [flow],
      providers: [
        streaming(async function* () {
          yield* pieces(delta('Half an '))
          throw Object.assign(new Error('gone'), { statusCode: 400 })
        }),
      ],
    })
    const events = await readAll(engine.stream({ flowName: 'Test', userMessage: 'Hi' }))
    expect(shortly(events)).toEqual(['session', 'step Talk', '"Half an "', 'reset error', 'result Sorry.'])
  })

  test('has no reset where it has no text yet', async () => {
    const { engine, input } = await started(answering(sorry, failing(broken)))
    expect(shortly(await readAll(engine.stream(input('fail'))))).toEqual(['session', 'result Sorry.'])
  })

  test('of a failure after which the model is asked again: the memory has the answer that counts', async () => {
    class Other extends Step {
      static override readonly id = 'Other'
      override readonly memory = 'Talk'
    }
    const talk = modelStep({
      onReply: (): never => {
        throw broken()
      },
    })
    class Asking extends Chat {
      override steps() {
        return [talk, Other]
      }
      override onError() {
        return go(Other)
      }
    }
    const { engine, document } = modelHarness({ 'own/small': ['A', 'B'] }, { flows: [Asking] })
    const { session, message } = await engine.run(hello)
    const { flow, usage } = await document(session)
    expect([message, lines(flow.memory.Talk?.messages), usage.modelCalls]).toEqual([
      'B',
      ['user: Hello', 'assistant: B'],
      2,
    ])
  })
})

test('a provider that never answers is a failure of the model, not of the turn', async () => {
  class Asking extends Chat {
    override onError(error: FlowError) {
      return reply(error.code)
    }
  }
  const { engine, clock } = modelHarness(
    { 'own/small': [silent] },
    { flows: [Asking], limits: { modelTimeoutMs: 100 }, modelRetry: { maxAttempts: 1 } },
  )
  const running = engine.run(hello)
  await clock.advance(100)
  expect(await running).toMatchObject({ success: true, message: 'MODEL_ERROR' })
})

test('it may go to another place for one failure, and let others fail', async () => {
  const Help = place('Help')
  const flow = answering((error) => (error.code === 'LIMIT_EXCEEDED' ? go(Help) : undefined), failing(broken), Help)
  const { say } = await started(flow, { onTurnError: 'rollback' })
  expect(await say()).toMatchObject({ response: { success: false }, sessionState: 'running' })
  expect((await say('x'.repeat(10))).response.success).toBe(true)
})
