import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, gate, never } from '../../../testing/contract/engine-harness.js'
import { Chat, hello, modelHarness } from '../../../testing/contract/model-harness.js'
import { modelStep, readAll, shortly } from '../../../testing/contract/stream-harness.js'
import { lines, place } from '../../../testing/contract/test-flows.js'
import { Conversation, recordingOf, replay } from '../../../testing/index.js'
import {
  type FlowEngineOptions,
  type FlowError,
  finish,
  go,
  LogicStep,
  reply,
  retry,
  type StepConstructor,
  stay,
  type Transition,
  type Turn,
} from '../../index.js'

afterEach(expectNothingLeft)

type Answer = (turn: Turn) => unknown

/** The messages that `onMessage` was called with. */
let asked: string[] = []

/** Answers `help` and goes on with all else. */
const help: Answer = ({ message }) => (message === 'help' ? reply('Here is help.') : undefined)

/**
 * A {@link Chat} over `own/small` of these steps, by default of one model step `Talk`, whose `onMessage` does `answer`.
 */
function guarded(answer: Answer, ...steps: readonly StepConstructor[]) {
  asked = []
  return class extends Chat {
    override steps() {
      return steps.length === 0 ? super.steps() : steps
    }
    override onMessage(turn: Turn) {
      asked.push(turn.message)
      return answer(turn) as Transition
    }
  }
}

/** The flow and a model with these answers. */
function talking(flow: typeof Chat, answers: readonly string[] = [], options: FlowEngineOptions = {}) {
  const made = modelHarness({ 'own/small': answers }, { flows: [flow], ...options })
  const say = (userMessage: string, sessionId?: string) =>
    made.engine.execute({ ...hello, userMessage, ...(sessionId === undefined ? {} : { sessionId }) })
  return { ...made, say }
}

describe('a flow that answers a message itself', () => {
  test('does so in place of its step; neither is in any memory, and both are in the history', async () => {
    const { say, document, asked: calls } = talking(guarded(help), ['Hi', 'Good.'])
    const { response } = await say('Hello')
    const { session } = response
    expect((await say('help', session)).response).toEqual({
      success: true,
      completed: false,
      message: 'Here is help.',
      session,
      contentType: 'text/plain',
    })
    await say('Thanks', session)
    expect(asked).toEqual(['Hello', 'help', 'Thanks'])
    expect(calls).toHaveLength(2)
    const { history, flow, turns } = await document(session)
    expect(lines(flow.memory.Talk?.messages)).toEqual([
      'user: Hello',
      'assistant: Hi',
      'user: Thanks',
      'assistant: Good.',
    ])
    expect(history.map(({ turn, message, reply, step }) => [turn, message, reply, step])).toEqual([
      [1, 'Hello', 'Hi', 'Talk'],
      [2, 'help', 'Here is help.', 'Talk'],
      [3, 'Thanks', 'Good.', 'Talk'],
    ])
    expect(turns).toBe(3)
  })

  test('in the first turn: no step is entered, the history names it, and the next turn enters it', async () => {
    const entered: string[] = []
    const talk = modelStep({ onEnter: ({ message }) => void entered.push(message) })
    const { say, document } = talking(guarded(help, talk), ['Hi'])
    const { response, sessionState } = await say('help')
    const { session } = response
    expect([response.message, response.completed, sessionState]).toEqual(['Here is help.', false, 'running'])
    expect(await document(session)).toMatchObject({
      turns: 1,
      history: [{ turn: 1, step: 'Talk', reply: 'Here is help.' }],
      flow: { currentStep: null, steps: {}, memory: {}, sequence: [] },
    })
    expect(entered).toEqual([])
    // As often as the user likes.
    expect((await say('help', session)).response.message).toBe('Here is help.')
    expect((await say('Hello', session)).response.message).toBe('Hi')
    expect(entered).toEqual(['Hello'])
    const { flow, turns } = await document(session)
    expect([flow.currentStep, turns]).toEqual(['Talk', 3])
    expect(lines(flow.memory.Talk?.messages)).toEqual(['user: Hello', 'assistant: Hi'])
  })

  test('by a promise', async () => {
    const { say } = talking(guarded(async () => reply('In a moment.')))
    expect((await say('Hello')).response.message).toBe('In a moment.')
  })

  test('with the text of stay, which no memory keeps either', async () => {
    const { say, document } = talking(guarded(() => stay('Once more?')))
    const { response } = await say('Hello')
    expect(response.message).toBe('Once more?')
    expect((await document(response.session)).flow.memory).toEqual({})
  })

  test.each(['Good bye.', undefined])('with the end of the session: finish(%s)', async (text) => {
    const left: string[] = []
    const talk = modelStep({ onExit: () => void left.push('Talk') })
    const flow = guarded(({ message }) => (message === 'cancel' ? finish(text) : undefined), talk)
    const { say, document } = talking(flow, ['Hi'])
    const { response } = await say('Hello')
    const { session } = response
    expect(await say('cancel', session)).toMatchObject({
      response: { success: true, completed: true, message: text ?? '' },
      sessionState: 'completed',
    })
    expect(left).toEqual(['Talk'])
    const { flow: stored, runStatus } = await document(session)
    expect([runStatus, stored.currentStep]).toEqual(['completed', 'End'])
    expect(lines(stored.memory.Talk?.messages)).toEqual(['user: Hello', 'assistant: Hi'])
  })

  test('with the end of a session that has just begun', async () => {
    const { say, document } = talking(guarded(() => finish('Closed today.')))
    const { response } = await say('Hello')
    expect(response).toMatchObject({ success: true, completed: true, message: 'Closed today.' })
    expect(await document(response.session)).toMatchObject({ runStatus: 'completed', flow: { memory: {} } })
  })

  test('with a form of its own, for this reply alone', async () => {
    const { say } = talking(
      guarded(({ message }) => (message === 'csv' ? reply('a,b').withContentType('text/csv') : undefined)),
      ['Hi'],
    )
    const { response } = await say('csv')
    expect(response.contentType).toBe('text/csv')
    expect((await say('Hello', response.session)).response.contentType).toBe('text/plain')
  })
})

describe('a flow that goes on to another step', () => {
  class Person extends modelStep({}, 'Person') {}

  test('leaves the current one and runs it as usual, message and answer in its memory', async () => {
    const walked: string[] = []
    const talk = modelStep({ onExit: () => void walked.push('exit Talk') })
    const flow = guarded(({ message }) => (message === 'a person' ? go(Person) : undefined), talk, Person)
    const { say, document } = talking(flow, ['Hi', 'Ada speaking.'])
    const { response } = await say('Hello')
    expect((await say('a person', response.session)).response.message).toBe('Ada speaking.')
    const { flow: stored, history } = await document(response.session)
    expect([walked, stored.currentStep, history[1]?.step]).toEqual([['exit Talk'], 'Person', 'Person'])
    expect(lines(stored.memory.Person?.messages)).toEqual(['user: a person', 'assistant: Ada speaking.'])
    // Not asked again for what it moved to.
    expect(asked).toEqual(['Hello', 'a person'])
  })

  test('with a reply: that is in the memory of the step to which it went', async () => {
    const flow = guarded(() => go(Person).withReply('Who is it?'), modelStep(), Person)
    const { say, document } = talking(flow)
    const { response } = await say('a person')
    const { flow: stored } = await document(response.session)
    expect([response.message, stored.currentStep]).toEqual(['Who is it?', 'Person'])
    expect(lines(stored.memory.Person?.messages)).toEqual(['user: a person', 'assistant: Who is it?'])
  })

  test('in the first turn: the first step is never entered', async () => {
    const entered: string[] = []
    const first = modelStep({ onEnter: () => void entered.push('Talk'), onExit: () => void entered.push('exit Talk') })
    const { say, document } = talking(
      guarded(() => go(Person), first, Person),
      ['Ada speaking.'],
    )
    const { response } = await say('a person')
    expect([response.message, entered]).toEqual(['Ada speaking.', []])
    expect((await document(response.session)).flow.sequence).toMatchObject([{ step: 'Person' }])
  })
})

describe('when it is asked', () => {
  const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const

  test('not where the user sent nothing', async () => {
    const { engine, say } = talking(
      guarded(() => reply('Never.')),
      ['Hi', 'Nice.'],
    )
    const { response } = await say('')
    expect([response.message, asked]).toEqual(['Hi', []])
    await say('', response.session)
    expect(asked).toEqual([])
    expect(engine.getFlowNames()).toEqual(['Chat'])
  })

  test('where the user sent attachments alone', async () => {
    const { engine } = talking(guarded(({ attachments }) => reply(`${attachments.length} file`)))
    expect((await engine.run({ ...hello, userMessage: '', attachments: [image] })).message).toBe('1 file')
  })

  test('after onRestore of the step and before it runs', async () => {
    const order: string[] = []
    class Only extends LogicStep {
      static override readonly id = 'Talk'
      override onRestore() {
        order.push('onRestore')
      }
      override run() {
        order.push('run')
        return reply('ok')
      }
    }
    const { say } = talking(
      guarded((turn) => {
        order.push(`onMessage ${turn.number} ${turn.entered} ${turn.session.isNew} ${turn.error}`)
      }, Only),
    )
    const { response } = await say('Hello')
    await say('on', response.session)
    expect(order).toEqual([
      'onMessage 1 false true undefined',
      'run',
      'onRestore',
      'onMessage 2 false false undefined',
      'run',
    ])
  })

  test('once, and not for what a step replaced the message by', async () => {
    const Next = place('Next')
    class Only extends LogicStep {
      static override readonly id = 'Talk'
      override run() {
        return go(Next).withMessage('other')
      }
    }
    const { say } = talking(guarded(() => undefined, Only, Next))
    expect([(await say('Hello')).response.message, asked]).toEqual(['At Next.', ['Hello']])
  })

  test('and what it changes in states and context is stored', async () => {
    const Only = place('Talk')
    const flow = class extends guarded((turn) => {
      Object.assign(turn.stateOf(Only), { seen: turn.message })
      return reply('Noted.')
    }, Only) {
      override onMessage(turn: Turn) {
        this.addContext({ language: 'en' })
        return super.onMessage(turn)
      }
    }
    const { say, document } = talking(flow)
    const { response } = await say('Hello')
    const { flow: stored } = await document(response.session)
    expect([stored.context, stored.steps, stored.currentStep]).toEqual([
      { language: 'en' },
      { Talk: { state: { seen: 'Hello' } } },
      null,
    ])
  })
})

describe('where it fails', () => {
  test.each([
    [() => 'text', "onMessage of flow 'Chat' must return nothing or a transition."],
    [() => null, "onMessage of flow 'Chat' must return nothing or a transition."],
    [() => stay(), "Flow 'Chat' returned stay() without a text from onMessage."],
    [
      () => retry('again'),
      "Flow 'Chat' returned retry() from onMessage. Only onReply and tools may: return reply(text) to answer the user.",
    ],
    [
      () => {
        throw new Error('It broke.')
      },
      'It broke.',
    ],
    [() => Promise.reject(new Error('It broke.')), 'It broke.'],
  ])('the turn fails: %s', async (answer, message) => {
    const { say } = talking(guarded(answer))
    expect(await say('Hello')).toMatchObject({
      response: { success: false, message },
      error: { code: 'FLOW_ERROR' },
      sessionState: 'aborted',
    })
  })

  test('onError of the flow may answer, and onMessage is not asked again', async () => {
    const flow = class extends guarded(() => {
      throw new Error('It broke.')
    }) {
      override onError(error: FlowError) {
        return go('Talk').withMessage(error.message)
      }
    }
    const { say, asked: calls } = talking(flow, ['Sorry.'])
    expect((await say('Hello')).response).toMatchObject({ success: true, message: 'Sorry.' })
    expect(asked).toEqual(['Hello'])
    expect(lines(calls[0]?.request.messages as never)).toEqual(['user: It broke.'])
  })

  test('after an abort nothing more runs', async () => {
    const { opened, open } = gate()
    const {
      engine,
      clock,
      backing,
      asked: calls,
    } = talking(
      guarded(async () => {
        await opened
        return go('Talk')
      }),
    )
    const controller = new AbortController()
    const running = engine.execute({ ...hello, signal: controller.signal })
    await clock.settle()
    controller.abort()
    expect((await running).error?.code).toBe('TURN_ABORTED')
    open()
    await clock.settle()
    expect([calls, backing.size]).toEqual([[], 0])
  })

  test('one that never settles is ended by the deadline of the turn', async () => {
    const { say, clock } = talking(guarded(() => never()))
    const running = say('Hello')
    await clock.advance(120_000)
    expect((await running).error?.code).toBe('TURN_TIMEOUT')
  })
})

test('a stream has the session and the answer, and no step in the first turn', async () => {
  const { engine } = talking(guarded(help))
  expect(shortly(await readAll(engine.stream({ ...hello, userMessage: 'help' })))).toEqual([
    'session',
    'result Here is help.',
  ])
})

test('an engine that restarts goes on with a session that has entered no step', async () => {
  class Ask extends LogicStep<{ times?: number }> {
    static override readonly id = 'Ask'
    override run(turn: Turn) {
      return reply(turn.entered ? 'What is it?' : `You said ${turn.message}.`)
    }
  }
  await using conversation = new Conversation(guarded(help, Ask))
  await conversation.say('help')
  conversation.expectReply('Here is help.')
  expect(() => conversation.expectStep(Ask)).toThrow(
    "Expected the conversation to be at step 'Ask', but no step was entered yet.",
  )
  await conversation.restart()
  await conversation.say('help')
  conversation.expectReply('Here is help.')
  await conversation.say('Hello')
  conversation.expectReply('What is it?').expectStep(Ask)
  await conversation.restart()
  await conversation.say('tea')
  conversation.expectReply('You said tea.')
})

test.each(['logic', 'model'])('what such a flow answered can be recorded and replayed: %s step', async (kind) => {
  const flow = kind === 'logic' ? guarded(help, place('Talk')) : guarded(help)
  for (const messages of [['help'], ['help', 'Hello'], ['Hello', 'help', 'Hello again']]) {
    await using conversation = new Conversation(flow, { script: () => 'Hi.' })
    for (const message of messages) await conversation.say(message)
    const ownReplies = kind === 'logic' ? [] : [messages.indexOf('help') + 1]
    const { history } = await replay(flow, recordingOf(await conversation.document(), { ownReplies }))
    expect(history.map(({ message }) => message)).toEqual(messages)
  }
})
