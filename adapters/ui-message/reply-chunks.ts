/** Converts the events of a turn to the chunks of one assistant message. */

import type { FlowStreamEvent } from '../../src/index.js'
import { replyIdOf } from '../chat/client-id.js'
import { failureText } from '../chat/failure-text.js'
import type { TurnOutcome } from '../chat/turn-broadcast.js'
import { type FlowMessageChunk, type FlowMessageMetadata, partsBeside, replyPart } from './ui-message.js'

/** The facts about one stream of chunks. */
export interface ReplyForm {
  /** The ID of the answered message. */
  readonly messageId: string
  /** Whether the page may already have a beginning of the reply, which must be discarded. */
  readonly resumes: boolean
  /** Whether tools are named. */
  readonly details: boolean
}

/** The chunks of a turn, from its beginning. The last one is `finish`, `abort` or `error`. */
export async function* chunksOf(
  events: AsyncIterable<FlowStreamEvent>,
  form: ReplyForm,
): AsyncGenerator<FlowMessageChunk, void> {
  yield { type: 'start', messageId: replyIdOf(form.messageId) }
  if (form.resumes) yield { type: 'data-reset', data: { reason: 'resume' } }
  const writer = new ReplyWriter(form.details)
  for await (const event of events) {
    yield* writer.write(event)
    if (event.type === 'result' || event.type === 'error') return
  }
  yield* writer.takeBack('error')
  yield { type: 'error', errorText: 'The request could not be handled.' }
}

class ReplyWriter {
  readonly #details: boolean
  /** The tools that were called and have not returned yet. */
  readonly #calls = new Set<string>()
  /** How many texts have begun; the next text's ID. */
  #texts = 0
  #isOpen = false

  constructor(details: boolean) {
    this.#details = details
  }

  *write(event: FlowStreamEvent): Generator<FlowMessageChunk, void> {
    switch (event.type) {
      case 'text-delta':
        yield* this.#text(event.text)
        break
      case 'reset':
        yield* this.takeBack(event.reason)
        break
      case 'tool-start':
      case 'tool-end':
        if (this.#details) yield* this.#tool(event)
        break
      case 'result':
      case 'error':
        yield* this.#end(event)
    }
  }

  *#text(delta: string): Generator<FlowMessageChunk, void> {
    if (!this.#isOpen) {
      this.#isOpen = true
      yield { type: 'text-start', id: `text-${++this.#texts}` }
    }
    yield { type: 'text-delta', id: `text-${this.#texts}`, delta }
  }

  *#close(): Generator<FlowMessageChunk, void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    yield { type: 'text-end', id: `text-${this.#texts}` }
  }

  /** Marks the text so far as discarded. */
  *takeBack(reason: string): Generator<FlowMessageChunk, void> {
    // No text was shown yet.
    if (!this.#isOpen) return
    yield* this.#close()
    yield { type: 'data-reset', data: { reason } }
  }

  *#tool(event: Extract<FlowStreamEvent, { type: 'tool-start' | 'tool-end' }>): Generator<FlowMessageChunk, void> {
    const { toolCallId, tool: toolName } = event
    const call = { toolCallId, providerExecuted: true } as const
    if (!this.#calls.has(toolCallId)) {
      this.#calls.add(toolCallId)
      yield { type: 'tool-input-start', ...call, toolName }
      // The user may not be allowed to see the input and output of tools.
      yield { type: 'tool-input-available', ...call, toolName, input: {} }
    }
    if (event.type === 'tool-start') return
    if (event.success) yield { type: 'tool-output-available', ...call, output: {} }
    else yield { type: 'tool-output-error', ...call, errorText: 'The tool failed.' }
  }

  *#end(event: TurnOutcome): Generator<FlowMessageChunk, void> {
    const isStopped = event.type === 'error' && event.error.code === 'TURN_ABORTED'
    if (event.type === 'result' && !this.#isOpen) yield* this.#whole(event)
    // A stopped turn keeps its text, because the user has read it.
    if (event.type === 'error' && !isStopped) yield* this.takeBack('error')
    yield* this.#close()
    const messageMetadata = metadataOf(event)
    if (event.type === 'result') {
      yield* partsBeside(event)
      yield { type: 'finish', messageMetadata }
      return
    }
    if (messageMetadata.session !== '') yield { type: 'message-metadata', messageMetadata }
    if (isStopped) yield { type: 'abort' }
    else yield { type: 'error', errorText: failureText(event) }
  }

  /** A reply that was not streamed. */
  *#whole({ response, encoding }: Extract<TurnOutcome, { type: 'result' }>): Generator<FlowMessageChunk, void> {
    const part = replyPart(response.message, response.contentType, encoding)
    if (part.type === 'file') yield { type: 'file', mediaType: part.mediaType, url: part.url }
    else if (part.text !== '') yield* this.#text(part.text)
  }
}

function metadataOf(outcome: TurnOutcome): FlowMessageMetadata {
  const { response, sessionState, restarted } = outcome
  const { session, contentType } = response
  return {
    session,
    sessionState,
    ...(restarted === undefined ? {} : { restarted }),
    ...(contentType === 'text/plain' ? {} : { contentType }),
    ...(outcome.type === 'error' ? { code: outcome.error.code } : {}),
  }
}
