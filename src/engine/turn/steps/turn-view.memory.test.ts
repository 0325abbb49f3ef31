import fc from 'fast-check'
import { Keyv } from 'keyv'
import { describe, expect, test } from 'vitest'
import { flowOf, lines } from '../../../../testing/contract/test-flows.js'
import { Conversation, type ConversationOptions } from '../../../../testing/index.js'
import { go, LogicStep, type Message, reply, Step, type Turn, tool } from '../../../index.js'
import { bytesOfLists } from '../../../session/document-bytes.js'
import { KeyvSessionStore } from '../../../stores/keyv/index.js'

const photo = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const

/** Stores to try: options of a conversation over each, with data of its own. */
const stores: readonly [string, () => ConversationOptions][] = [
  ['the memory store', () => ({})],
  [
    'the Keyv store',
    () => {
      const data = new Map()
      return { createStore: () => new KeyvSessionStore({ keyv: new Keyv({ store: data }) }) }
    },
  ],
]

/** A model step whose model can clear its memory. */
class Ask extends Step {
  static override readonly id: string = 'Ask'
  override tools(turn: Turn) {
    const forget = (): string => {
      turn.memory().clear()
      return 'Forgotten.'
    }
    return [
      tool({ name: 'forget', description: 'Forgets.', execute: forget }),
      tool({ name: 'leave', description: 'Leaves.', execute: () => go(Route) }),
    ]
  }
}

/** A logic step that does as the user says. */
class Route extends LogicStep {
  static override readonly id: string = 'Route'
  override run(turn: Turn) {
    const memory = turn.memory('Ask')
    if (turn.message.includes('clear')) memory.clear()
    if (turn.message.includes('break')) throw new Error('Broken.')
    if (turn.message.includes('ask') || !turn.entered) return go(Ask)
    return reply(`${memory.messages.length} messages`)
  }
}

const callsForget = { toolCalls: [{ name: 'forget' }] }
const callsLeave = { toolCalls: [{ name: 'leave' }] }

describe.each(stores)('turn.memory().clear over %s', (_name, options) => {
  test('in a tool removes the messages of earlier turns, and no call without its result', async () => {
    await using conversation = new Conversation(flowOf(Ask), {
      ...options(),
      script: ['Hello.', callsForget, 'Gone.', 'Who are you?'],
    })
    for (const text of ['I am Ada.', 'Forget me.', 'Who am I?']) await conversation.say(text)
    const ofSecond = ['user: Forget me.', 'assistant: forget({})', 'tool: forget = "Forgotten."']
    expect(lines(conversation.model.requests[2]?.messages)).toEqual(ofSecond)
    const rest = [...ofSecond, 'assistant: Gone.', 'user: Who am I?', 'assistant: Who are you?']
    await conversation.restart()
    expect(lines((await conversation.document()).flow.memory.Ask?.messages)).toEqual(rest)
  })

  test('in another step removes those of this turn as well', async () => {
    await using conversation = new Conversation(flowOf(Ask, Route), {
      ...options(),
      script: ['Hello.', callsLeave],
    })
    await conversation.say('Hi.')
    await conversation.say('clear, please')
    conversation.expectReply('0 messages')
    await conversation.restart()
    expect((await conversation.document()).flow.memory.Ask?.messages).toEqual([])
  })

  test("gives a model step that is entered later the user's message again, with its attachments", async () => {
    await using conversation = new Conversation(flowOf(Ask, Route), {
      ...options(),
      script: ['Hello.', callsLeave, 'Welcome.'],
    })
    await conversation.say('Hi.')
    await conversation.say('clear and ask', { attachments: [photo] })
    const last = conversation.model.requests.at(-1)?.messages
    expect(last).toEqual([{ role: 'user', parts: [{ type: 'text', text: 'clear and ask' }, photo], turn: 2 }])
    await conversation.restart()
    const { flow, attachments } = await conversation.document()
    expect(lines(flow.memory.Ask?.messages)).toEqual(['user: clear and ask + image/png', 'assistant: Welcome.'])
    expect(attachments).toHaveLength(1)
  })

  test('is discarded with a turn that fails', async () => {
    await using conversation = new Conversation(flowOf(Ask, Route), { ...options(), script: ['Hello.', callsLeave] })
    await conversation.say('Hi.')
    await conversation.say('clear and break')
    conversation.expectError('FLOW_ERROR', 'Broken.')
    expect(lines((await conversation.document()).flow.memory.Ask?.messages)).toEqual(['user: Hi.', 'assistant: Hello.'])
  })
})

describe('turn.memory', () => {
  /** A flow of a model step and a logic step, which does `look` in each turn. */
  function looking(look: (turn: Turn) => unknown): Conversation {
    class Look extends LogicStep {
      static override readonly id = 'Look'
      override run(turn: Turn) {
        return reply(String(look(turn)))
      }
    }
    return new Conversation(flowOf(Look, Ask))
  }

  test('reads messages as a model gets them, also those of this turn', async () => {
    const seen: (readonly Message[])[] = []
    class Reads extends Step {
      override readonly memory = 'shared'
      override prompt(turn: Turn) {
        const memory = turn.memory()
        seen.push(memory.messages, turn.memory('shared').messages)
        return ''
      }
    }
    await using conversation = new Conversation(flowOf(Reads), { script: ['Hello.'] })
    await conversation.say('Hi.', { attachments: [photo] })
    const message = { role: 'user', parts: [{ type: 'text', text: 'Hi.' }, photo], turn: 1 }
    expect(seen).toEqual([[message], [message]])
  })

  test('that is only read is stored as it was', async () => {
    await using conversation = looking((turn) => turn.memory('Ask').messages.length)
    await conversation.say('a')
    conversation.expectReply('0')
    expect((await conversation.document()).flow.memory).toEqual({})
  })

  test('needs a name where the current step is not a model step', async () => {
    await using conversation = looking((turn) => turn.memory().messages)
    await conversation.say('a')
    conversation.expectError(
      'FLOW_ERROR',
      "turn.memory needs the name of a memory if the current step is not a model step. Memories of flow 'Test': Ask.",
    )
  })

  test.each(['Askk', '', 'constructor', '__proto__', 7])(
    '%j: the error lists the memories that there are',
    async (name) => {
      await using conversation = looking((turn) => turn.memory(name as string).messages)
      await conversation.say('a')
      conversation.expectError('FLOW_ERROR', `turn.memory: flow 'Test' has no memory '${name}'. Its memories: Ask.`)
    },
  )
})

describe('the attachments of a memory that is cleared', () => {
  /** A model step that goes back to {@link Both} with its answer. */
  class Look extends Step {
    static override readonly id: string = 'Ask'
    override onReply() {
      return go(Both).withReply('Seen.')
    }
  }
  class Other extends Look {
    static override readonly id: string = 'Other'
  }
  /** Clears the memories that the user names, or asks in one of them. */
  class Both extends LogicStep {
    static override readonly id: string = 'Both'
    override run(turn: Turn) {
      const [command, ...names] = turn.message.split(' ')
      if (command !== 'clear') return go(turn.message)
      for (const name of names) turn.memory(name).clear()
      return reply('Cleared.')
    }
  }

  /** What is left of three photos in two memories, after these memories were cleared. */
  async function left(...cleared: string[]): Promise<string[] | undefined> {
    await using conversation = new Conversation(flowOf(Both, Look, Other), {
      script: ['A.', 'B.', 'C.'],
      limits: { attachmentTurns: Number.POSITIVE_INFINITY },
    })
    for (const step of ['Ask', 'Other', 'Ask']) await conversation.say(step, { attachments: [photo] })
    await conversation.say(`clear ${cleared.join(' ')}`)
    const document = await conversation.document()
    expect(document.bytes).toBe(bytesOfLists(document))
    return document.attachments?.map(({ id }) => id)
  }

  test('go from the oldest on, up to the first that a message refers to', async () => {
    expect(await left('Ask')).toEqual(['2-0', '3-0'])
    expect(await left('Other')).toEqual(['1-0', '2-0', '3-0'])
    expect(await left('Ask', 'Other')).toEqual([])
  })
})

/** What the user does in a turn: each is the text, too. */
const said = ['talk', 'forget', 'leave', 'leave and clear', 'leave and ask', 'leave, clear and ask'] as const

/** Plays turns in a session with small limits, and returns the lists as they were stored after each. */
async function play(texts: readonly (typeof said)[number][], options: ConversationOptions): Promise<unknown[]> {
  await using conversation = new Conversation(flowOf(Ask, Route), {
    ...options,
    limits: { maxMemoryBytes: 1_200, attachmentTurns: 3 },
    script: ({ origin, messages }) => {
      const text = messages.findLast(({ role }) => role === 'user')?.parts[0]
      if (origin.callNumber > 1 || text?.type !== 'text') return 'Here again.'
      if (text.text === 'forget') return callsForget
      return text.text.startsWith('leave') ? callsLeave : 'Hello.'
    },
  })
  const seen: unknown[] = []
  for (const text of texts) {
    await conversation.say(text, { attachments: [photo] })
    await conversation.restart()
    const document = await conversation.document()
    expect(document.bytes).toBe(bytesOfLists(document))
    seen.push(document.flow.memory, document.attachments)
  }
  return seen
}

test('a memory that is cleared and cut again and again is the same in every store', async () => {
  const [[, inMemory], [, inKeyv]] = stores as [(typeof stores)[number], (typeof stores)[number]]
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...said), { minLength: 1, maxLength: 12 }), async (texts) => {
      expect(await play(texts, inKeyv())).toEqual(await play(texts, inMemory()))
    }),
    { numRuns: 40 },
  )
})
