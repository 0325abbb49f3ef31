import { describe, expect, test } from 'vitest'
import { flowOf, lines, upTo } from '../../../../testing/contract/test-flows.js'
import { Conversation } from '../../../../testing/index.js'
import { Flow, finish, go, LogicStep, reply, retry, Step, type Turn, tool } from '../../../index.js'

/** A tool that takes a note and says so. */
const note = tool({ name: 'note', description: 'Takes a note.', execute: () => 'Noted.' })

describe('a model step', () => {
  class Talk extends Step {
    static override readonly id = 'Talk'
    override prompt(turn: Turn) {
      return `You are kind. This is turn ${turn.number}.`
    }
    override tools() {
      return [note]
    }
  }

  test('sends what the model says', async () => {
    const conversation = new Conversation(flowOf(Talk), { script: ['Hello.', 'Fine.'] })
    await conversation.say('Hi')
    conversation.expectReply('Hello.')
    await conversation.say('How are you?')
    conversation.expectReply('Fine.')
    await conversation.close()
  })

  test('sends the model its prompt, its memory, its tools, its parameters and where the call comes from', async () => {
    class Tuned extends Talk {
      override model() {
        return { provider: 'scripted', name: 'small', params: { temperature: 0 } }
      }
    }
    await using conversation = new Conversation(flowOf(Tuned), { script: ['Hello.', 'Fine.'] })
    await conversation.say('Hi')
    await conversation.say('How are you?')
    const { messages, ...request } = conversation.model.requests[1] ?? { messages: [] }
    expect(lines(messages)).toEqual(['user: Hi', 'assistant: Hello.', 'user: How are you?'])
    expect(messages.map(({ turn }) => turn)).toEqual([1, 1, 2])
    expect(request).toEqual({
      system: 'You are kind. This is turn 2.',
      tools: [
        {
          name: 'note',
          description: 'Takes a note.',
          inputSchema: { type: 'object', properties: {}, additionalProperties: false },
        },
      ],
      params: { temperature: 0 },
      origin: {
        flowName: 'Test',
        stepId: 'Talk',
        sessionId: conversation.sessionId,
        turnNumber: 2,
        callNumber: 1,
        attempt: 1,
      },
      streamed: false,
      outcome: 'answered',
    })
  })

  test('has no system prompt where the prompt is empty, and never stores one', async () => {
    class Silent extends Step {
      static override readonly id = 'Silent'
    }
    await using silent = new Conversation(flowOf(Silent), { script: ['Hello.'] })
    await silent.say('Hi')
    expect(silent.model.requests[0]).not.toHaveProperty('system')
    await using conversation = new Conversation(flowOf(Talk), { script: ['Hello.'] })
    await conversation.say('Hi')
    expect(JSON.stringify(await conversation.document())).not.toContain('You are kind')
  })

  test('asks for its prompt and tools before each call of a turn', async () => {
    let asked = 0
    class Counting extends Step {
      static override readonly id = 'Counting'
      override async prompt() {
        return `Call ${asked}`
      }
      override async tools() {
        return ++asked === 1 ? [note] : []
      }
    }
    await using conversation = new Conversation(flowOf(Counting), {
      script: [{ toolCalls: [{ name: 'note' }] }, 'Done.'],
    })
    await conversation.say('Hi')
    expect(conversation.model.requests.map(({ system, tools }) => [system, tools.length])).toEqual([
      ['Call 1', 1],
      ['Call 2', 0],
    ])
  })

  test('is called in the turn that goes to it', async () => {
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return go(Talk)
      }
    }
    await using conversation = new Conversation(flowOf(Start, Talk), { script: ['Hello.'] })
    await conversation.say('Hi')
    conversation.expectReply('Hello.')
  })

  test('joins the texts of an answer', async () => {
    const provider = {
      provider: 'parts',
      resolve: () => ({
        provider: 'parts',
        name: 'parts',
        generate: async () => ({
          parts: [
            { type: 'text', text: 'Hel' },
            { type: 'text', text: 'lo.' },
          ] as const,
        }),
      }),
    }
    class Parts extends Step {
      static override readonly id = 'Parts'
      override model() {
        return { provider: 'parts', name: 'parts' }
      }
    }
    await using conversation = new Conversation(flowOf(Parts), { providers: [provider] })
    await conversation.say('Hi')
    conversation.expectReply('Hello.')
    expect(lines((await conversation.document()).flow.memory.Parts?.messages)).toEqual([
      'user: Hi',
      'assistant: Hello.',
    ])
  })

  test('fails where its prompt is not a string', async () => {
    class Broken extends Step {
      static override readonly id = 'Broken'
      override prompt() {
        return ['Be kind.'] as unknown as string
      }
    }
    await using conversation = new Conversation(flowOf(Broken))
    await conversation.say('Hi')
    conversation.expectError('FLOW_ERROR', "prompt of step 'Broken' must return a string.")
  })
})

describe('the tools of a call', () => {
  const shared = tool({ name: 'shared', description: 'For every step.', execute: () => 'Shared.' })

  class Talk extends Step {
    static override readonly id = 'Talk'
    override tools() {
      return [note]
    }
  }

  test("are the flow's, then the step's own", async () => {
    class Sharing extends flowOf(Talk) {
      override async tools(turn: Turn) {
        return turn.number === 1 ? [shared] : []
      }
    }
    await using conversation = new Conversation(Sharing, {
      script: [{ toolCalls: [{ name: 'shared' }] }, 'One.', 'Two.'],
    })
    await conversation.say('Hi')
    await conversation.say('Hi')
    expect(conversation.model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ['shared', 'note'],
      ['shared', 'note'],
      ['note'],
    ])
    expect(lines((await conversation.document()).flow.memory.Talk?.messages)).toContain('tool: shared = "Shared."')
  })

  test.each([
    ['two of the step', [note, note], []],
    ['one of the step and one of the flow', [note], [note]],
  ])('may not share a name: %s', async (_which, own, ofFlow) => {
    class Talk extends Step {
      static override readonly id = 'Talk'
      override tools() {
        return own
      }
    }
    class Sharing extends flowOf(Talk) {
      override tools() {
        return ofFlow
      }
    }
    await using conversation = new Conversation(Sharing)
    await conversation.say('Hi')
    conversation.expectError('FLOW_ERROR', "Step 'Talk' offers two tools with the name 'note'.")
  })
})

describe('onReply', () => {
  test('may change the text: what was sent is what is remembered', async () => {
    class Shout extends Step {
      static override readonly id = 'Shout'
      override async onReply(text: string) {
        return text.toUpperCase()
      }
    }
    await using conversation = new Conversation(flowOf(Shout), { script: ['Hello.'] })
    await conversation.say('Hi')
    conversation.expectReply('HELLO.')
    expect(lines((await conversation.document()).flow.memory.Shout?.messages)).toEqual([
      'user: Hi',
      'assistant: HELLO.',
    ])
  })

  test('may have the model answer again: it reads its answer and the reason', async () => {
    class OneWord extends Step {
      static override readonly id = 'OneWord'
      override onReply(text: string) {
        return text.includes(' ') ? retry(`One word, please, and not ${text.split(' ').length}.`) : text
      }
    }
    const retries: unknown[] = []
    await using conversation = new Conversation(flowOf(OneWord), { script: ['It is blue.', 'Light blue.', 'Blue.'] })
    await conversation.open()
    conversation.engine.on('model:retry', ({ step, model, callNumber }) => retries.push([step, model, callNumber]))
    await conversation.say('Which colour?')
    conversation.expectReply('Blue.')
    expect(lines(conversation.model.requests[2]?.messages)).toEqual([
      'user: Which colour?',
      'assistant: It is blue.',
      'user: One word, please, and not 3.',
      'assistant: Light blue.',
      'user: One word, please, and not 2.',
    ])
    expect(retries).toEqual([
      ['OneWord', 'scripted', 1],
      ['OneWord', 'scripted', 2],
    ])
  })

  test('may move on: what the model said stays in memory', async () => {
    class Classify extends Step<{ topic?: string }> {
      static override readonly id = 'Classify'
      override onReply(text: string) {
        this.state.topic = text
        return finish(`Topic: ${text}`)
      }
    }
    await using conversation = new Conversation(flowOf(Classify), { script: ['billing'] })
    await conversation.say('My bill is wrong')
    conversation.expectReply('Topic: billing')
    const { steps, memory } = (await conversation.document()).flow
    expect(steps.Classify?.state).toEqual({ topic: 'billing' })
    expect(lines(memory.Classify?.messages)).toContain('assistant: billing')
  })

  test('is called once for an answer, and not for one with tool calls', async () => {
    const received: string[] = []
    class Listen extends Step {
      static override readonly id = 'Listen'
      override tools() {
        return [note]
      }
      override onReply(text: string) {
        received.push(text)
        return text
      }
    }
    await using conversation = new Conversation(flowOf(Listen), {
      script: [{ text: 'One moment.', toolCalls: [{ name: 'note' }] }, 'Done.'],
    })
    await conversation.say('Hi')
    conversation.expectReply('Done.')
    expect(received).toEqual(['Done.'])
    expect(lines((await conversation.document()).flow.memory.Listen?.messages)).toEqual([
      'user: Hi',
      'assistant: One moment. + note({})',
      'tool: note = "Noted."',
      'assistant: Done.',
    ])
  })
})

describe('the limit maxModelCallsPerTurn', () => {
  class Busy extends Step {
    static override readonly id = 'Busy'
    override tools() {
      return [note]
    }
  }
  const message = "The number of model calls in step 'Busy' exceeds the limit maxModelCallsPerTurn (16)."

  test('ends an endless loop of tool calls', async () => {
    await using conversation = new Conversation(flowOf(Busy), { script: () => ({ toolCalls: [{ name: 'note' }] }) })
    await conversation.say('Hi')
    conversation.expectError('LIMIT_EXCEEDED', message)
    expect(conversation.model.requests).toHaveLength(16)
    expect(await conversation.document()).toMatchObject({
      runStatus: 'aborted',
      usage: { modelCalls: 16 },
      flow: { memory: {} },
    })
  })

  test('ends an endless loop of retries', async () => {
    class Never extends Busy {
      override onReply() {
        return retry('No.')
      }
    }
    await using conversation = new Conversation(flowOf(Never), { script: () => 'Again?' })
    await conversation.say('Hi')
    conversation.expectError('LIMIT_EXCEEDED', message)
  })

  test('counts the calls of all steps of a turn, and starts anew in the next', async () => {
    class First extends Step {
      static override readonly id = 'First'
      override onReply() {
        return go(Second)
      }
    }
    class Second extends Step {
      static override readonly id = 'Second'
    }
    const options = { script: () => 'Hello.' }
    await using conversation = new Conversation(flowOf(First, Second), {
      ...options,
      limits: { maxModelCallsPerTurn: 2 },
    })
    await conversation.say('a')
    conversation.expectReply('Hello.')
    await conversation.say('b')
    conversation.expectReply('Hello.')
    expect(conversation.model.requests.map(({ origin }) => [origin.turnNumber, origin.callNumber])).toEqual([
      [1, 1],
      [1, 2],
      [2, 1],
    ])
    await using another = new Conversation(flowOf(First, Second), {
      ...options,
      limits: { maxModelCallsPerTurn: 1 },
    })
    await another.say('a')
    another.expectError('LIMIT_EXCEEDED')
    expect(another.reply.error).toMatchObject({ limit: 'maxModelCallsPerTurn', value: 1 })
  })
})

describe('the model of a step', () => {
  class Talk extends Step {
    static override readonly id = 'Talk'
  }

  test('is called with a signal that fires when the turn is aborted', async () => {
    const controller = new AbortController()
    let given: AbortSignal | undefined
    await using conversation = new Conversation(flowOf(Talk), {
      script: ({ signal }) => {
        given = signal
        controller.abort()
        return 'Too late.'
      },
    })
    await conversation.say('Hi', { signal: controller.signal })
    conversation.expectError('TURN_ABORTED')
    expect(given?.aborted).toBe(true)
    expect(conversation.store.operations).toEqual([])
  })

  test('is not prepared any further when the turn was aborted while tools() was awaited', async () => {
    const controller = new AbortController()
    const called: string[] = []
    class Preparing extends Step {
      static override readonly id = 'Preparing'
      override async tools() {
        called.push('tools')
        controller.abort()
        return []
      }
      override prompt() {
        called.push('prompt')
        return 'Too late.'
      }
    }
    await using conversation = new Conversation(flowOf(Preparing), { script: upTo('Never.') })
    await conversation.say('Hi', { signal: controller.signal })
    conversation.expectError('TURN_ABORTED')
    expect(called).toEqual(['tools'])
  })

  test('is missing in a flow of logic steps, which needs none', async () => {
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return reply('No model here.')
      }
    }
    class Small extends Flow {
      static override readonly id = 'Small'
      override steps() {
        return [Start]
      }
    }
    await using conversation = new Conversation(Small)
    await conversation.say('Hi')
    conversation.expectReply('No model here.')
  })
})
