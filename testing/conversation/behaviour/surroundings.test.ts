/**
 * Failures around the turns, in code that the test passed to the conversation: the failure says where in the
 * conversation it is.
 */
import { describe, expect, test, vi } from 'vitest'
import { Flow, FlowError, LogicStep, MemorySessionStore, reply, type SessionDocument } from '../../../src/index.js'
import { ExpectationError } from '../../expectations/expectation-error.js'
import { retryAs } from '../client.js'
import { Conversation } from '../conversation.js'
import type { ConversationOptions } from '../conversation-options.js'

const never = new Promise<never>(() => undefined)

class Act extends LogicStep {
  static override readonly id = 'Act'
  override run() {
    return reply('Done.')
  }
}
class Acting extends Flow {
  static override readonly id = 'Acting'
  override steps() {
    return [Act]
  }
}

/** `later` for each call but the first. */
function firstThen<T>(first: T, later: () => T): () => T {
  let calls = 0
  return () => (calls++ === 0 ? first : later())
}

const underWay = `Where: flow 'Acting', turn 1\n\nThe conversation so far:\n\n# Acting\n\n## Turn 1\n\nUser: Hello\n\nNo reply so far.\n`
const before = `Where: flow 'Acting', before the first turn\n\nThe conversation so far:\n\n# Acting\n`
const after = `Where: flow 'Acting', step 'Act', after turn 1\n\nThe conversation so far:\n\n# Acting\n\n## Turn 1\n`
const slow = 'has not settled, and nothing has happened for 40 ms of real time.'

async function failureOf(
  options: ConversationOptions,
  act: (conversation: Conversation) => Promise<unknown>,
): Promise<Error> {
  const conversation = new Conversation(Acting, { hangAfterMs: 40, ...options })
  try {
    await act(conversation)
  } catch (error) {
    return error as Error
  } finally {
    await conversation.close().catch(() => undefined)
  }
  throw new Error('nothing failed')
}

const say = (conversation: Conversation): Promise<unknown> => conversation.say('Hello')

describe('a store that is never made', () => {
  const createStore = () => never
  test.each<[string, string, (conversation: Conversation) => Promise<unknown>]>([
    ['say', underWay, say],
    ['atOnce', underWay, (conversation) => conversation.atOnce(['Hello'])],
    ['stream', underWay.replace('No reply', 'Nothing was streamed'), (one) => one.stream('Hello').reply()],
    ['open', before, (conversation) => conversation.open()],
  ])('%s', async (_operation, where, act) => {
    const { message } = await failureOf({ createStore }, act)
    expect(message).toContain(`createStore() ${slow}`)
    expect(message).toContain(where)
  })

  test.each<[string, (conversation: Conversation) => Promise<unknown>]>([
    ['restart', (conversation) => conversation.restart()],
    ['fork', (conversation) => conversation.fork()],
  ])('%s', async (_operation, act) => {
    const stores = firstThen<MemorySessionStore | Promise<never>>(new MemorySessionStore(), () => never)
    const { message } = await failureOf({ createStore: stores }, async (conversation) => {
      await say(conversation)
      await act(conversation)
    })
    expect(message).toContain(`createStore() ${slow}`)
    expect(message).toContain(after)
  })
})

test('a store that is not loaded by document(), and not closed', async () => {
  class Stuck extends MemorySessionStore {
    override load(id: string) {
      return this.isStuck ? never : super.load(id)
    }
    override close() {
      return never
    }
    isStuck = false
  }
  const store = new Stuck()
  const load = await failureOf({ createStore: () => store }, async (conversation) => {
    await say(conversation)
    store.isStuck = true
    await conversation.document()
  })
  expect(load.message).toContain(`load() of the store ${slow}`)
  expect(load.message).toContain(after)
  const close = await failureOf({ createStore: () => new Stuck() }, async (conversation) => {
    await say(conversation)
    await conversation.close()
  })
  expect(close.message).toContain(`close() of the engine and its store ${slow}`)
  expect(close.message).toContain(after)
})

test('a store that does not create the session of Conversation.at, or of a fork', async () => {
  class Stuck extends MemorySessionStore {
    override create(): Promise<never> {
      return never
    }
  }
  const started = Conversation.at(Acting, { step: Act, hangAfterMs: 40, createStore: () => new Stuck() })
  await expect(started.say('Hello')).rejects.toThrow(`create() of the store ${slow}`)
  const fork = await failureOf({}, async (conversation) => {
    await say(conversation)
    await conversation.fork({ createStore: () => new Stuck() })
  })
  expect(fork.message).toContain(`create() of the store ${slow}`)
  expect(fork.message).toContain(after)
})

describe('code of the test that throws', () => {
  const noDatabase = new Error('no database')
  const throwing = () => {
    throw noDatabase
  }
  test.each<[string, ConversationOptions]>([
    ['createStore() threw Error: no database', { createStore: throwing }],
    ['createStore() threw Error: no database', { createStore: async () => throwing() }],
    ['onEngine() threw Error: no database', { onEngine: throwing }],
    ['createStore() must return a store; got undefined.', { createStore: () => undefined as never }],
  ])('%s', async (text, options) => {
    const error = await failureOf(options, say)
    expect(error.message.startsWith(text)).toBe(true)
    expect(error.message).toContain(underWay)
    expect(error.cause).toBe(text.includes('threw') ? noDatabase : undefined)
  })
})

describe('an engine that cannot be made', () => {
  class Nameless extends Flow {
    static override readonly id = ''
    override steps() {
      return [Act]
    }
  }
  const wrong = { limits: { maxTurns: 4 } } as ConversationOptions
  test.each<[string, () => Conversation, string]>([
    ['an option', () => new Conversation(Acting, wrong), "FlowEngine: there is no option 'limits.maxTurns'."],
    ['the flow', () => new Conversation(Nameless), 'FlowRegistrationError'],
  ])('names the line of the conversation: %s', async (_what, make, text) => {
    const error: Error = await say(make()).then(
      () => new Error('nothing failed'),
      (thrown) => thrown,
    )
    expect(error).toBeInstanceOf(ExpectationError)
    expect(error.message).toMatch(/^The engine cannot be made: /)
    expect(error.message).toContain(text)
    expect(error.message).toMatch(/\n {2}the conversation was made at .*surroundings\.test\.ts:\d+:\d+\)?\n/)
    expect(error.cause).toBeInstanceOf(FlowError)
  })

  test('closes its store', async () => {
    const store = new MemorySessionStore()
    const close = vi.spyOn(store, 'close')
    await failureOf({ ...wrong, createStore: () => store }, say)
    expect(close).toHaveBeenCalledOnce()
  })
})

test('a client that retries without a key', async () => {
  const { message } = await failureOf({}, (conversation) => conversation.say('Hello', { fault: retryAs('same-key') }))
  expect(message).toContain(`retryAs('same-key') needs a key: say(text, { key, fault }).\n${underWay}`)
})

describe('close, while the store is being made', () => {
  /** Stores that are made when the gate is open; how many were made and closed, and the turns that ran over them. */
  function gatedStores() {
    const seen = { made: 0, closed: 0, saved: 0 }
    let open = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const createStore = async () => {
      await gate
      seen.made++
      const store = new MemorySessionStore()
      const { close, create } = store
      return Object.assign(store, {
        close: () => {
          seen.closed++
          return close.call(store)
        },
        create: (document: SessionDocument) => {
          seen.saved++
          return create.call(store, document)
        },
      })
    }
    return { seen, open: () => open(), createStore }
  }

  test('closes it, after open() that nobody awaited', async () => {
    const { seen, open, createStore } = gatedStores()
    const conversation = new Conversation(Acting, { createStore })
    void conversation.open()
    const closing = conversation.close()
    await conversation.clock.settle()
    open()
    await closing
    expect(seen).toEqual({ made: 1, closed: 1, saved: 0 })
  })

  test('closes it, and runs no turn, after say() that nobody awaited', async () => {
    const { seen, open, createStore } = gatedStores()
    const conversation = new Conversation(Acting, { createStore })
    const saying = conversation.say('Hello')
    const closing = expect(conversation.close()).rejects.toThrow(
      'close() was called while say("Hello") is under way: await that first.',
    )
    await conversation.clock.settle()
    open()
    await closing
    expect((await saying).error?.code).toBe('ENGINE_CLOSED')
    expect(seen.saved).toBe(0)
    expect(seen.closed).toBe(seen.made)
  })
})
