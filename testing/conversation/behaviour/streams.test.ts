/** A turn that is read event by event: its events, that it stands still between two of them, and how it is stopped. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  Flow,
  LogicStep,
  MemorySessionStore,
  type ModelProviderAdapter,
  reply,
  Step,
  type Turn,
} from '../../../src/index.js'
import { AskName, capture, Onboarding } from '../../contract/onboarding.js'
import { coverageOf } from '../../flow-coverage/flow-coverage.js'
import { scriptedProvider } from '../../scripted-model/scripted-model.js'
import { Conversation } from '../conversation.js'

class Echo extends LogicStep {
  static override readonly id = 'Echo'
  override run(turn: Turn) {
    return reply(`You said ${turn.message}.`)
  }
}
class Parrot extends Flow {
  static override readonly id = 'Parrot'
  override steps() {
    return [Echo]
  }
}
const Wish = z.object({ guests: z.number() })
class AskWish extends Step<object, z.infer<typeof Wish>> {
  static override readonly id = 'AskWish'
  override readonly output = Wish
  override onReply({ guests }: z.infer<typeof Wish>) {
    return `For ${guests}.`
  }
}
class Booking extends Flow {
  static override readonly id = 'Booking'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps() {
    return [AskWish]
  }
}

describe('a streamed turn', () => {
  test('is read piece by piece, and then looks like any other', async () => {
    await using conversation = new Conversation(Onboarding, { script: ['What is your name?', capture('Ada Lovelace')] })
    const stream = conversation.stream('Hello')
    expect(await stream.next()).toEqual({ type: 'session', session: 'session-1' })
    expect(await stream.next()).toEqual({ type: 'step', step: 'AskName' })
    expect(await stream.next()).toEqual({ type: 'text-delta', text: 'What' })
    expect(await stream.until('text-delta')).toEqual({ type: 'text-delta', text: ' is' })
    expect(stream.text).toBe('What is')
    expect(await stream.until('result')).toMatchObject({ response: { message: 'What is your name?' } })
    expect(await stream.next()).toBeUndefined()
    expect(stream.text).toBe('What is your name?')
    expect(await stream.reply()).toEqual({
      success: true,
      completed: false,
      message: 'What is your name?',
      session: 'session-1',
      contentType: 'text/plain',
      sessionState: 'running',
    })
    conversation.expectReply('What is your name?').expectStep(AskName).expectToolCalls([])
    conversation.expectAsked({ user: 'Hello', tools: ['capture_name'] })

    expect(await conversation.stream('Ada Lovelace').reply()).toMatchObject({ completed: true })
    conversation.expectToolCalls([{ name: 'capture_name', output: 'Done.' }]).expectCompleted()
    conversation.expectState(AskName, { name: 'Ada Lovelace' })
    expect(conversation.model.requests.map(({ streamed, outcome }) => [streamed, outcome])).toEqual([
      [true, 'answered'],
      [true, 'answered'],
    ])
  })

  test('has the transcript that it has without a stream', async () => {
    const script = ['What is your name?', capture('Ada'), 'And the last name?']
    await using streamed = new Conversation(Onboarding, { script })
    await using whole = new Conversation(Onboarding, { script })
    for (const text of ['Hello', 'Ada']) {
      await streamed.stream(text).reply()
      await whole.say(text)
    }
    expect(streamed.transcript()).toBe(whole.transcript())
  })

  test('is read by a loop, too, with its tools, and with text that does not count', async () => {
    await using conversation = new Conversation(Onboarding, {
      script: [{ text: 'One moment.', ...capture('Ada') }, { text: 'And the', cutAfter: 1 }, 'And the last name?'],
    })
    const types: string[] = []
    for await (const event of conversation.stream('Ada')) {
      types.push(event.type === 'reset' ? `reset: ${event.reason}` : event.type)
    }
    expect(types).toEqual([
      ...['session', 'step', 'text-delta', 'text-delta', 'reset: tools', 'tool-start', 'tool-end'],
      ...['text-delta', 'reset: retry', 'text-delta', 'text-delta', 'text-delta', 'text-delta', 'result'],
    ])
    conversation.expectReply('And the last name?')
  })

  test('fails as any other does, and is expected to', async () => {
    await using conversation = new Conversation(Onboarding, {
      script: [{ chunks: ['What', ' is'], cutAfter: 1, error: new Error('overloaded') }, 'What is your name?'],
    })
    const stream = conversation.stream('Hello')
    expect(await stream.until('error')).toMatchObject({ error: { code: 'MODEL_ERROR' } })
    expect((await stream.reply()).success).toBe(false)
    conversation.expectError('MODEL_ERROR', /gpt-5-mini/)
    await conversation.stream('Hello?').reply()
    conversation.expectReply('What is your name?')
  })

  test('needs no model, and no model that streams', async () => {
    await using parrot = new Conversation(Parrot)
    const stream = parrot.stream('Hi')
    await stream.reply()
    expect([stream.text, stream.events.map(({ type }) => type)]).toEqual(['', ['session', 'step', 'result']])
    parrot.expectReply('You said Hi.')
    const { model } = scriptedProvider(['Hello.'])
    const generate = model.generate.bind(model)
    const provider: ModelProviderAdapter = {
      provider: 'openai',
      resolve: () => ({ provider: 'openai', name: 'gpt-5-mini', generate }),
    }
    await using conversation = new Conversation(Onboarding, { providers: [provider] })
    const answered = conversation.stream('Hi')
    await answered.until('step')
    await conversation.clock.settle()
    expect(model.requests).toEqual([])
    await answered.reply()
    conversation.expectReply('Hello.').expectAsked({ user: 'Hi' })
    expect(model.requests[0]?.streamed).toBe(false)
  })

  test('sends nothing of an answer that a step makes a reply of', async () => {
    await using conversation = new Conversation(Booking, {
      script: [{ output: { guests: '4' } }, { output: { guests: 4 } }],
    })
    const stream = conversation.stream('A table')
    await stream.reply()
    expect(stream.events.map(({ type }) => type)).toEqual(['session', 'step', 'result'])
    conversation.expectReply('For 4.').expectAsked({ output: { required: ['guests'] } })
  })

  test('has its own input', async () => {
    await using conversation = new Conversation(Parrot, { owner: 'ada' })
    await conversation.stream('Hi', { config: { language: 'en' } }).reply()
    const { owner, flow } = await conversation.document()
    expect([owner, flow.context]).toEqual(['ada', { config: { language: 'en' } }])
    await conversation.stream('Hi', { signal: AbortSignal.abort() }).reply()
    conversation.expectError('TURN_ABORTED')
  })
})

describe('between two pieces', () => {
  test('a model says nothing, and nothing is stored', async () => {
    const store = new MemorySessionStore()
    await using conversation = new Conversation(Onboarding, { script: ['Hello.'], createStore: () => store })
    const stream = conversation.stream('Hi')
    const { session } = await stream.until('session')
    await stream.until('text-delta')
    await conversation.clock.settle()
    expect(stream.events.map(({ type }) => type)).toEqual(['session', 'step', 'text-delta'])
    expect(await store.load(session)).toBeUndefined()
    expect(conversation.model.requests[0]?.outcome).toBeUndefined()
    await stream.reply()
    expect((await store.load(session))?.history).toHaveLength(1)
  })

  test('no time passes, and while one is waited for, no more than a delay of the script', async () => {
    await using conversation = new Conversation(Onboarding, {
      script: [{ chunks: ['a', 'b', 'c'], delayMs: 1000, chunkDelayMs: 100 }],
    })
    const start = conversation.clock.now()
    const times: number[] = []
    for await (const event of conversation.stream('Hi')) {
      if (event.type === 'text-delta') times.push(conversation.clock.now() - start)
    }
    expect(times).toEqual([1000, 1100, 1200])
    expect(conversation.clock.pending).toBe(0)
  })

  test('a model that stalls is aborted when its time is over, and tried again', async () => {
    await using conversation = new Conversation(Onboarding, {
      script: [{ text: 'What is', stallAfter: 1 }, 'What is your name?'],
    })
    const start = conversation.clock.now()
    const stream = conversation.stream('Hi')
    await stream.until('text-delta')
    expect(await stream.next()).toEqual({ type: 'reset', reason: 'retry' })
    expect(stream.text).toBe('')
    const waited = conversation.clock.now() - start
    expect([waited >= 60_000, waited <= 75_000]).toEqual([true, true])
    await stream.reply()
    conversation.expectReply('What is your name?')
    expect(conversation.model.requests.map(({ origin, outcome }) => [origin.attempt, outcome])).toEqual([
      [1, 'stopped'],
      [2, 'answered'],
    ])
    expect(conversation.clock.pending).toBe(0)
  })

  test('the time does not pass by itself if the test advances the clock', async () => {
    await using conversation = new Conversation(Onboarding, { script: [{ delayMs: 1000, text: 'One.' }] })
    const stream = conversation.stream('Hi')
    await stream.until('step')
    const piece = stream.next()
    await conversation.advance(999)
    expect(stream.text).toBe('')
    await conversation.advance(1)
    expect(await piece).toEqual({ type: 'text-delta', text: 'One.' })
    await stream.reply()
  })
})

describe('a turn that is stopped', () => {
  test.each(['before there is an engine', 'before its first piece'])(
    'while the first piece is waited for, %s, asks no model and leaves the next turn alone',
    async (when) => {
      await using conversation = new Conversation(Onboarding, { script: ['What is your name?'] })
      if (when === 'before its first piece') await conversation.open()
      const stream = conversation.stream('Hello')
      const first = stream.next()
      await stream.stop()
      expect([await first, stream.events]).toEqual([undefined, []])
      expect(conversation.model.requests).toEqual([])
      await conversation.say('Hello again')
      conversation.expectReply('What is your name?')
      expect(conversation.transcript()).toContain('Stopped before any text.')
    },
  )

  test('leaves nothing behind, and the next one goes on', async () => {
    await using conversation = new Conversation(Onboarding, {
      script: ['What is your name?', 'And the last name?', 'And the last name?'],
    })
    await conversation.say('Hello')
    const before = await conversation.document()
    const stream = conversation.stream('Ada')
    await stream.until('text-delta')
    await stream.stop()
    await stream.stop()
    expect(await stream.next()).toBeUndefined()
    expect(await conversation.document()).toEqual(before)
    expect(conversation.model.requests[1]?.outcome).toBe('stopped')
    expect(conversation.reply).toMatchObject({ success: false, error: { code: 'TURN_ABORTED' } })
    conversation.expectStep(AskName).expectError('TURN_ABORTED')
    await conversation.stream('Ada').reply()
    conversation.expectReply('And the last name?')
    expect((await conversation.document()).history).toHaveLength(2)
    expect(conversation.transcript()).toMatchInlineSnapshot(`
      "# Onboarding

      ## Turn 1

      User: Hello

      - enters AskName

      Reply: What is your name?

      Now at AskName.

      ## Turn 2

      User: Ada

      Stopped after: And

      ## Turn 2

      User: Ada

      Reply: And the last name?

      Now at AskName.
      "
    `)
  })

  test('may be the first one, and have said nothing', async () => {
    await using conversation = new Conversation(Onboarding, { script: [{ text: 'Hello.', stallAfter: 0 }, 'Hello.'] })
    const stream = conversation.stream('Hi')
    await stream.until('step')
    await stream.stop()
    expect(conversation.transcript()).toContain('- enters AskName\n\nStopped before any text.\n')
    expect(conversation.sessionId).toBe('')
    await conversation.stream('Hi').reply()
    conversation.expectReply('Hello.')
  })

  test('is over while a piece is waited for', async () => {
    await using conversation = new Conversation(Onboarding, { script: [{ text: 'Hello there.', stallAfter: 1 }] })
    const start = conversation.clock.now()
    const stream = conversation.stream('Hi')
    await stream.until('text-delta')
    const piece = stream.next()
    await conversation.advance(10)
    await stream.stop()
    expect(await piece).toBeUndefined()
    expect([conversation.clock.now() - start, conversation.clock.pending]).toEqual([10, 0])
    await expect(stream.reply()).rejects.toThrow('The stream of "Hi" was stopped: it has no reply.')
  })

  test('is one whose loop is left, or whose scope ends', async () => {
    await using conversation = new Conversation(Onboarding, { script: ['What is your name?', 'What is your name?'] })
    for await (const event of conversation.stream('Hi')) if (event.type === 'text-delta') break
    expect(conversation.transcript()).toContain('Stopped after: What\n')
    {
      await using stream = conversation.stream('Hi')
      await stream.until('text-delta')
    }
    expect(conversation.transcript().match(/Stopped after: What\n/g)).toHaveLength(2)
  })

  test('between two attempts leaves no timer', async () => {
    await using conversation = new Conversation(Onboarding, { script: [{ text: 'Hello there.', cutAfter: 1 }] })
    const stream = conversation.stream('Hi')
    await stream.until('reset')
    await stream.stop()
    expect(conversation.clock.pending).toBe(0)
  })

  test('too late is a turn like any other', async () => {
    await using conversation = new Conversation(Parrot)
    const stream = conversation.stream('Hi')
    await stream.next()
    await stream.stop()
    conversation.expectReply('You said Hi.').expectStep(Echo)
  })

  test('before it began leaves no turn', async () => {
    await using conversation = new Conversation(Parrot)
    await conversation.stream('Hi').stop()
    expect(conversation.transcript()).toBe('# Parrot\n')
    await conversation.say('Hello')
    conversation.expectReply('You said Hello.')
  })
})

describe('during a stream', () => {
  test('coverage counts what it reached', async () => {
    const coverage = coverageOf([Onboarding])
    const script = ['What is your name?', capture('Ada Lovelace')]
    await using conversation = new Conversation(Onboarding, { script, onEngine: coverage.watch })
    for (const text of ['Hello', 'Ada Lovelace']) await conversation.stream(text).reply()
    coverage.expectFull()
  })

  test('the store has its bad days', async () => {
    await using conversation = new Conversation(Onboarding, { script: () => 'Hello.' })
    await conversation.open()
    conversation.store.failNext('create', { after: true })
    await conversation.stream('Hi').reply()
    conversation.expectReply('Hello.')
    conversation.store.rivalWrites()
    const stream = conversation.stream('Hi')
    expect(await stream.until('error')).toMatchObject({ error: { code: 'SESSION_CONFLICT' } })
    expect(stream.text).toBe('Hello.')
    conversation.expectError('SESSION_CONFLICT')
    conversation.store.hangNext('load')
    await conversation.stream('Hi').reply()
    conversation.expectError('SESSION_STORE_ERROR')
  })

  test('a restart and a fork go on', async () => {
    await using conversation = new Conversation(Onboarding, { script: ['What is your name?', capture('Ada Lovelace')] })
    await conversation.stream('Hello').reply()
    await conversation.restart()
    await using fork = await conversation.fork()
    for (const each of [conversation, fork]) {
      await each.stream('Ada Lovelace').reply()
      each.expectCompleted()
    }
    expect(conversation.transcript()).toContain('## Turn 2 (after a restart)')
  })

  test('other programs have their answers', async () => {
    await using conversation = new Conversation(Parrot)
    await using talking = new Conversation(Onboarding, { script: () => 'Hello.' })
    const stream = talking.stream('Hi')
    await stream.until('text-delta')
    await conversation.say('Hi')
    const other = talking.engine.run({ flowName: 'Onboarding', userMessage: 'Hi' })
    await stream.reply()
    expect((await other).session).not.toBe(talking.sessionId)
    expect(talking.transcript().match(/enters AskName/g)).toHaveLength(1)
  })
})
