import { describe, expect, test } from 'vitest'
import { flowOf, lines } from '../../../testing/contract/test-flows.js'
import { Conversation } from '../../../testing/index.js'
import {
  type FilePart,
  type FlowConstructor,
  go,
  type ImagePart,
  LogicStep,
  reply,
  type SessionDocument,
  Step,
  type StoredMessage,
  type Turn,
  tool,
} from '../../index.js'
import { bytesOfLists } from '../../session/document-bytes.js'

const photo: ImagePart = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' }
const manual: FilePart = {
  type: 'file',
  mediaType: 'application/pdf',
  url: 'https://files.example/a.pdf',
  name: 'a.pdf',
}
const attachments = [photo, manual]

class Look extends Step {
  static override readonly id: string = 'Look'
}

describe('attachments', () => {
  test('reach the model behind the text, and stay in memory for later turns', async () => {
    await using conversation = new Conversation(flowOf(Look), { script: ['A kettle.', 'Yes, blue.'] })
    await conversation.say('What is this?', { attachments })
    await conversation.say('Is it blue?')
    const received = { role: 'user', parts: [{ type: 'text', text: 'What is this?' }, photo, manual], turn: 1 }
    expect(conversation.model.requests.map(({ messages }) => messages[0])).toEqual([received, received])
    const { flow, history, attachments: kept } = await conversation.document()
    expect(kept).toEqual([{ id: '1-0', turn: 1, data: photo.data }])
    const reference = { type: 'image', mediaType: 'image/png', attachment: '1-0' }
    expect(flow.memory.Look?.messages).toEqual([
      { ...received, parts: [received.parts[0], reference, manual] },
      { role: 'assistant', parts: [{ type: 'text', text: 'A kettle.' }], turn: 1 },
      { role: 'user', parts: [{ type: 'text', text: 'Is it blue?' }], turn: 2 },
      { role: 'assistant', parts: [{ type: 'text', text: 'Yes, blue.' }], turn: 2 },
    ])
    // The history has no bytes.
    expect(history.map(({ message }) => message)).toEqual(['What is this?', 'Is it blue?'])
    const fields = ['turn', 'id', 'at', 'message', 'reply', 'contentType', 'step']
    expect(history.map((entry) => Object.keys(entry))).toEqual([[...fields, 'attachments'], fields])
    expect(history[0]?.attachments).toEqual([{ ...reference, size: 8 }, manual])
  })

  test('survive a restart, and the session goes on', async () => {
    await using conversation = new Conversation(flowOf(Look), { script: ['A kettle.', 'Yes, blue.'] })
    await conversation.say('What is this?', { attachments })
    await conversation.restart()
    await conversation.say('Is it blue?')
    expect(conversation.model.requests.at(-1)?.messages[0]?.parts.slice(1)).toEqual(attachments)
  })

  test('may come without a text', async () => {
    await using conversation = new Conversation(flowOf(Look), { script: ['A kettle.'] })
    await conversation.say('', { attachments: [photo] })
    expect(conversation.model.requests[0]?.messages).toEqual([{ role: 'user', parts: [photo], turn: 1 }])
  })

  test('without them an empty text is a text, as before', async () => {
    await using conversation = new Conversation(flowOf(Look), { script: ['Hello.'] })
    await conversation.say('', { attachments: [] })
    expect(conversation.model.requests[0]?.messages[0]?.parts).toEqual([{ type: 'text', text: '' }])
  })

  test('are stored once in each namespace, with the first text that it receives', async () => {
    class First extends Step {
      static override readonly id: string = 'First'
      override readonly memory = 'desk'
      override onReply() {
        return go(Second).withMessage('Read the number on it.')
      }
    }
    class Second extends Step {
      static override readonly id: string = 'Second'
      override readonly memory = 'desk'
      override onReply() {
        return go(Other).withMessage('Is it ours?')
      }
    }
    class Other extends Step {
      static override readonly id: string = 'Other'
    }
    await using conversation = new Conversation(flowOf(First, Second, Other), { script: ['A.', 'B.', 'C.'] })
    await conversation.say('What is this?', { attachments: [photo] })
    const { memory } = (await conversation.document()).flow
    expect([lines(memory.desk?.messages), lines(memory.Other?.messages)]).toEqual([
      ['user: What is this? + image/png', 'assistant: A.', 'user: Read the number on it.', 'assistant: B.'],
      ['user: Is it ours? + image/png', 'assistant: C.'],
    ])
  })

  test('are stored with a reply that no model made', async () => {
    class Desk extends Step {
      static override readonly id: string = 'Desk'
      override onEnter() {
        return reply('One moment.')
      }
    }
    await using conversation = new Conversation(flowOf(Desk))
    await conversation.say('What is this?', { attachments: [photo] })
    const { memory } = (await conversation.document()).flow
    expect(lines(memory.Desk?.messages)).toEqual(['user: What is this? + image/png', 'assistant: One moment.'])
  })

  test('count to maxSessionBytes', async () => {
    await using conversation = new Conversation(flowOf(Look), {
      script: ['A.', 'B.'],
      limits: { maxSessionBytes: 4000 },
    })
    await conversation.say('Small', { attachments: [photo] })
    await conversation.say('Large', { attachments: [{ ...photo, data: 'A'.repeat(4000) }] })
    conversation.expectError('LIMIT_EXCEEDED')
    expect(conversation.reply.message).toContain('maxSessionBytes')
  })

  test('that are refused leave the session as it is', async () => {
    await using conversation = new Conversation(flowOf(Look), { script: ['A.'] })
    await conversation.say('Hello')
    const before = await conversation.document()
    await conversation.say('Look', { attachments: [{ ...photo, mediaType: 'png' }] })
    conversation.expectError('INVALID_INPUT')
    expect(conversation.reply.message).toBe(
      "attachments[0].mediaType must be a media type like 'image/png', without parameters.",
    )
    expect(await conversation.document()).toEqual(before)
  })
})

describe('bytes that onRestore puts into a message', () => {
  /** A flow that changes the messages of a session when it goes on. */
  function restoring(change: (messages: readonly StoredMessage[]) => readonly object[]): FlowConstructor {
    const Restoring = flowOf(Look)
    Restoring.prototype.onRestore = (document: SessionDocument) => {
      const messages = change(document.flow.memory.Look?.messages ?? []) as readonly StoredMessage[]
      return { ...document, flow: { ...document.flow, memory: { Look: { messages } } } }
    }
    return Restoring
  }
  const message = (turn: number, ...data: readonly string[]) => ({
    role: 'user',
    parts: data.map((bytes) => ({ ...photo, data: bytes })),
    turn,
  })

  test('become attachments, and are counted', async () => {
    const flow = restoring((messages) => [...messages, message(1, 'EEEE', 'FFFF')])
    await using conversation = new Conversation(flow, { script: ['A kettle.', 'Two.'] })
    await conversation.say('What is this?', { attachments: [photo] })
    await conversation.say('And these?')
    const document = await conversation.document()
    expect(document.attachments).toEqual([
      { id: '1-0', turn: 1, data: photo.data },
      { id: '1-1', turn: 1, data: 'EEEE' },
      { id: '1-2', turn: 1, data: 'FFFF' },
    ])
    expect(document.bytes).toBe(bytesOfLists(JSON.parse(JSON.stringify(document))))
    expect(JSON.stringify(document.flow.memory)).not.toContain('EEEE')
  })

  test('are not those that the user sends, even if they are of the turn that begins', async () => {
    const flow = restoring(() => [message(2, 'MENU')])
    await using conversation = new Conversation(flow, { script: ['Hello.', 'Two.'] })
    await conversation.say('Hi')
    await conversation.say('Look', { attachments: [{ ...photo, data: 'MINE' }] })
    const received = conversation.model.requests.at(-1)?.messages.flatMap(({ parts }) => parts)
    expect(received?.flatMap((part) => (part.type === 'image' ? [part.data] : []))).toEqual(['MENU', 'MINE'])
  })
})

describe('attachments of a turn without a model', () => {
  class Answer extends LogicStep {
    override run() {
      return reply('Thank you.')
    }
  }

  test('stand in the history, and their bytes are kept for attachmentTurns', async () => {
    await using conversation = new Conversation(flowOf(Answer), { limits: { attachmentTurns: 1 } })
    await conversation.say('Here', { attachments })
    await conversation.restart()
    const first = await conversation.document()
    expect(first.attachments).toEqual([{ id: '1-0', turn: 1, data: photo.data }])
    const placeholders = [{ type: 'image', mediaType: 'image/png', attachment: '1-0', size: 8 }, manual]
    expect(first.history[0]?.attachments).toEqual(placeholders)
    expect(bytesOfLists(JSON.parse(JSON.stringify(first)))).toBe(first.bytes)
    await conversation.say('And', { attachments: [{ type: 'file', mediaType: 'text/plain', data: 'QQ==', name: 'a' }] })
    const second = await conversation.document()
    expect(second.attachments).toEqual([{ id: '2-0', turn: 2, data: 'QQ==' }])
    expect(second.history.map((entry) => entry.attachments)).toEqual([
      placeholders,
      [{ type: 'file', mediaType: 'text/plain', name: 'a', attachment: '2-0', size: 1 }],
    ])
  })

  test('have their names masked', async () => {
    const mask = (text: string): string => text.replace('Ada', '***')
    await using conversation = new Conversation(flowOf(Answer), { mask })
    await conversation.say('', { attachments: [{ ...manual, name: 'Ada.pdf' }] })
    expect((await conversation.document()).history[0]?.attachments).toEqual([{ ...manual, name: '***.pdf' }])
  })
})

describe('turn.attachments', () => {
  test('are there for logic steps and tools, in every step of their turn, and frozen', async () => {
    const seen: Turn['attachments'][] = []
    class Sort extends LogicStep {
      static override readonly id = 'Sort'
      override run(turn: Turn) {
        seen.push(turn.attachments)
        return turn.attachments.length === 0 ? reply('A photo, please.') : go(Check).withMessage('Check it.')
      }
    }
    class Check extends Step {
      static override readonly id = 'Check'
      override tools() {
        const execute = (_input: unknown, turn: Turn) => {
          seen.push(turn.attachments)
          return go(Sort).withReply('Checked.')
        }
        return [tool({ name: 'check', description: 'Checks it.', execute })]
      }
    }
    await using conversation = new Conversation(flowOf(Sort, Check), { script: [{ toolCalls: [{ name: 'check' }] }] })
    await conversation.say('Hello')
    await conversation.say('Here', { attachments })
    expect(seen).toEqual([[], attachments, attachments])
    expect(seen.map(Object.isFrozen)).toEqual([true, true, true])
  })
})
