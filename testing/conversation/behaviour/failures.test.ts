/** What a conversation says when something is not as it should be: each expectation meets the fault it is for. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  Flow,
  type FlowEngine,
  go,
  LogicStep,
  MemorySessionStore,
  type SessionDocument,
  stay,
  type Turn,
  tool,
} from '../../../src/index.js'
import { AskName, Confirm, capture, Onboarding } from '../../contract/onboarding.js'
import { Conversation } from '../conversation.js'

/** A flow that does not keep its state. */
class Forgetful extends AskName {
  override tools() {
    const execute = () => go(Confirm)
    return [tool({ name: 'capture_name', description: 'Record.', input: z.object({ name: z.string() }), execute })]
  }
}
class ForgetfulOnboarding extends Onboarding {
  override steps() {
    return [Forgetful, Confirm]
  }
}
/** A flow whose tool never ends. */
class Stuck extends AskName {
  override tools() {
    const execute = () => stay('Again, please.')
    return [tool({ name: 'capture_name', description: 'Record.', input: z.object({ name: z.string() }), execute })]
  }
}
class StuckOnboarding extends Onboarding {
  override steps() {
    return [Stuck, Confirm]
  }
}
class Crash extends LogicStep {
  static override readonly id = 'Crash'
  override run(): never {
    throw new Error('out of paper')
  }
}
class Crashing extends Flow {
  static override readonly id = 'Crashing'
  override steps() {
    return [Crash]
  }
}
/** A store that answers every save, and keeps nothing after the first. */
class LyingStore extends MemorySessionStore {
  override async save(_document: SessionDocument, _expectedRevision: string): Promise<void> {}
}

/** What `act` fails with; the conversation has come to its failure, so closing it adds nothing. */
async function failureOf(conversation: Conversation, act: () => unknown): Promise<string> {
  let message = 'nothing failed'
  try {
    await act()
  } catch (error) {
    message = `${(error as Error).name}: ${(error as Error).message}`
  }
  await conversation.close()
  // Which line it is, is tested in `author-lines.test.ts`.
  return message.replaceAll(/\/[^ ]*\/(testing\/.*\.test\.ts):\d+:\d+/g, '$1:<line>')
}

/** The same, without the transcript. */
async function problemOf(conversation: Conversation, act: () => unknown): Promise<string> {
  const failure = await failureOf(conversation, act)
  expect(failure).toContain('\n\nThe conversation so far:\n\n# ')
  return failure.slice(0, failure.indexOf('\n\nThe conversation so far:'))
}

async function afterHello(script: readonly string[] = ['What is your name?']): Promise<Conversation> {
  const conversation = new Conversation(Onboarding, { script })
  await conversation.say('Hello')
  return conversation
}

describe('expectReply', () => {
  test('shows the reply and the transcript', async () => {
    const conversation = await afterHello()
    expect(await failureOf(conversation, () => conversation.expectReply('Who are you?'))).toMatchInlineSnapshot(`
      "ExpectationError: Expected the reply "Who are you?"
        but it was "What is your name?"
      Where: flow 'Onboarding', step 'AskName', turn 1

      The conversation so far:

      # Onboarding

      ## Turn 1

      User: Hello

      - enters AskName

      Reply: What is your name?

      Now at AskName.
      "
    `)
  })

  test('reports a part that is not in it, and a reply that is not valid JSON', async () => {
    const first = await afterHello()
    expect(await problemOf(first, () => first.expectReply(/who/i))).toMatchInlineSnapshot(`
      "ExpectationError: Expected a reply that matches /who/i
        but it was "What is your name?"
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `)
    const second = await afterHello()
    expect(await problemOf(second, () => second.expectReply(z.object({})))).toMatchInlineSnapshot(
      `
      "ExpectationError: Expected a JSON reply, but it was "What is your name?"
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `,
    )
  })

  test('names the place where JSON does not fit a schema', async () => {
    const conversation = await afterHello(['{"tables":[{"seats":"two"}]}'])
    const schema = z.object({ tables: z.array(z.object({ seats: z.number() })) })
    expect(await problemOf(conversation, () => conversation.expectReply(schema))).toMatchInlineSnapshot(`
      "ExpectationError: The reply does not fit the schema:
        tables.0.seats: Invalid input: expected number, received string
        it was "{\\"tables\\":[{\\"seats\\":\\"two\\"}]}"
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `)
  })

  test('refuses a schema that makes a test wait', async () => {
    const conversation = await afterHello(['1'])
    const later = { '~standard': { version: 1, vendor: 'test', validate: async () => ({ value: 1 }) } } as const
    expect(await problemOf(conversation, () => conversation.expectReply(later))).toContain('answers at once')
  })

  test('reports why the turn failed', async () => {
    const conversation = new Conversation(Crashing)
    await conversation.say('Hello')
    expect(await problemOf(conversation, () => conversation.expectReply('Hello.'))).toMatchInlineSnapshot(`
      "ExpectationError: Expected the reply "Hello.", but the turn failed.
      The turn "Hello" failed with FLOW_ERROR: out of paper
        at Crash.run (testing/conversation/behaviour/failures.test.ts:<line>)
      Where: flow 'Crashing', step 'Crash', turn 1"
    `)
  })
})

describe('expectStep', () => {
  test('catches a flow that does not move on', async () => {
    const conversation = new Conversation(StuckOnboarding, { script: [capture('Ada Lovelace'), 'Hm.'] })
    await conversation.say('Ada Lovelace')
    expect(await problemOf(conversation, () => conversation.expectStep(Confirm))).toMatchInlineSnapshot(
      `
      "ExpectationError: Expected the conversation to be at step 'Confirm', but it is at 'AskName'.
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `,
    )
  })

  test('reports a step that the flow does not have', async () => {
    const conversation = await afterHello()
    expect(await problemOf(conversation, () => conversation.expectStep('AskNmae'))).toMatchInlineSnapshot(`
      "ExpectationError: Expected the conversation to be at step 'AskNmae', but it is at 'AskName'.
        The flow has no step 'AskNmae'; its steps: AskName, Confirm, End.
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `)
  })

  test('catches a store that loses what it acknowledged', async () => {
    const store = new LyingStore()
    const conversation = new Conversation(Onboarding, {
      script: ['What is your name?', capture('Ada Lovelace')],
      createStore: () => store,
    })
    await conversation.say('Hello')
    await conversation.say('Ada Lovelace')
    expect(await problemOf(conversation, () => conversation.expectStep('End'))).toMatchInlineSnapshot(
      `
      "ExpectationError: Expected the conversation to be at step 'End', but it is at 'AskName'.
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `,
    )
  })
})

describe('expectState', () => {
  test('catches a flow that forgets, and shows the whole state', async () => {
    const conversation = new Conversation(ForgetfulOnboarding, { script: [capture('Ada Lovelace')] })
    await conversation.say('Ada Lovelace')
    const expected = { name: 'Ada Lovelace', tries: [1] }
    expect(await problemOf(conversation, () => conversation.expectState(Forgetful, expected))).toMatchInlineSnapshot(`
      "ExpectationError: The state of step 'AskName' is not what was expected:
        name: expected "Ada Lovelace", got nothing
        tries: expected [1], got nothing
        the whole state: {}
      Where: flow 'Onboarding', step 'End', turn 1"
    `)
  })

  test('reports unexpected properties, and lists of another length', async () => {
    const conversation = new Conversation(Onboarding, { script: [capture('Ada Lovelace')] })
    await conversation.say('Ada Lovelace')
    expect(
      await problemOf(conversation, () => conversation.expectState(AskName, { name: undefined })),
    ).toMatchInlineSnapshot(`
      "ExpectationError: The state of step 'AskName' is not what was expected:
        name: expected nothing, got "Ada Lovelace"
        the whole state: {"name":"Ada Lovelace"}
      Where: flow 'Onboarding', step 'End', turn 1"
    `)
  })

  test('says of a tool whose double answered that its state is not written', async () => {
    const options = { script: [capture('Ada Lovelace'), 'Noted.'] }
    const conversation = new Conversation(Onboarding, { ...options, tools: { capture_name: 'Noted.' } })
    await conversation.say('Ada Lovelace')
    const expected = { name: 'Ada Lovelace' }
    expect(await problemOf(conversation, () => conversation.expectState(AskName, expected))).toMatchInlineSnapshot(`
      "ExpectationError: The state of step 'AskName' is not what was expected:
        name: expected "Ada Lovelace", got nothing
        the whole state: {}
      Doubles answered for these tools: capture_name. A double does not write the state that its tool would write, unless it is a function that does so: (args, turn) => { turn.stateOf(Step).name = ... }
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `)
    const writing = new Conversation(Onboarding, {
      ...options,
      tools: {
        capture_name: ({ name }: { name: string }, turn: Turn) => {
          turn.stateOf(AskName).name = `${name}!`
          return 'Noted.'
        },
      },
    })
    await writing.say('Ada Lovelace')
    expect(await problemOf(writing, () => writing.expectState(AskName, expected))).not.toContain('Doubles')
  })

  test('lists the steps with state', async () => {
    const conversation = await afterHello()
    expect(await problemOf(conversation, () => conversation.expectState(Confirm, {}))).toMatchInlineSnapshot(
      `
      "ExpectationError: Expected state of step 'Confirm', but none is stored. Steps with state: AskName.
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `,
    )
  })
})

describe('expectCompleted', () => {
  test('names the current step', async () => {
    const conversation = await afterHello()
    expect(await problemOf(conversation, () => conversation.expectCompleted())).toMatchInlineSnapshot(
      `
      "ExpectationError: Expected the conversation to be completed. The reply said completed: false, and the session is stored as 'running' at step 'AskName'.
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `,
    )
  })

  test('catches a store that loses the end', async () => {
    const store = new LyingStore()
    const script = ['What is your name?', capture('Ada Lovelace')]
    const conversation = new Conversation(Onboarding, { script, createStore: () => store })
    await conversation.say('Hello')
    await conversation.say('Ada Lovelace')
    expect(await problemOf(conversation, () => conversation.expectCompleted())).toMatchInlineSnapshot(
      `
      "ExpectationError: Expected the conversation to be completed. The reply said completed: true, and the session is stored as 'running' at step 'AskName'.
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `,
    )
  })

  test('reports why the turn failed, although a failure is "completed"', async () => {
    const conversation = new Conversation(Crashing)
    await conversation.say('Hello')
    expect(await problemOf(conversation, () => conversation.expectCompleted())).toContain('out of paper')
  })
})

describe('expectToolCalls', () => {
  async function afterCalls(): Promise<Conversation> {
    const conversation = new Conversation(Onboarding, { script: [capture('Ada'), capture(1), 'And the last name?'] })
    await conversation.say('Ada')
    return conversation
  }

  test('lists the calls if there are more or fewer', async () => {
    const conversation = await afterCalls()
    expect(await problemOf(conversation, () => conversation.expectToolCalls([]))).toMatchInlineSnapshot(`
      "ExpectationError: The tool calls of the turn are not what was expected:
        expected 0 calls, got 2
      The calls:
        1. capture_name {"name":"Ada"} = "First and last name, please."
        2. capture_name {"name":1} failed: "Invalid arguments: name: Invalid input: expected string, received number"
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `)
  })

  test('says which call is missing, and which was not expected', async () => {
    const conversation = await afterCalls()
    const expected = ['forget_name', 'capture_name', 'greet']
    expect(await problemOf(conversation, () => conversation.expectToolCalls(expected))).toContain(`
  expected 3 calls, got 2
  missing: forget_name, call 1 of the expected ones
  missing: greet, call 3 of the expected ones
  not expected: capture_name, call 2
The calls:`)
  })

  test('lists the calls if one differs', async () => {
    const conversation = await afterCalls()
    const expected = [{ name: 'capture_name', input: { name: 'Bo' } }, 'forget_name']
    expect(await problemOf(conversation, () => conversation.expectToolCalls(expected))).toMatchInlineSnapshot(`
      "ExpectationError: The tool calls of the turn are not what was expected:
        call 1, input.name: expected "Bo", got "Ada"
        call 2: expected forget_name, got capture_name
      The calls:
        1. capture_name {"name":"Ada"} = "First and last name, please."
        2. capture_name {"name":1} failed: "Invalid arguments: name: Invalid input: expected string, received number"
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `)
  })

  test('reports another result', async () => {
    const conversation = await afterCalls()
    const expected = [
      { name: 'capture_name', isError: true },
      { name: 'capture_name', output: 'Done.', isError: true },
    ]
    expect(await problemOf(conversation, () => conversation.expectToolCalls(expected))).toContain(
      'call 1, isError: expected true, got false\n  call 2, output: expected "Done.", got "Invalid arguments: name',
    )
  })
})

describe('expectAsked', () => {
  test('shows the request that the model received', async () => {
    const conversation = await afterHello()
    expect(
      await problemOf(conversation, () => conversation.expectAsked({ system: /phone number/ })),
    ).toMatchInlineSnapshot(`
      "ExpectationError: The model did not receive what was expected: flow 'Onboarding', step 'AskName', turn 1, call 1 of the turn.
        system: expected /phone number/, got "Ask for the full name, then call capture_name.""
    `)
  })
})

describe('expectError', () => {
  test('reports a turn that did not fail', async () => {
    const conversation = await afterHello()
    expect(await problemOf(conversation, () => conversation.expectError('TOOL_ERROR'))).toMatchInlineSnapshot(
      `
      "ExpectationError: Expected the turn "Hello" to fail with TOOL_ERROR, but it succeeded.
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `,
    )
  })

  test('reports another failure, and another text', async () => {
    const first = new Conversation(Crashing)
    await first.say('Hello')
    expect(await problemOf(first, () => first.expectError('TOOL_ERROR'))).toMatchInlineSnapshot(
      `
      "ExpectationError: Expected the turn to fail with TOOL_ERROR, but it failed with FLOW_ERROR: out of paper
        at Crash.run (testing/conversation/behaviour/failures.test.ts:<line>)
      Where: flow 'Crashing', step 'Crash', turn 1"
    `,
    )
    const second = new Conversation(Crashing)
    await second.say('Hello')
    expect(await problemOf(second, () => second.expectError('FLOW_ERROR', 'out of ink'))).toMatchInlineSnapshot(`
      "ExpectationError: The turn failed with FLOW_ERROR, as expected, but not with this text: "out of ink"
        but "out of paper"
      Where: flow 'Crashing', step 'Crash', turn 1"
    `)
  })
})

describe('a failed turn that was not expected', () => {
  test('is reported at the next say', async () => {
    const conversation = new Conversation(Crashing)
    await conversation.say('Hello')
    expect(await problemOf(conversation, () => conversation.say('Hello?'))).toMatchInlineSnapshot(`
      "ExpectationError: The turn "Hello" failed with FLOW_ERROR: out of paper
        at Crash.run (testing/conversation/behaviour/failures.test.ts:<line>)
        said at testing/conversation/behaviour/failures.test.ts:<line>
      If it should fail, say so after it: conversation.expectError('FLOW_ERROR').
      Where: flow 'Crashing', step 'Crash', turn 1"
    `)
  })

  test('is reported at close, with the doubles that no step offered', async () => {
    const conversation = new Conversation(Crashing, { tools: { print: 'Printed.' } })
    await conversation.say('Hello')
    await expect(conversation.close()).rejects.toThrow(
      'doubles that no step offered so far: print (offered: none)\nIf it should fail, say so after it',
    )
  })

  test('shows the cause that the engine does not send to clients', async () => {
    const conversation = new Conversation(Onboarding, { script: [new Error('overloaded')] })
    await conversation.say('Hello')
    expect(await problemOf(conversation, () => conversation.say('Hello?'))).toMatchInlineSnapshot(`
      "ExpectationError: The turn "Hello" failed with MODEL_ERROR: Model 'gpt-5-mini' of provider 'openai' failed.
        cause: Error: overloaded
          at testing/conversation/behaviour/failures.test.ts:<line>
        said at testing/conversation/behaviour/failures.test.ts:<line>
      If it should fail, say so after it: conversation.expectError('MODEL_ERROR').
      Where: flow 'Onboarding', step 'AskName', turn 1"
    `)
  })
})

describe('a script that does not fit', () => {
  test('fails the say, not politely', async () => {
    const conversation = await afterHello()
    expect(await failureOf(conversation, () => conversation.say('Ada'))).toMatchInlineSnapshot(`
      "ExpectationError: The model was asked once more than its script says: flow 'Onboarding', step 'AskName', turn 2, call 1 of the turn.
        asked: user "Ada"
        tools offered: capture_name
        script: 1. "What is your name?" (used)
      Add a reply to the script, or find out why the step asks again.

      The conversation so far:

      # Onboarding

      ## Turn 1

      User: Hello

      - enters AskName

      Reply: What is your name?

      Now at AskName.

      ## Turn 2

      User: Ada

      Failed with MODEL_ERROR: Model 'gpt-5-mini' of provider 'openai' failed.
      "
    `)
  })

  test('that is not used up fails the close', async () => {
    const conversation = await afterHello(['What is your name?', 'Hello?'])
    await expect(conversation.close()).rejects.toThrow('The script of the model was not used up: 1 reply of 2 left')
  })

  test('fails the say with what a function of it threw, and with its two values', async () => {
    const failed = Object.assign(new Error('expected the prompt to be short'), { expected: 10, actual: 12 })
    const conversation = new Conversation(Onboarding, {
      script: () => {
        throw failed
      },
    })
    const error = await conversation.say('Hello').catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ name: 'ExpectationError', cause: failed, expected: 10, actual: 12 })
    const [head = '', transcript] = (error as Error).message.split('\n\nThe conversation so far:')
    expect(head).toMatch(
      /^A function of the script threw Error: expected the prompt to be short\n {2}at .*failures\.test\.ts:\d+:\d+\)?\n/,
    )
    expect(head).toContain("\n  in flow 'Onboarding', step 'AskName', turn 1, call 1 of the turn\n")
    expect(transcript).toContain('User: Hello')
    await conversation.close()
  })

  test.each(['too long', undefined])(
    'fails the say where a function of it throws %j in place of an error',
    async (thrown) => {
      const conversation = new Conversation(Onboarding, {
        script: () => {
          throw thrown
        },
      })
      await expect(conversation.say('Hello')).rejects.toThrow(
        `A function of the script threw ${JSON.stringify(thrown)}\n`,
      )
      await conversation.close()
    },
  )

  test('of a double fails the say', async () => {
    const conversation = new Conversation(Onboarding, { script: [capture('Ada')], tools: { capture_name: [] } })
    expect(await problemOf(conversation, () => conversation.say('Ada'))).toContain(
      "The double of 'capture_name' was called once more than it has results",
    )
  })
})

describe('a broken engine', () => {
  test('that runs a turn twice is found by the script', async () => {
    const conversation = new Conversation(Onboarding, {
      script: ['What is your name?'],
      onEngine: (engine) => {
        const execute = engine.execute.bind(engine)
        engine.execute = (input) => execute(input).then(() => execute(input))
      },
    })
    expect(await problemOf(conversation, () => conversation.say('Hello'))).toContain(
      "asked once more than its script says: flow 'Onboarding', step 'AskName', turn 1, call 1 of the turn",
    )
  })

  test('that answers and stores nothing is found by the step', async () => {
    const conversation = new Conversation(Onboarding, {
      onEngine: (engine) => {
        const response = { success: true, completed: false, message: 'Hello.', session: 'a', contentType: 'text/plain' }
        engine.execute = async () => ({ response, sessionState: 'running' })
      },
    })
    await conversation.say('Hello')
    conversation.expectReply('Hello.')
    expect(await problemOf(conversation, () => conversation.expectStep(AskName))).toMatchInlineSnapshot(`
      "ExpectationError: Expected the conversation to be at step 'AskName', but nothing is stored yet.
      Where: flow 'Onboarding', turn 1"
    `)
  })

  test('or flow, that calls the model without its prompt is found by the request', async () => {
    class Silent extends AskName {
      override prompt() {
        return ''
      }
    }
    class SilentOnboarding extends Onboarding {
      override steps() {
        return [Silent]
      }
    }
    const conversation = new Conversation(SilentOnboarding, { script: ['Hello.'] })
    await conversation.say('Hello')
    expect(await problemOf(conversation, () => conversation.expectAsked({ system: /full name/ }))).toContain(
      'system: expected /full name/, got none',
    )
  })
})

describe('close reports', () => {
  test('a double that no step offered', async () => {
    const conversation = new Conversation(Onboarding, { script: ['Hello.'], tools: { captur_name: 1 } })
    await conversation.say('Hello')
    await expect(conversation.close()).rejects.toThrow('name of a double: captur_name.\n  tools offered: capture_name')
  })

  test('a fault that never struck', async () => {
    const conversation = await afterHello()
    conversation.store.failNext('save')
    await expect(conversation.close()).rejects.toThrow('save')
  })

  test('a turn that is still under way, which it ends', async () => {
    const conversation = new Conversation(Onboarding, { tools: {}, script: [{ delayMs: 100_000 }] })
    await conversation.open()
    const saying = conversation.say('Hello')
    await conversation.advance(1)
    await expect(conversation.close()).rejects.toThrow('close() was called while say("Hello") is under way')
    expect((await saying).error?.code).toBe('ENGINE_CLOSED')
  })

  test('nothing, a second time', async () => {
    const conversation = await afterHello(['What is your name?', 'Hello?'])
    const closing = conversation.close()
    expect(conversation.close()).toBe(closing)
    await expect(closing).rejects.toThrow()
  })
})

describe('out of turn', () => {
  test('an expectation needs a turn', () => {
    expect(() => new Conversation(Onboarding).expectReply('Hello.')).toThrow(
      'expectReply needs a turn: await conversation.say(...) first.',
    )
  })

  test('the store and the engine need an open conversation', () => {
    expect(() => new Conversation(Onboarding).store).toThrow('await conversation.open()')
    expect(() => new Conversation(Onboarding).engine).toThrow('await conversation.open()')
  })

  test.each(['say', 'restart', 'fork', 'expectReply'] as const)('%s waits for its turn', async (operation) => {
    const conversation = await afterHello(['One.', 'Two.'])
    const saying = conversation.say('Hello')
    const act = async () => {
      if (operation === 'say') return conversation.say('Hello?')
      return operation === 'expectReply' ? conversation.expectReply('One.') : conversation[operation]()
    }
    await expect(act()).rejects.toThrow(`${operation}() was called while say("Hello") is under way: await that first.`)
    await saying
    await conversation.close()
  })

  test.each(['say', 'restart', 'fork', 'expectReply', 'close'] as const)(
    '%s waits for a restart',
    async (operation) => {
      const engines: FlowEngine[] = []
      const conversation = new Conversation(Onboarding, {
        script: ['One.'],
        onEngine: (engine) => engines.push(engine),
      })
      await conversation.say('Hello')
      const restarting = conversation.restart()
      const act = async () => {
        if (operation === 'say') return conversation.say('yes')
        return operation === 'expectReply' ? conversation.expectReply('One.') : conversation[operation]()
      }
      const text = `${operation}() was called while restart() is under way: await that first.\nWhere: `
      await expect(act()).rejects.toThrow(text)
      await restarting
      await conversation.close().catch(() => undefined)
      expect(await Promise.all(engines.map((engine) => engine.isReady()))).toEqual([false, false])
    },
  )

  test.each(['open', 'say', 'restart', 'fork', 'document'] as const)(
    '%s is not for a closed conversation',
    async (operation) => {
      const conversation = await afterHello()
      await conversation.close()
      const act = async () => (operation === 'say' ? conversation.say('Hello?') : conversation[operation]())
      await expect(act()).rejects.toThrow(`${operation}() was called after close()`)
      conversation.expectReply('What is your name?')
    },
  )

  test('a missing document is reported', async () => {
    const conversation = new Conversation(Onboarding)
    await expect(conversation.document()).rejects.toThrow(
      'document() needs a session, and none is stored yet: await conversation.say(...) first.',
    )
    conversation.sessionId = 'session-7'
    await expect(conversation.document()).rejects.toThrow("Nothing is stored under the session ID 'session-7'.")
    await conversation.close()
  })
})

test('a store that cannot be read after a turn is reported when the document is read', async () => {
  const store = new MemorySessionStore()
  const conversation = new Conversation(Onboarding, { script: ['Hello.'], createStore: () => store })
  await conversation.open()
  await store.close()
  await conversation.say('Hello')
  conversation.expectError('SESSION_STORE_ERROR')
  expect(await problemOf(conversation, () => conversation.expectStep(AskName))).toContain('nothing is stored yet')
})

test('a message without a text is refused', async () => {
  const conversation = new Conversation(Crashing)
  const nothing = undefined as never
  await expect(conversation.say(nothing)).rejects.toThrow('say() needs the text of the message; got undefined.')
  expect(() => conversation.stream(nothing)).toThrow('stream() needs the text of the message; got undefined.')
  await expect(conversation.atOnce(['a', nothing])).rejects.toThrow(
    'atOnce() needs the text of each message; got undefined.',
  )
  await conversation.close()
})
