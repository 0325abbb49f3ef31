/**
 * The flows of the examples for serverless platforms and other runtimes: the same file in all of them. `Notes` needs no
 * model. `Guide` has one, streams its answers, and keeps its memory short with a summary that is
 * written after the reply.
 */

import type { Message, ModelProviderAdapter, ModelResponse, ModelStreamPart } from 'turnkeeper'
import { Flow, LogicStep, type ModelRequest, reply, Step, type Turn } from 'turnkeeper'
import { rollingSummary } from 'turnkeeper/compaction'

class Write extends LogicStep<{ notes?: string[] }> {
  static override readonly id = 'Write'
  override run(turn: Turn) {
    const notes = [...(this.state.notes ?? []), turn.message.trim()].filter((note) => note !== '')
    this.state.notes = notes
    return reply(notes.join(', '))
  }
}

/** Keeps what the user says. */
export class Notes extends Flow {
  static override readonly id = 'Notes'
  override steps() {
    return [Write]
  }
}

class Talk extends Step {
  static override readonly id = 'Talk'
}

/** Talks about a small museum. */
export class Guide extends Flow {
  static override readonly id = 'Guide'
  static override readonly compaction = {
    Talk: rollingSummary({ above: 4, keep: 2, model: { provider: 'local', name: 'summary' } }),
  }
  override model() {
    return { provider: 'local', name: 'guide' }
  }
  override steps() {
    return [Talk]
  }
}

/** A model in the process, without network and key, in the place of a real one. */
export const localModels: ModelProviderAdapter = {
  provider: 'local',
  resolve: ({ provider, name }) => ({
    provider,
    name,
    generate: async (request) => responseOf(name === 'summary' ? 'We talked about the museum.' : answer(request)),
    stream: speak,
  }),
}

const millisecondsPerWord = 20

/**
 * Streams word by word. Asked for everything, it never stops by itself; asked for silence, it falls silent after one
 * word.
 */
async function* speak(request: ModelRequest): AsyncGenerator<ModelStreamPart> {
  const words = answer(request).split(/(?<= )/)
  const isEndless = lastMessage(request).includes('everything')
  for (let index = 0; isEndless || index < words.length; index += 1) {
    yield { type: 'text-delta', text: words[index % words.length] ?? '' }
    await new Promise((resolve) => setTimeout(resolve, millisecondsPerWord))
    while (lastMessage(request) === 'silence' && !request.signal.aborted) {
      await new Promise((resolve) => setTimeout(resolve, millisecondsPerWord))
    }
    request.signal.throwIfAborted()
  }
  yield { type: 'finish', response: responseOf(words.join('')) }
}

function answer(request: ModelRequest): string {
  const topic = lastMessage(request)
  const remembers = request.messages.some(({ summary }) => summary === true) ? 'and I remember what we said ' : ''
  return `You ask about ${topic}: it is on the first floor, ${remembers}and it is open until six. `
}

function lastMessage({ messages }: ModelRequest): string {
  return textOf(messages.at(-1)).trim()
}

function textOf(message: Message | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function responseOf(text: string): ModelResponse {
  return { parts: [{ type: 'text', text }], finishReason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }
}
