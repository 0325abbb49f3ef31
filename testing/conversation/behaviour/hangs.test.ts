/** A conversation in which nothing happens any more fails, and says who waits for what. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { rollingSummary } from '../../../src/compaction/index.js'
import {
  Flow,
  type FlowConstructor,
  type FlowEngine,
  LogicStep,
  MemorySessionStore,
  reply,
  Step,
  type StepConstructor,
  type Turn,
  tool,
} from '../../../src/index.js'
import { LockProbe } from '../../index.js'
import { Conversation } from '../conversation.js'
import type { ConversationOptions } from '../conversation-options.js'

const never = new Promise<never>(() => undefined)

class Act extends LogicStep {
  static override readonly id = 'Act'
  override async run({ message }: Turn) {
    if (message === 'wait') await never
    if (message === 'crash') throw new Error('no database')
    return reply('Done.')
  }
}
class Acting extends Flow {
  static override readonly id = 'Acting'
  override steps() {
    return [Act]
  }
}
class Look extends Step {
  static override readonly id = 'Look'
  override prompt() {
    return 'Look.'
  }
  override tools() {
    return [tool({ name: 'look', description: 'Looks.', execute: () => never })]
  }
}
class Looking extends Flow {
  static override readonly id: string = 'Looking'
  override model() {
    return { provider: 'openai', name: 'gpt-5-mini' }
  }
  override steps(): readonly StepConstructor[] {
    return [Look]
  }
}

/** What `act` rejects with, once nothing has happened for 40 ms; the conversation can be closed after it. */
async function hangOf(
  flow: FlowConstructor,
  options: ConversationOptions,
  act: (conversation: Conversation) => Promise<unknown>,
): Promise<string> {
  const conversation = new Conversation(flow, { hangAfterMs: 40, ...options })
  const error = await act(conversation).catch((reason: Error) => reason)
  await conversation.close()
  return (error as Error).message
}

afterEach(() => {
  vi.useRealTimers()
})

describe('a turn that hangs', () => {
  test('in a tool names the tool, and shows the conversation so far', async () => {
    const call = { toolCalls: [{ name: 'look' }] }
    expect(
      await hangOf(Looking, { script: ['Hm?', call] }, async (conversation) => {
        await conversation.say('Hello')
        await conversation.say('Look')
      }),
    ).toMatchInlineSnapshot(`
      "Nothing has happened for 40 ms of real time, and a turn is still under way.
        - #2 turn of flow 'Looking' is under way, in step 'Look', in tool 'look'
        - tool 'look' has not settled
      Open the gate, settle the promise or advance the clock that it waits for. If it is only slow, raise the option hangAfterMs.
      Where: flow 'Looking', step 'Look', turn 2

      The conversation so far:

      # Looking

      ## Turn 1

      User: Hello

      - enters Look

      Reply: Hm?

      Now at Look.

      ## Turn 2

      User: Look

      - calls look {}

      No reply so far.
      "
    `)
  })

  test('in a step names the step, and the messages that wait for it', async () => {
    expect(
      await hangOf(Acting, {}, async (conversation) => {
        await conversation.say('Hello')
        await conversation.atOnce(['wait', 'go on'])
      }),
    ).toMatchInlineSnapshot(`
      "Nothing has happened for 40 ms of real time, and a turn is still under way.
        - #2 turn of flow 'Acting' is under way, in step 'Act'
        - #3 turn of flow 'Acting' waits for the lock of session 'session-1'
      Open the gate, settle the promise or advance the clock that it waits for. If it is only slow, raise the option hangAfterMs.
      Where: flow 'Acting', step 'Act', turn 2

      The conversation so far:

      # Acting

      ## Turn 1

      User: Hello

      - enters Act

      Reply: Done.

      Now at Act.

      ## Turn 2

      User: wait

      No reply so far.

      ## No turn so far

      User: go on

      No reply so far.
      "
    `)
  })

  test('of several messages at once is named by the turns that were stored meanwhile', async () => {
    const conversation = new Conversation(Acting, { hangAfterMs: 40 })
    await conversation.say('Hello')
    const messages = ['a', 'b', 'wait', 'c']
    const error: Error = await conversation.atOnce(messages).catch((reason) => reason)
    expect(error.message).toMatch(/^Where: flow 'Acting', step 'Act', turn 4$/m)
    expect(error.message.match(/^## .*|^User: .*|^Reply: .*|^No reply.*/gm)).toEqual([
      ...['## Turn 1', 'User: Hello', 'Reply: Done.'],
      ...['## Turn 2', 'User: a', 'Reply: Done.'],
      ...['## Turn 3', 'User: b', 'Reply: Done.'],
      ...['## Turn 4', 'User: wait', 'No reply so far.'],
      ...['## No turn so far', 'User: c', 'No reply so far.'],
    ])
    await conversation.restart()
    await conversation.say('go on')
    expect((await conversation.document()).turns).toBe(4)
    await conversation.close()
  })

  test('of messages that begin a session each is named by its session', async () => {
    const message = await hangOf(Acting, {}, (conversation) => conversation.atOnce(['Hello', 'wait', 'wait']))
    expect(message).toMatch(/^Where: flow 'Acting', step 'Act', turn 1 of session 2$/m)
    expect(message.match(/^## .*|^- .*|^User: .*/gm)).toEqual([
      ...['## Turn 1', 'User: Hello', '- enters Act'],
      ...['## Turn 1 (in a new session)', 'User: wait', '- enters Act'],
      ...['## Turn 1 (in a new session)', 'User: wait', '- enters Act'],
    ])
  })

  test('beside a message that failed is what the failure is about', async () => {
    const message = await hangOf(Acting, {}, async (conversation) => {
      await conversation.say('Hello')
      await conversation.atOnce(['crash', 'wait'])
    })
    expect(message).toMatch(/^Nothing has happened for 40 ms/)
    expect(message.split('The conversation so far:')[0]).not.toContain('crash')
    expect(message).toContain('User: crash\n\nFailed with FLOW_ERROR: ')
  })

  test('in a model names the call', async () => {
    const script = () => never
    expect(await hangOf(Looking, { script }, (conversation) => conversation.say('Hello'))).toMatchInlineSnapshot(`
      "Nothing has happened for 40 ms of real time, and a turn is still under way.
        - #1 turn of flow 'Looking' is under way, in step 'Look', in a call of model 'gpt-5-mini'
      Open the gate, settle the promise or advance the clock that it waits for. If it is only slow, raise the option hangAfterMs.
      Where: flow 'Looking', step 'Look', turn 1

      The conversation so far:

      # Looking

      ## Turn 1

      User: Hello

      - enters Look

      No reply so far.
      "
    `)
    expect(
      await hangOf(Looking, { script }, async (conversation) => conversation.stream('Hello').until('text-delta')),
    ).toContain(`a call of model 'gpt-5-mini'`)
  })

  test('for a timer, after advance(), says that the clock does not advance by itself any more', async () => {
    const script = [{ delayMs: 1000, text: 'Hm?' }]
    expect(
      await hangOf(Looking, { script }, async (conversation) => {
        const saying = conversation.say('Hello')
        await conversation.advance(500)
        await saying
      }),
    ).toMatchInlineSnapshot(`
      "Nothing has happened for 40 ms of real time, and a turn is still under way.
        - #1 turn of flow 'Looking' is under way, in step 'Look', in a call of model 'gpt-5-mini'
        - 3 timers of the clock wait: after advance() the clock no longer advances by itself in this turn
      Open the gate, settle the promise or advance the clock that it waits for. If it is only slow, raise the option hangAfterMs.
      Where: flow 'Looking', step 'Look', turn 1

      The conversation so far:

      # Looking

      ## Turn 1

      User: Hello

      - enters Look

      No reply so far.
      "
    `)
  })

  test('for a real store names the operation', async () => {
    class Silent extends MemorySessionStore {
      override create(): Promise<never> {
        return never
      }
    }
    const createStore = () => new Silent()
    expect(await hangOf(Acting, { createStore }, (conversation) => conversation.say('Hello'))).toContain(
      `the store has not answered: 'create'`,
    )
  })

  test('can be restarted, and goes on', async () => {
    await using conversation = new Conversation(Acting, { hangAfterMs: 40 })
    await conversation.say('Hello')
    await expect(conversation.say('wait')).rejects.toThrow('Nothing has happened for 40 ms')
    await conversation.restart()
    await conversation.say('go on')
    conversation.expectReply('Done.')
  })

  test.each([
    ['after a restart', (conversation: Conversation) => conversation.restart()],
    ['behind the first one', () => undefined],
  ])('is reported as the first one was: %s', async (_when, act) => {
    const hang = await hangOf(Acting, {}, async (conversation) => {
      await conversation.say('Hello')
      await expect(conversation.say('wait')).rejects.toThrow('turn 2')
      await act(conversation)
      await conversation.say('wait')
    })
    expect(hang).toContain(`\nWhere: flow 'Acting', step 'Act', turn 2\n\nThe conversation so far:\n\n# Acting`)
    expect(hang).toContain('User: wait\n\nNo reply so far.')
  })
})

test('a turn that is only slow is not cut, and Infinity waits for ever', async () => {
  const slowly = (ms: number, value: string) => new Promise<string>((resolve) => setTimeout(() => resolve(value), ms))
  await using conversation = new Conversation(Looking, {
    hangAfterMs: 1000,
    script: [() => slowly(50, 'One.'), () => slowly(50, 'Two.')],
  })
  await conversation.say('Hello')
  conversation.expectReply('One.')
  const patient = await conversation.fork({ hangAfterMs: Number.POSITIVE_INFINITY })
  await patient.say('Hello')
  patient.expectReply('Two.')
  await patient.close()
  await conversation.say('Hello')
})

test('a turn that goes on for longer than the bound is not cut while something happens', async () => {
  const slowly = () => new Promise<string>((resolve) => setTimeout(() => resolve('again'), 30))
  await using conversation = new Conversation(Looking, {
    hangAfterMs: 100,
    tools: { look: slowly },
    script: [...Array.from({ length: 6 }, () => ({ toolCalls: [{ name: 'look' }] })), 'Done.'],
  })
  await conversation.say('Look')
  conversation.expectReply('Done.')
})

test('a runner that fakes the timers does not stop a conversation', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'Date', 'performance'] })
  await using conversation = new Conversation(Looking, { script: [{ failure: 503 }, { delayMs: 1000, text: 'Hm?' }] })
  await conversation.say('Hello')
  conversation.expectReply('Hm?')
  expect(await hangOf(Acting, {}, (hanging) => hanging.say('wait'))).toContain(`is under way, in step 'Act'`)
})

describe('a gate', () => {
  test('that no code comes to rejects, and shows what happened at the lock', async () => {
    const probe = new LockProbe({ hangAfterMs: 40 })
    await using conversation = new Conversation(Acting, { onEngine: (engine) => probe.observe(engine) })
    await conversation.say('Hello')
    await expect(probe.gate(conversation.sessionId).reached).rejects.toThrowErrorMatchingInlineSnapshot(`
      [ExpectationError: No code came to the gate of session 'session-1' within 40 ms of real time.
      What happened at the lock of session 'session-1':
        #1 turn of flow 'Acting' requests and acquires the lock
        #1 turn of flow 'Acting' releases it
      Start the turn before you wait for the gate, and let its step, tool or model call pass(sessionId) of this probe.]
    `)
    await expect(probe.gate().reached).rejects.toThrow('No code came to the gate of every session within 40 ms')
  })

  test('may stay unreached if nobody waits for it', async () => {
    const gate = new LockProbe({ hangAfterMs: 1 }).gate('a')
    void gate.reached
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(gate.waiting).toBe(0)
  })
})

describe('a summary that hangs', () => {
  class Ask extends Step {
    static override readonly id = 'Ask'
  }
  class Asking extends Looking {
    static override readonly id: string = 'Asking'
    static override readonly compaction = {
      Ask: rollingSummary({ above: 3, keep: 1, model: { provider: 'summaries', name: 'small' } }),
    }
    override steps(): readonly StepConstructor[] {
      return [Ask]
    }
  }
  const script = { Ask: ['One.', 'Two.', 'Three.'], 'memory:Ask': () => never }

  /** A conversation whose second turn has left such a summary behind. */
  async function asked(): Promise<Conversation> {
    const conversation = new Conversation(Asking, { hangAfterMs: 40, script })
    await conversation.say('1')
    await conversation.say('2')
    return conversation
  }
  const acts: Readonly<Record<string, (conversation: Conversation) => Promise<unknown>>> = {
    say: (conversation) => conversation.say('3'),
    atOnce: (conversation) => conversation.atOnce(['3', '4']),
    stream: (conversation) => conversation.stream('3').reply(),
    document: (conversation) => conversation.document(),
    fork: (conversation) => conversation.fork(),
    restart: (conversation) => conversation.restart(),
    close: (conversation) => conversation.close(),
  }

  test.each(Object.keys(acts))('is named by %s, after the turn that left it behind', async (name) => {
    const conversation = await asked()
    const error: Error = await (acts[name] as (typeof acts)[string])(conversation).then(
      () => new Error('nothing failed'),
      (reason) => reason,
    )
    expect(error.message.split('\n\n')[0]).toBe(
      [
        'Nothing has happened for 40 ms of real time, and what a turn left behind after its reply is still under way.',
        "  - the summary of memory 'Ask' has not settled",
        'Open the gate, settle the promise or advance the clock that it waits for. If it is only slow, raise the option hangAfterMs.',
        "Where: flow 'Asking', step 'Ask', after turn 2",
      ].join('\n'),
    )
    expect(error.message).toContain('The conversation so far:')
    expect(error.message).not.toContain('User: 3')
    if (name !== 'close') await conversation.close()
  })

  test('and is waited for by a message ends with the conversation, and the message gets no other engine', async () => {
    const engines: FlowEngine[] = []
    const onEngine = (engine: FlowEngine) => engines.push(engine)
    const conversation = new Conversation(Asking, { script, onEngine })
    await conversation.say('1')
    await conversation.say('2')
    const saying = conversation.say('3')
    // Until it waits for the summary.
    for (let task = 0; task < 5; task++) await new Promise((resolve) => setImmediate(resolve))
    await expect(conversation.close()).rejects.toThrow(
      /^close\(\) was called while say\("3"\) is under way[\s\S]*\nWhere: flow 'Asking', step 'Ask', turn 3\n/,
    )
    expect((await saying).error?.code).toBe('ENGINE_CLOSED')
    expect(engines).toHaveLength(1)
  })

  test('does not keep the conversation from a restart', async () => {
    const conversation = await asked()
    await expect(conversation.document()).rejects.toThrow('has not settled')
    await conversation.restart()
    expect((await conversation.document()).turns).toBe(2)
  })
})

describe('what hangs outside of a turn', () => {
  class Stuck extends MemorySessionStore {
    isStuck = false
    override load(id: string) {
      return this.isStuck ? never : super.load(id)
    }
    override close() {
      return this.isStuck ? never : super.close()
    }
  }
  const slow = 'has not settled, and nothing has happened for 40 ms of real time.'

  test('a store that is never made', async () => {
    const options = { createStore: () => never }
    expect(await hangOf(Acting, options, (conversation) => conversation.say('Hello'))).toContain(
      `createStore() ${slow}`,
    )
    expect(await hangOf(Acting, options, (conversation) => conversation.open())).toContain(`createStore() ${slow}`)
  })

  test('a store that does not load, or does not close', async () => {
    const store = new Stuck()
    const conversation = new Conversation(Acting, { hangAfterMs: 40, createStore: () => store })
    await conversation.say('Hello')
    store.isStuck = true
    await expect(conversation.document()).rejects.toThrow(`load() of the store ${slow}`)
    // A process that ends does not wait for its connections.
    await conversation.restart()
    await expect(conversation.close()).rejects.toThrow(`close() of the engine and its store ${slow}`)
  })
})
