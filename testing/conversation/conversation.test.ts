/** Conversations that succeed; `conversation/behaviour/failures.test.ts` has those that fail. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { rollingSummary } from '../../src/compaction/index.js'
import {
  Flow,
  InvalidInputError,
  LogicStep,
  MemorySessionStore,
  reply,
  Step,
  ToolError,
  type Turn,
} from '../../src/index.js'
import { AskName, capture, Onboarding } from '../contract/onboarding.js'
import { scriptedProvider } from '../scripted-model/scripted-model.js'
import { VirtualClock } from '../virtual-clock/virtual-clock.js'
import { Conversation } from './conversation.js'

class Clock extends LogicStep {
  static override readonly id = 'Clock'
  override run(turn: Turn) {
    const { createdAt, id } = turn.session
    return reply({ said: turn.message, createdAt, id })
  }
}
class Clocks extends Flow {
  static override readonly id = 'Clocks'
  override steps() {
    return [Clock]
  }
}

test('ten lines show a conversation from its beginning to its end', async () => {
  await using conversation = new Conversation(Onboarding, {
    script: ['What is your name?', capture('Ada'), 'And the last name?', capture('Ada Lovelace')],
  })
  expect(await conversation.say('Hello')).toMatchObject({ success: true, message: 'What is your name?' })
  conversation.expectReply('What is your name?').expectStep(AskName).expectToolCalls([])
  await conversation.say('Ada')
  conversation.expectReply(/last name/).expectToolCalls([{ name: 'capture_name', output: /^First and last/ }])
  conversation.expectAsked({ user: 'Ada', call: 1, tools: ['capture_name'], params: { temperature: 0 }, step: AskName })
  await conversation.say('Ada Lovelace')
  conversation.expectToolCalls(['capture_name']).expectState(AskName, { name: 'Ada Lovelace' }).expectCompleted()
  conversation.expectStep('End')
  expect((await conversation.document()).runStatus).toBe('completed')
})

test('with a mask: replies and the transcript have the texts, the document and the results of tools what is stored', async () => {
  await using conversation = new Conversation(Onboarding, {
    script: ['What is your name?', capture('Ada'), 'Ada, and the last name?'],
    mask: (text) => text.replaceAll('Ada', '[name]'),
  })
  await conversation.say('Hello')
  await conversation.say('Ada')
  conversation.expectReply('Ada, and the last name?')
  conversation.expectAsked({ user: 'Ada', call: 1 })
  expect(conversation.transcript()).toContain('Ada, and the last name?')
  const { history, flow } = await conversation.document()
  expect(history[1]).toMatchObject({ message: '[name]', reply: '[name], and the last name?' })
  expect(JSON.stringify(flow.memory)).not.toContain('Ada')
})

test('the transcript is the same for the same conversation', async () => {
  const conversation = new Conversation(Onboarding, {
    script: ['What is\n- your name?', capture(1), capture('Ada Lovelace')],
  })
  await conversation.say('Hello\nthere')
  await conversation.restart()
  await conversation.say('Ada Lovelace')
  expect(conversation.transcript()).toMatchInlineSnapshot(`
    "# Onboarding

    ## Turn 1

    User: Hello
      there

    - enters AskName

    Reply: What is
      - your name?

    Now at AskName.

    ## Turn 2 (after a restart)

    User: Ada Lovelace

    - calls capture_name {"name":1} fails: "Invalid arguments: name: Invalid input: expected string, received number"
    - calls capture_name {"name":"Ada Lovelace"}: "Done."
    - enters Confirm
    - enters End

    Reply: Thank you, Ada Lovelace.

    Completed at End.
    "
  `)
  await conversation.close()
})

test('the transcript has no IDs and no times, and shows what is not plain text', async () => {
  const shown = async (start: number): Promise<string> => {
    const createStore = () => new MemorySessionStore()
    await using conversation = new Conversation(Clocks, { createStore, clock: new VirtualClock(start) })
    await conversation.say('2026-11-24T08:30:00+01:00')
    return conversation.transcript()
  }
  expect(await shown(0)).toBe(await shown(1e12))
  expect(await shown(0)).toContain('{"said":"<time>","createdAt":"<time>","id":"<session>"}')
})

test('a reply of JSON is checked by a schema', async () => {
  await using conversation = new Conversation(Clocks)
  await conversation.say('Hi')
  conversation.expectReply(z.object({ said: z.literal('Hi') }))
})

test('a failed turn that was expected does not fail the test', async () => {
  await using conversation = new Conversation(Onboarding, { script: [new Error('overloaded')] })
  await conversation.say('Hello')
  conversation.expectError('MODEL_ERROR').expectError('MODEL_ERROR', /gpt-5-mini/)
  expect(conversation.transcript()).toContain('Failed with MODEL_ERROR: ')
})

test('what was said after the end begins a new session, as it does for a client', async () => {
  await using conversation = new Conversation(Onboarding, { script: [capture('Ada Lovelace'), 'And you are?'] })
  await conversation.say('Ada Lovelace')
  conversation.expectCompleted()
  await conversation.say('Hello')
  conversation.expectStep(AskName)
  expect(conversation.transcript()).toContain('## Turn 1 (in a new session)')
})

describe('a restart', () => {
  test('makes a new engine and new connections over the same data', async () => {
    const stores: MemorySessionStore[] = []
    const backing = new Map()
    const engines = new Set<unknown>()
    await using conversation = new Conversation(Onboarding, {
      script: ['What is your name?', capture('Ada Lovelace')],
      createStore: async () => {
        stores.push(new MemorySessionStore({ backing }))
        return stores.at(-1) as MemorySessionStore
      },
      onEngine: (engine) => engines.add(engine),
    })
    await conversation.say('Hello')
    expect(await conversation.restart()).toBe(conversation)
    await conversation.say('Ada Lovelace')
    conversation.expectState(AskName, { name: 'Ada Lovelace' })
    expect([stores.length, engines.size, engines.has(conversation.engine)]).toEqual([2, 2, true])
    await expect(stores[0]?.load('a')).rejects.toThrow('closed')
  })

  test('does not mind a store that cannot be closed', async () => {
    await using conversation = new Conversation(Onboarding, { script: ['What is your name?'] })
    await conversation.open()
    conversation.store.failNext('close')
    await conversation.restart()
    await conversation.say('Hello')
  })
})

describe('a fork', () => {
  test('gives one beginning two endings', async () => {
    await using conversation = new Conversation(Onboarding, { script: ['What is your name?', capture('Ada Lovelace')] })
    await conversation.say('Hello')
    await using other = await conversation.fork({ script: [capture('Bo'), 'And the last name?'] })
    await other.say('Bo')
    other.expectStep(AskName).expectReply('And the last name?')
    await conversation.say('Ada Lovelace')
    conversation.expectCompleted()
    expect((await other.document()).runStatus).toBe('running')
    expect(other.transcript()).toContain('User: Hello')
    expect(other.sessionId).not.toBe(conversation.sessionId)
  })

  test('goes on with the rest of the script, the same doubles and the same time', async () => {
    await using conversation = new Conversation(Onboarding, {
      script: ['What is your name?', capture('Ada Lovelace'), 'Later.'],
      tools: { capture_name: [new ToolError('Try later.')] },
    })
    await conversation.say('Hello')
    await conversation.advance(5000)
    await using other = await conversation.fork()
    expect(other.clock.now()).toBe(conversation.clock.now())
    for (const each of [conversation, other]) {
      await each.say('Ada Lovelace')
      each.expectReply('Later.').expectToolCalls([{ name: 'capture_name', isError: true, output: 'Try later.' }])
    }
  })

  test('before the first turn is another beginning', async () => {
    await using conversation = new Conversation(Onboarding, { script: () => 'What is your name?' })
    await using other = await conversation.fork()
    await other.say('Hello')
    other.expectReply('What is your name?')
  })
})

describe('time', () => {
  test('passes by itself if only a delay of the script is waited for', async () => {
    await using conversation = new Conversation(Onboarding, {
      script: [{ delayMs: 45_000, text: 'Sorry for the wait.' }],
    })
    const start = conversation.clock.now()
    await conversation.say('Hello')
    conversation.expectReply('Sorry for the wait.')
    expect(conversation.clock.now() - start).toBe(45_000)
  })

  test('passes up to the deadline of the turn for a model that never answers', async () => {
    const never = { delayMs: Number.POSITIVE_INFINITY }
    await using conversation = new Conversation(Onboarding, { script: [never, never] })
    const start = conversation.clock.now()
    await conversation.say('Hello')
    conversation.expectError('TURN_TIMEOUT')
    expect([conversation.clock.now() - start, conversation.clock.pending]).toEqual([120_000, 0])
  })

  test('passes to the next attempt, and no further, if a model did not answer', async () => {
    const script = [{ delayMs: Number.POSITIVE_INFINITY }, 'Sorry for the wait.']
    await using conversation = new Conversation(Onboarding, { script })
    const start = conversation.clock.now()
    await conversation.say('Hello')
    conversation.expectReply('Sorry for the wait.')
    // The time of one attempt, and half of the first delay: there is no luck.
    expect([conversation.clock.now() - start, conversation.clock.pending]).toEqual([60_250, 0])
  })

  test('passes between the attempts at a call that fails', async () => {
    const script = [{ failure: { statusCode: 429, retryAfterMs: 2000 } }, { failure: 503 }, 'Sorry for the wait.']
    await using conversation = new Conversation(Onboarding, { script })
    const start = conversation.clock.now()
    await conversation.say('Hello')
    conversation.expectReply('Sorry for the wait.')
    expect([conversation.clock.now() - start, conversation.clock.pending]).toEqual([2500, 0])
    expect(conversation.model.requests.map(({ origin }) => [origin.callNumber, origin.attempt])).toEqual([
      [1, 1],
      [1, 2],
      [1, 3],
    ])
  })

  test('passes for a store that is slow, or hangs', async () => {
    await using conversation = new Conversation(Onboarding, { script: ['One.'] })
    await conversation.open()
    conversation.store.delayNext('create', 300)
    const start = conversation.clock.now()
    await conversation.say('Hello')
    conversation.expectReply('One.')
    expect(conversation.clock.now() - start).toBe(300)
    conversation.store.hangNext('load')
    await conversation.say('Hello?')
    conversation.expectError('SESSION_STORE_ERROR')
  })

  test('does not pass by itself if the test advances the clock', async () => {
    const script = [
      { delayMs: 1000, text: 'One.' },
      { delayMs: 1000, text: 'Two.' },
    ]
    await using conversation = new Conversation(Onboarding, { script })
    let answered = false
    const saying = conversation.say('Hello').finally(() => {
      answered = true
    })
    await conversation.advance(999)
    expect(answered).toBe(false)
    await conversation.advance(1)
    expect((await saying).message).toBe('One.')
    expect((await conversation.say('Hello?')).message).toBe('Two.')
  })
})

describe('what surrounds a conversation', () => {
  test('a lost save is made good, and the store is the test’s to break', async () => {
    await using conversation = new Conversation(Onboarding, { script: ['One.', 'Two.'] })
    await conversation.say('Hello')
    conversation.store.failNext('save', { after: true })
    await conversation.say('Still there?')
    conversation.expectReply('Two.')
  })

  test('tools are replaced by name', async () => {
    await using conversation = new Conversation(Onboarding, {
      script: [capture('Bo'), 'Noted.'],
      tools: { capture_name: 'Kept.' },
    })
    await conversation.say('Bo')
    conversation.expectToolCalls([{ name: 'capture_name', input: { name: 'Bo' }, output: 'Kept.' }])
    expect(conversation.tools.calls('capture_name')).toMatchObject([{ args: { name: 'Bo' } }])
    expect(conversation.toolCalls).toEqual([{ name: 'capture_name', input: { name: 'Bo' }, output: 'Kept.' }])
  })

  test('distinguishes calls with one ID by their order', async () => {
    const call = (name: string) => ({ toolCalls: [{ name: 'capture_name', input: { name }, id: 'call-0' }] })
    await using conversation = new Conversation(Onboarding, {
      script: [call('Ada'), call('Bo'), 'Hello.'],
      tools: { capture_name: ['First.', 'Second.'] },
    })
    await conversation.say('Hi')
    expect(conversation.toolCalls.map(({ output }) => output)).toEqual(['First.', 'Second.'])
  })

  test('a provider that is given answers in place of the script', async () => {
    await using conversation = new Conversation(Onboarding, {
      providers: [scriptedProvider(['From another provider.'], { provider: 'openai' })],
      models: [{ provider: 'openai', name: 'gpt-5-mini', params: z.object({ temperature: z.number() }) }],
    })
    await conversation.say('Hello')
    conversation.expectReply('From another provider.').expectAsked({ user: 'Hello' })
  })

  test('a provider that is given may refuse a model', async () => {
    const provider = scriptedProvider([], { provider: 'openai' })
    const validate = ({ name }: { readonly name: string }): void => {
      throw new InvalidInputError({ message: `No model ${name} here.` })
    }
    await using conversation = new Conversation(Onboarding, { providers: [{ ...provider, validate }] })
    await conversation.say('Hello')
    conversation.expectError('INVALID_INPUT', 'No model gpt-5-mini here.')
  })

  test('a model of the catalog checks its parameters, and the script answers', async () => {
    const create = () => {
      throw new Error('The real model was made.')
    }
    const model = { provider: 'openai', name: 'gpt-5-mini', create }
    await using conversation = new Conversation(Onboarding, { script: ['From the script.'], models: [model] })
    await conversation.say('Hello')
    conversation.expectReply('From the script.')
    await using strict = new Conversation(Onboarding, { models: [{ ...model, params: z.object({}).strict() }] })
    await strict.say('Hello')
    strict.expectError('INVALID_INPUT')
  })

  test('config and owner are sent with every turn, and a turn may have others', async () => {
    await using conversation = new Conversation(Onboarding, {
      script: () => 'Hello.',
      config: { language: 'en' },
      owner: 'ada',
    })
    await conversation.say('Hello')
    const { owner, flow, id } = await conversation.document()
    expect([owner, flow.context]).toEqual(['ada', { config: { language: 'en' } }])
    await conversation.say('Hello', { owner: 'bo' })
    expect(conversation.sessionId).not.toBe(id)
    expect(conversation.reply.message).toBe('Hello.')
  })

  test('other programs may use the engine at the same time', async () => {
    await using conversation = new Conversation(Clocks)
    await conversation.open()
    const [, other] = await Promise.all([
      conversation.say('One'),
      conversation.engine.run({ flowName: 'Clocks', userMessage: 'Two' }),
    ])
    expect(other.session).not.toBe(conversation.sessionId)
    expect(conversation.transcript().match(/enters Clock/g)).toHaveLength(1)
  })
})

test('the script answers for the model of a summary, whose provider no step names', async () => {
  class Ask extends Step {
    static override readonly id = 'Ask'
    override prompt() {
      return 'Answer.'
    }
  }
  class Talk extends Flow {
    static override readonly id = 'Talk'
    static override readonly compaction = {
      Ask: rollingSummary({ above: 3, keep: 1, model: { provider: 'summaries', name: 'small' } }),
    }
    override model() {
      return { provider: 'answers', name: 'large' }
    }
    override steps() {
      return [Ask]
    }
  }
  await using conversation = new Conversation(Talk, { script: { Ask: ['One.', 'Two.'], 'memory:Ask': ['A summary.'] } })
  await conversation.say('1')
  conversation.expectReply('One.')
  await conversation.say('2')
  conversation.expectReply('Two.')
})

test('a summary is waited for before the next turn, the document and a fork, however long it takes', async () => {
  class Ask extends Step {
    static override readonly id = 'Ask'
  }
  class Talk extends Flow {
    static override readonly id = 'Talk'
    static override readonly compaction = {
      Ask: rollingSummary({ above: 3, keep: 1, model: { provider: 'scripted', name: 'small' } }),
    }
    override model() {
      return { provider: 'scripted', name: 'large' }
    }
    override steps() {
      return [Ask]
    }
  }
  const slow = (text: string) => ({ text, delayMs: 20_000 })
  await using conversation = new Conversation(Talk, {
    script: {
      Ask: ['One.', 'Two.', 'Three.', 'Four.'],
      'memory:Ask': [slow('First.'), slow('Second.'), slow('Third.')],
    },
  })
  const startedAt = conversation.clock.now()
  const elapsed = (): number => conversation.clock.now() - startedAt
  await conversation.say('1')
  await conversation.say('2')
  expect(elapsed()).toBe(0)
  const { flow } = await conversation.document()
  expect([elapsed(), flow.memory.Ask?.messages[0]?.summary]).toEqual([20_000, true])
  await conversation.say('3')
  expect(elapsed()).toBe(20_000)
  await conversation.say('4')
  expect(elapsed()).toBe(40_000)
  const [, , , , , request] = conversation.model.requests
  expect(JSON.stringify(request?.messages)).toMatch(/Second.*"3".*Three.*"4"/)
  await using fork = await conversation.fork({ script: [] })
  expect(elapsed()).toBe(60_000)
  expect((await fork.document()).flow.memory.Ask?.messages[0]?.summary).toBe(true)
})
