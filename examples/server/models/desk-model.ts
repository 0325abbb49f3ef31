/**
 * A model that runs in the process: a few rules that read the conversation and answer like a model would, with text or
 * tool calls, at once or word by word. It needs no network and no key, and always gives the same answers. A real
 * application registers a provider that calls a service instead; the flow does not change.
 */
import {
  InvalidInputError,
  type JsonObject,
  type Message,
  type MessagePart,
  type ModelProviderAdapter,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  type ToolResultPart,
} from 'turnkeeper'

const reasons: readonly (readonly [words: RegExp, reason: string])[] = [
  [/broken|damaged|crack/i, 'damaged'],
  [/wrong/i, 'wrong item'],
  [/mind|like/i, 'changed my mind'],
]

/** Knows the model `desk-1`, and refuses any other when a session starts. */
export const localProvider: ModelProviderAdapter = {
  provider: 'local',
  validate({ name }) {
    // An error of this package goes out as it is; the text of any other error would stay in its `cause`.
    if (name !== 'desk-1') throw new InvalidInputError({ message: `There is no local model '${name}', only 'desk-1'.` })
  },
  resolve: ({ provider, name }) => ({ provider, name, generate: async (request) => respond(request), stream }),
}

const millisecondsPerWord = 25

/** The same answer, at the speed of a fast speaker. */
async function* stream(request: ModelRequest): AsyncGenerator<ModelStreamPart> {
  const response = respond(request)
  for (const part of response.parts) {
    if (part.type !== 'text') continue
    for (const word of part.text.match(/\S+\s*/g) ?? []) {
      yield { type: 'text-delta', text: word }
      await new Promise((resolve) => setTimeout(resolve, millisecondsPerWord))
      request.signal.throwIfAborted()
    }
  }
  yield { type: 'finish', response }
}

function respond(request: ModelRequest): ModelResponse {
  const last = request.messages.at(-1)
  const result = last?.parts.find((part): part is ToolResultPart => part.type === 'tool-result')
  const part = result === undefined ? answer(request, last) : read(result)
  return {
    parts: [part],
    usage: { inputTokens: words(request.messages.map(textOf).join(' ')), outputTokens: words(show(part)) },
  }
}

/** The answer to a message of the customer, or of the flow. */
function answer(request: ModelRequest, message: Message | undefined): MessagePart {
  const text = textOf(message)
  if (message?.parts.some(({ type }) => type === 'image')) return say(thanksForPhoto)
  if (text.startsWith('Never promise')) return say('Refunds are decided by the accounts team within five working days.')
  if (request.tools.some(({ name }) => name === 'record_return')) return takeReturn(request, text)
  if (text.startsWith(returned)) return say('Is there anything else?')
  const orderNumber = /\b(?:fk-?)?\d+\b/i.exec(text)?.[0].toUpperCase()
  const topic = topicOf(request.messages)
  if (/thank|bye|nothing/i.test(text)) return call(request, 'end_conversation', {})
  if (/refund/i.test(text)) return say('You will have your money back soon.')
  if (orderNumber === undefined)
    return say(topic === 'none' ? greeting : 'What is the order number? It looks like FK-1042.')
  if (topic === 'return') return call(request, 'start_return', { orderNumber })
  return call(request, topic === 'parcel' ? 'track_parcel' : 'look_up_order', { orderNumber })
}

const greeting = 'I can find an order, track a parcel or take a return. What is it about?'

const thanksForPhoto = 'Thank you for the photo. Our gardener looks at it and writes to you today. Anything else?'

/** What the flow says to the model after a question in between. */
const returned = 'Returned from '

/** What the customer asked for last. */
function topicOf(messages: readonly Message[]): 'return' | 'parcel' | 'order' | 'none' {
  for (const message of messages.toReversed()) {
    const text = textOf(message)
    if (message.role !== 'user' || text.startsWith(returned)) continue
    if (/return|send .*back/i.test(text)) return 'return'
    if (/where|parcel|track/i.test(text)) return 'parcel'
    if (/order/i.test(text)) return 'order'
  }
  return 'none'
}

function takeReturn(request: ModelRequest, text: string): MessagePart {
  const items = /^Items: (.*)$/m.exec(request.system ?? '')?.[1]?.split('; ') ?? []
  const said = request.messages.filter(({ role }) => role === 'user').map((message) => textOf(message).toLowerCase())
  const itemIn = (words: string) => items.find((item) => item.split(' ').some((word) => words.includes(word)))
  const item = said.map(itemIn).findLast((found) => found !== undefined)
  const reason = reasons.find(([pattern]) => pattern.test(text))?.[1]
  if (item === undefined) return say(`Which item goes back: ${items.join(' or ')}?`)
  return call(request, 'record_return', reason === undefined ? { item } : { item, reason })
}

/** The answer to the result of a tool. */
function read({ toolName, output, isError }: ToolResultPart): MessagePart {
  if (isError === true) return say(`That did not work. ${String(output)}`)
  if (toolName === 'start_return') return say('Gladly. Which item goes back, and why?')
  const { orderNumber, items, state, place } = output as JsonObject
  if (toolName === 'track_parcel') return say(`The parcel of ${orderNumber} is ${place}.`)
  return say(`Order ${orderNumber} is ${state}: ${(items as readonly string[]).join(' and ')}.`)
}

function say(text: string): MessagePart {
  return { type: 'text', text }
}

function call({ origin }: ModelRequest, toolName: string, input: JsonObject): MessagePart {
  return { type: 'tool-call', toolCallId: `call-${origin.turnNumber}-${origin.callNumber}`, toolName, input }
}

function textOf(message: Message | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function show(part: MessagePart): string {
  return part.type === 'text' ? part.text : JSON.stringify(part)
}

/** A rough count of tokens. */
function words(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length
}
