// A content type that belongs to one reply: what follows it is text again, wherever the reply came from.
import { describe, expect, test } from 'vitest'
import { flowOf, place } from '../../../../testing/contract/test-flows.js'
import { Conversation, type ScriptedReply } from '../../../../testing/index.js'
import {
  EndStep,
  finish,
  go,
  HttpContentType,
  LogicStep,
  reply,
  Step,
  type StepConstructor,
  stay,
  type Transition,
  type Turn,
  tool,
} from '../../../index.js'

const base64 = { encoding: 'base64' } as const
/** Bytes in base64. */
const pdf = 'JVBERi0='
const asPdf = (transition: Transition): Transition => transition.withContentType(HttpContentType.Pdf, base64)
const asCsv = (transition: Transition): Transition => transition.withContentType(HttpContentType.Csv)

/** How a flow sends something once: in the turn whose message is `send`. */
interface Way {
  /** The steps; the first one sends. */
  readonly steps: (send: () => Transition) => readonly StepConstructor[]
  /** What the model says in the turn that sends. */
  readonly script: readonly ScriptedReply[]
}

const call: ScriptedReply = { toolCalls: [{ name: 'send' }] }

/** A model step that sends from a tool. */
function toolStep(send: () => Transition) {
  return class Desk extends Step {
    static override readonly id: string = 'Desk'
    override tools() {
      return [tool({ name: 'send', description: 'Sends it.', execute: send })]
    }
  }
}

/** A model step that sends in place of the answer `SEND`. */
function replyStep(send: () => Transition) {
  return class Desk extends Step {
    static override readonly id: string = 'Desk'
    override onReply(text: string): Transition | string {
      return text === 'SEND' ? send() : text
    }
  }
}

/** A logic step that sends, and repeats any other message. */
function logicStep(send: () => Transition) {
  return class Desk extends LogicStep {
    static override readonly id: string = 'Desk'
    override run({ message }: Turn): Transition {
      return message === 'send' ? send() : reply(message)
    }
  }
}

/** A step that a transition may lead to, and that repeats the message. */
class Next extends LogicStep {
  static override readonly id = 'Next'
  override run({ message }: Turn): Transition {
    return reply(message)
  }
}

const modelWays: readonly (readonly [string, Way])[] = [
  ['a tool', { steps: (send) => [toolStep(send), Next], script: [call] }],
  ['onReply', { steps: (send) => [replyStep(send), Next], script: ['SEND'] }],
]
const ways: readonly (readonly [string, Way])[] = [
  ...modelWays,
  ['a logic step', { steps: (send) => [logicStep(send), Next], script: [] }],
]

/** What is sent, how, and the type that it has. */
const files: readonly (readonly [string, () => Transition, string])[] = [
  ['a PDF by reply', () => asPdf(reply(pdf)), HttpContentType.Pdf],
  ['a PDF by go with a reply', () => asPdf(go('Next').withReply(pdf)), HttpContentType.Pdf],
  ['a CSV by reply', () => asCsv(reply('a,b')), HttpContentType.Csv],
]

const cases = ways.flatMap(([from, way]) => files.map(([file, send, type]) => [file, from, send, type, way] as const))

/** The next thing that is said. `Done` and `welcome=` are valid base64. */
const texts = ["You're welcome!", 'Done', 'welcome=', 'Here is what it means, in short.']

describe.each(cases)('%s, from %s', (_file, _from, send, type, { steps, script }) => {
  test.each(texts)('is followed by %s as plain text, and the session goes on', async (text) => {
    await using conversation = new Conversation(flowOf(...steps(send)), {
      script: ({ origin }) => (origin.turnNumber === 1 ? (script[origin.callNumber - 1] ?? '') : text),
    })
    const sent = await conversation.say('send')
    expect(sent).toMatchObject({ success: true, contentType: type })
    expect(sent.encoding).toBe(type === HttpContentType.Pdf ? 'base64' : undefined)
    for (let turn = 2; turn <= 3; turn++) {
      const next = await conversation.say(text)
      expect(next).toMatchObject({ success: true, message: text, contentType: 'text/plain' })
      expect(next).not.toHaveProperty('encoding')
    }
    const { runStatus, history, flow } = await conversation.document()
    expect([runStatus, flow.contentType]).toEqual(['running', undefined])
    expect(history.map(({ contentType, encoding }) => [contentType, encoding])).toEqual([
      [type, sent.encoding],
      ['text/plain', undefined],
      ['text/plain', undefined],
    ])
  })
})

describe('one reply', () => {
  test('of stay in a logic step has its type alone', async () => {
    class Ask extends LogicStep {
      static override readonly id = 'Ask'
      override run({ number }: Turn) {
        return number === 1 ? asCsv(stay('a,b')) : stay('Again, please.')
      }
    }
    await using conversation = new Conversation(flowOf(Ask))
    expect((await conversation.say('Hi')).contentType).toBe('text/csv')
    expect(await conversation.say('Hi')).toMatchObject({ message: 'Again, please.', contentType: 'text/plain' })
  })

  test.each([
    ['of finish', finish(pdf)],
    ['of reply in onEnter of the end step', reply(pdf)],
    ['of finish in onEnter of the end step', finish(pdf)],
  ])('%s ends a session with bytes', async (from, transition) => {
    class Bye extends EndStep {
      static override readonly id = 'Bye'
      override onEnter() {
        return from === 'of finish' ? undefined : asPdf(transition)
      }
    }
    class Start extends LogicStep {
      static override readonly id = 'Start'
      override run() {
        return from === 'of finish' ? asPdf(transition) : finish()
      }
    }
    await using conversation = new Conversation(flowOf(Start, Bye))
    expect(await conversation.say('Hi')).toMatchObject({
      completed: true,
      message: pdf,
      contentType: HttpContentType.Pdf,
      encoding: 'base64',
    })
    expect((await conversation.document()).flow).not.toHaveProperty('contentType')
  })

  test.each([
    ['go', () => asPdf(go('Next').withReply(pdf))],
    ['finish', () => asPdf(finish(pdf))],
  ])('that %s sends and onEnter of its step replaces is the text of onEnter', async (kind, send) => {
    const onEnter = () => reply('Here it is not.')
    class Door extends LogicStep {
      static override readonly id = 'Next'
      override onEnter = onEnter
      override run() {
        return reply('never')
      }
    }
    class Bye extends EndStep {
      static override readonly id = 'Bye'
      override onEnter = onEnter
    }
    await using conversation = new Conversation(flowOf(logicStep(send), kind === 'go' ? Door : Bye))
    const { message, contentType, encoding } = await conversation.say('send')
    expect([message, contentType, encoding]).toEqual(['Here it is not.', 'text/plain', undefined])
  })

  test('of the closing message has the type that finish sets', async () => {
    class Bye extends EndStep {
      static override readonly id = 'Bye'
      override message() {
        return '<b>Bye.</b>'
      }
    }
    await using conversation = new Conversation(
      flowOf(
        logicStep(() => finish().withContentType(HttpContentType.Html)),
        Bye,
      ),
    )
    expect(await conversation.say('send')).toMatchObject({ message: '<b>Bye.</b>', contentType: 'text/html' })
  })
})

describe('the type that go sets', () => {
  test('is that of a chat in the step, and of a reply without one; a reply with one is of its own type', async () => {
    class Page extends LogicStep {
      static override readonly id = 'Page'
      override run({ number }: Turn) {
        return number === 2 ? asPdf(reply(pdf)) : reply(`<p>${number}</p>`)
      }
    }
    const start = logicStep(() => go(Page).withContentType(HttpContentType.Html))
    await using conversation = new Conversation(flowOf(start, Page, place('Next')))
    const types: string[] = []
    for (const text of ['send', 'send', 'send']) types.push((await conversation.say(text)).contentType)
    expect(types).toEqual(['text/html', 'application/pdf', 'text/html'])
    expect((await conversation.document()).flow.contentType).toBe('text/html')
  })

  test('is stored with the session, and holds after a restart until a move', async () => {
    class Page extends LogicStep {
      static override readonly id = 'Page'
      override run({ message }: Turn) {
        return message === 'leave' ? go(Next) : reply('<p>')
      }
    }
    const start = logicStep(() => go(Page).withContentType(HttpContentType.Html))
    await using conversation = new Conversation(flowOf(start, Page, Next))
    await conversation.say('send')
    await conversation.restart()
    expect((await conversation.say('Hi')).contentType).toBe('text/html')
    expect((await conversation.say('leave')).contentType).toBe('text/plain')
    expect((await conversation.document()).flow).not.toHaveProperty('contentType')
  })
})
