/** Cases of requests with more than text: the schema of the answer, images and files. */
import type { Message, ModelRequest } from '../../../src/index.js'
import { ensure } from '../cases/failure.js'
import { requestOf } from './bench.js'
import { readStream } from './read-stream.js'
import type { ModelSuiteCase } from './suite-case.js'
import type { ModelSuiteSubject } from './suite-options.js'

const output: NonNullable<ModelRequest['output']> = {
  name: 'parcel_report',
  schema: {
    type: 'object',
    properties: { parcel_is_at: { type: 'string' } },
    required: ['parcel_is_at'],
    additionalProperties: false,
  },
}
const answer = '{"parcel_is_at":"Oldenburg"}'

const base64 = { png: 'iVBORw0KGgoAAAANSUhEUg==', pdf: 'JVBERi0xLjcKJeLjz9M=' }

const withMedia: readonly Message[] = [
  {
    role: 'user',
    parts: [
      { type: 'text', text: 'The parcel looked like this:' },
      { type: 'image', mediaType: 'image/png', data: base64.png },
      { type: 'text', text: 'and this is the bill.' },
    ],
    turn: 1,
  },
]

function withFile(): Partial<ModelRequest> {
  const file = { type: 'file', mediaType: 'application/pdf', data: base64.pdf, name: 'bill.pdf' } as const
  return { messages: [{ role: 'user', parts: [{ type: 'text', text: 'My bill:' }, file], turn: 1 }] }
}

/** The request that was sent, as a text: its `words` must be in it, in this order. */
function expectInOrder(subject: ModelSuiteSubject, words: readonly string[]): void {
  const body = JSON.stringify(subject.asked().at(-1))
  let from = 0
  for (const word of words) {
    const at = body.indexOf(word, from)
    ensure(at >= 0, `the request to hold '${word}'${from === 0 ? '' : ' after what comes before it'}`, body)
    from = at + word.length
  }
}

const forms = 'The schema of the answer reaches the model, and the answer comes back as its text.'
const media = 'Images and files of a message reach the model, at their places among its texts.'

/** The cases, in the order in which they are registered. */
export const contentCases: readonly ModelSuiteCase[] = [
  {
    name: 'output: the schema leaves with the request, and the text comes back',
    rule: forms,
    async run(bench) {
      const subject = await bench.open([{ text: answer }])
      const { parts } = await bench.modelOf(subject).generate({ ...requestOf({ tools: [] }), output })
      expectInOrder(subject, ['parcel_is_at'])
      const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
      ensure(text === answer, `the text ${answer}`, text)
    },
  },
  {
    name: 'output: tools may be called before',
    rule: forms,
    async run(bench) {
      const toolCalls = [{ id: 'call-1', name: 'look_up', input: { order: 'A-1' } }]
      const subject = await bench.open([{ toolCalls }])
      const { parts } = await bench.modelOf(subject).generate({ ...requestOf(), output })
      expectInOrder(subject, ['parcel_is_at'])
      expectInOrder(subject, ['look_up'])
      ensure(
        parts.some(({ type }) => type === 'tool-call'),
        'the tool call',
        parts,
      )
    },
  },
  {
    name: 'output: in a stream',
    rule: forms,
    async run(bench) {
      const subject = await bench.open([{ text: answer }])
      const { texts } = await readStream(bench.stream(subject, { output, tools: [] }))
      expectInOrder(subject, ['parcel_is_at'])
      ensure(texts.join('') === answer, `the text ${answer}`, texts)
    },
  },
  {
    name: 'media: an image leaves with the request, among the words',
    rule: media,
    async run(bench) {
      const subject = await bench.open([{ text: 'Thank you.' }])
      await bench.modelOf(subject).generate(requestOf({ messages: withMedia }))
      expectInOrder(subject, ['The parcel looked like this:', base64.png, 'and this is the bill.'])
    },
  },
  {
    name: 'media: an image at an address',
    rule: media,
    async run(bench) {
      const url = 'https://pictures.example/parcel.png'
      const parts = [{ type: 'image', mediaType: 'image/png', url }] as const
      const subject = await bench.open([{ text: 'Thank you.' }])
      await bench.modelOf(subject).generate(requestOf({ messages: [{ role: 'user', parts, turn: 1 }] }))
      expectInOrder(subject, [url])
    },
  },
  {
    name: 'media: a file leaves with the request',
    rule: media,
    async run(bench) {
      const subject = await bench.open([{ text: 'Thank you.' }])
      await bench.modelOf(subject).generate(requestOf(withFile()))
      expectInOrder(subject, ['My bill:', base64.pdf])
    },
  },
  {
    name: 'media: in a stream',
    rule: media,
    async run(bench) {
      const subject = await bench.open([{ text: 'Thank you.' }])
      await readStream(bench.stream(subject, { messages: withMedia }))
      expectInOrder(subject, ['The parcel looked like this:', base64.png, 'and this is the bill.'])
    },
  },
]
