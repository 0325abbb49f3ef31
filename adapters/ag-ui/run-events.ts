/** Converts the events of a turn to the events of an AG-UI run. */
import type { FlowStreamEvent } from '../../src/index.js'
import { replyIdOf } from '../chat/client-id.js'
import { failureText } from '../chat/failure-text.js'
import type { TurnOutcome } from '../chat/turn-broadcast.js'
import { type Replied, sentParts } from '../fetch/reply/sent-parts.js'

/** The session in the agent's state. It is sent at the end of a run, and the client sends it back with the next one. */
export interface FlowAgentState {
  /** The ID of the session. */
  readonly session: string
  readonly sessionState: TurnOutcome['sessionState']
  /** Why a new session was started instead of continuing the thread's. */
  readonly restarted?: NonNullable<TurnOutcome['restarted']>
}

/** An event of AG-UI 1.0. */
export interface RunEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** The facts about one stream of events. */
export interface RunForm {
  readonly threadId: string
  readonly runId: string
  /** The ID of the user's message. */
  readonly messageId: string
  /** The client's messages up to the user's, for the events that discard a text. */
  readonly messages: readonly unknown[]
  /** Whether it has later messages, which the reply replaces. */
  readonly isSentAgain: boolean
  /** Whether tools are named. */
  readonly details: boolean
  /** The messages and the state of a session, for a reply that was recorded. */
  readonly snapshot: (session: string) => Promise<readonly RunEvent[]>
}

/** The events of a turn, from its beginning. The last one is `RUN_FINISHED` or `RUN_ERROR`. */
export async function* runEventsOf(
  events: AsyncIterable<FlowStreamEvent>,
  form: RunForm,
): AsyncGenerator<RunEvent, void> {
  const { threadId, runId } = form
  yield { type: 'RUN_STARTED', threadId, runId }
  if (form.isSentAgain) yield { type: 'MESSAGES_SNAPSHOT', messages: form.messages }
  const writer = new RunWriter(form)
  for await (const event of events) {
    if (event.type === 'result' && event.replayed === true && !writer.hasText) {
      // The message is not new. The session may have said more since it was answered.
      yield* await form.snapshot(event.response.session)
      yield { type: 'RUN_FINISHED', threadId, runId }
      return
    }
    yield* writer.write(event)
    if (event.type === 'result' || event.type === 'error') return
  }
  yield* writer.takeBack()
  yield { type: 'RUN_ERROR', message: 'The request could not be handled.' }
}

/** The parts of a reply, which messages of AG-UI cannot have. */
export function partsEvents(messageId: string, reply: Replied): RunEvent[] {
  const parts = sentParts(reply)
  return parts === undefined ? [] : [{ type: 'CUSTOM', name: 'turnkeeper.parts', value: { messageId, parts } }]
}

/** The events of a run that is refused before it begins. */
export function refusedRun(
  { threadId, runId }: Pick<RunForm, 'threadId' | 'runId'>,
  error: { readonly message: string; readonly code: string },
): RunEvent[] {
  return [
    { type: 'RUN_STARTED', threadId, runId },
    { type: 'RUN_ERROR', ...error },
  ]
}

class RunWriter {
  readonly #form: RunForm
  readonly #messageId: string
  readonly #calls = new Set<string>()
  #isOpen = false

  constructor(form: RunForm) {
    this.#form = form
    this.#messageId = replyIdOf(form.messageId)
  }

  /** Whether text was sent that still counts. */
  get hasText(): boolean {
    return this.#isOpen
  }

  *write(event: FlowStreamEvent): Generator<RunEvent, void> {
    switch (event.type) {
      case 'text-delta':
        yield* this.#text(event.text)
        break
      case 'reset':
        yield* this.takeBack()
        break
      case 'tool-start':
      case 'tool-end':
        if (this.#form.details) yield* this.#tool(event)
        break
      case 'result':
      case 'error':
        yield* this.#end(event)
    }
  }

  *#text(delta: string): Generator<RunEvent, void> {
    const messageId = this.#messageId
    if (!this.#isOpen) yield { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' }
    this.#isOpen = true
    if (delta !== '') yield { type: 'TEXT_MESSAGE_CONTENT', messageId, delta }
  }

  *#close(): Generator<RunEvent, void> {
    if (this.#isOpen) yield { type: 'TEXT_MESSAGE_END', messageId: this.#messageId }
    this.#isOpen = false
  }

  /** The client's messages from before the reply: this is the only way to remove a text. */
  *takeBack(): Generator<RunEvent, void> {
    if (!this.#isOpen) return
    yield* this.#close()
    yield { type: 'MESSAGES_SNAPSHOT', messages: this.#form.messages }
  }

  *#tool(event: Extract<FlowStreamEvent, { type: 'tool-start' | 'tool-end' }>): Generator<RunEvent, void> {
    const { toolCallId, tool: toolCallName } = event
    if (!this.#calls.has(toolCallId)) {
      this.#calls.add(toolCallId)
      yield { type: 'TOOL_CALL_START', toolCallId, toolCallName }
      yield { type: 'TOOL_CALL_ARGS', toolCallId, delta: '{}' }
      yield { type: 'TOOL_CALL_END', toolCallId }
    }
    if (event.type === 'tool-start') return
    const content = event.success ? 'The tool has returned.' : 'The tool failed.'
    yield { type: 'TOOL_CALL_RESULT', messageId: `${toolCallId}-result`, toolCallId, content, role: 'tool' }
  }

  *#end(event: TurnOutcome): Generator<RunEvent, void> {
    const { threadId, runId } = this.#form
    const { response, sessionState, restarted } = event
    if (event.type === 'result' && !this.#isOpen) yield* this.#whole(event)
    // A stopped turn keeps its text, because the user has read it.
    if (event.type === 'error' && event.error.code !== 'TURN_ABORTED') yield* this.takeBack()
    yield* this.#close()
    if (event.type === 'result') yield* partsEvents(this.#messageId, event)
    const { session } = response
    const snapshot: FlowAgentState = { session, sessionState, ...(restarted === undefined ? {} : { restarted }) }
    if (session !== '') yield { type: 'STATE_SNAPSHOT', snapshot }
    if (event.type === 'result') yield { type: 'RUN_FINISHED', threadId, runId }
    else yield { type: 'RUN_ERROR', message: failureText(event), code: event.error.code }
  }

  /** A reply that was not streamed. Messages of AG-UI are texts: bytes become a data URL. */
  *#whole({ response, encoding }: Extract<TurnOutcome, { type: 'result' }>): Generator<RunEvent, void> {
    const { message, contentType } = response
    if (message !== '') yield* this.#text(encoding === undefined ? message : `data:${contentType};base64,${message}`)
  }
}
