/**
 * The form of a recording, and how the messages of a stored turn become one. `recording/whole-session.ts` checks that
 * they are complete.
 */

import type {
  FilePart,
  FlowRunInput,
  ImagePart,
  JsonObject,
  JsonValue,
  MessagePart,
  ReplyPart,
  SessionDocument,
  StoredMessage,
} from '../../src/index.js'

import type { ScriptedAnswer } from '../scripted-model/scripted-model.js'

/** A tool call of a stored turn, with its result. @inline */
export interface RecordedToolCall {
  readonly namespace: string
  readonly name: string
  readonly input: JsonValue
  readonly output: JsonValue
  readonly isError?: true
}

/** A stored turn: what the user said, what models answered, and the result. @inline */
export interface RecordedTurn {
  /** Counted from 1. */
  readonly number: number
  /** The ID of the turn. Absent if no engine wrote the turn. */
  readonly id?: string
  /** When it was committed: ISO 8601, UTC. */
  readonly at: string
  /** The message; empty if there is an `event`. */
  readonly said: string
  /** The event that the turn took in place of a message; absent if there was none. */
  readonly event?: SessionDocument['history'][number]['event']
  /**
   * The button that the user pressed. The history does not have it: a recording has it only if you add it, for a message
   * that means something else as a text. Absent: `said` alone is sent.
   */
  readonly choice?: FlowRunInput['choice']
  /** The images and files of the turn. Absent if there were none. */
  readonly attachments?: readonly (ImagePart | FilePart)[]
  /** What models answered, by memory namespace (a step's ID, unless it names another), in order. */
  readonly replies: Readonly<Record<string, readonly (readonly MessagePart[])[]>>
  readonly reply: string
  readonly contentType: string
  readonly encoding?: 'base64'
  /** What the reply carried beside its text. Absent if there was nothing. */
  readonly parts?: readonly ReplyPart[]
  /** The current step at the turn's end. */
  readonly step: string
  readonly toolCalls: readonly RecordedToolCall[]
  /** What the turn added to memory, by namespace. */
  readonly messages: Readonly<Record<string, readonly StoredMessage[]>>
  /**
   * Set if its messages are gone because the memory was shortened: the reply is the history's, and tool calls and
   * messages are not known.
   */
  readonly shortened?: true
}

/** A session as a script: plain JSON, to be kept in a file. */
export interface Recording {
  /** The flow that the session is bound to. */
  readonly flow: string
  readonly sessionId: string
  /** ISO 8601, UTC. */
  readonly startedAt: string
  readonly owner?: string
  /** The `config` of the first turn. Absent if there was none. */
  readonly config?: JsonObject
  readonly turns: readonly RecordedTurn[]
  /** Whether the last turn completed the session. */
  readonly completed: boolean
  /** The state of each step at the end. */
  readonly states: Readonly<Record<string, JsonObject>>
  /** The flow's context at the end. */
  readonly context: JsonObject
  /** What models said, as a script by step, for a conversation of your own; by memory namespace, to be exact. */
  readonly script: Readonly<Record<string, readonly ScriptedAnswer[]>>
  /** The last summary of each memory, by namespace. Absent if there was none. */
  readonly summaries?: Readonly<Record<string, string>>
}

/** The text that a turn left as its last message in a namespace: a model's, or the flow's own. */
export interface LastText {
  readonly turn: number
  readonly namespace: string
  readonly text: string
}

/** The messages of one turn in one namespace. */
export interface TurnMessages {
  readonly turn: number
  readonly namespace: string
  readonly messages: readonly StoredMessage[]
}

/** The messages of a document, turn by turn and namespace by namespace. */
export function turnMessagesOf(document: SessionDocument): TurnMessages[] {
  return Object.entries(document.flow.memory).flatMap(([namespace, { messages }]) => {
    const groups: { turn: number; namespace: string; messages: StoredMessage[] }[] = []
    for (const message of messages) {
      const last = groups.at(-1)
      if (last?.turn === message.turn) last.messages.push(message)
      else groups.push({ turn: message.turn, namespace, messages: [message] })
    }
    return groups
  })
}

/** What the user sent with a message, with the bytes. */
export function attachmentsOf(
  { attachments = [] }: SessionDocument,
  sent: NonNullable<SessionDocument['history'][number]['attachments']>,
): readonly (ImagePart | FilePart)[] {
  return sent.map(({ attachment, size: _, ...described }) => {
    const data = attachments.find(({ id }) => id === attachment)?.data
    return (data === undefined ? described : { ...described, data }) as ImagePart | FilePart
  })
}

/** The text of a message that is one text and nothing else. */
export function onlyText({ parts }: StoredMessage): string | undefined {
  const [part, more] = parts
  return part?.type === 'text' && more === undefined ? part.text : undefined
}

/** Whether a text of memory is the reply of a turn, or the reply without the texts before it, such as a `withLead`. */
export function isReplyOf(text: string, entry: SessionDocument['history'][number]): boolean {
  return [rememberedText(entry), entry.reply].includes(text) || entry.reply.endsWith(`\n\n${text}`)
}

/** How a reply is stored in memory: of bytes only the type. */
export function rememberedText({ reply, contentType, encoding }: SessionDocument['history'][number]): string {
  return encoding === undefined ? reply : `[${contentType}]`
}

/**
 * What a model answered, as a script says it. It keeps the IDs of tool calls, because results in memory refer to them.
 */
export function answerOf(parts: readonly MessagePart[]): ScriptedAnswer {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const toolCalls = parts.flatMap((part) =>
    part.type === 'tool-call'
      ? [
          {
            name: part.toolName,
            input: part.input,
            id: part.toolCallId,
            offered: false as const,
            ...(part.invalidInput === undefined ? {} : { invalidInput: part.invalidInput }),
          },
        ]
      : [],
  )
  if (toolCalls.length === 0) return { text: texts.join('') }
  return texts.length === 0 ? { toolCalls } : { text: texts.join(''), toolCalls }
}

/**
 * The tool calls among messages, with their results. An ID is unique within one answer: results follow it, in its
 * order.
 */
export function toolCallsOf(namespace: string, messages: readonly StoredMessage[]): RecordedToolCall[] {
  const parts = messages.flatMap((message) => message.parts)
  const results = parts.filter((part) => part.type === 'tool-result')
  return parts.flatMap((part) => {
    if (part.type !== 'tool-call') return []
    const index = results.findIndex(({ toolCallId }) => toolCallId === part.toolCallId)
    const [result] = index < 0 ? [] : results.splice(index, 1)
    if (result === undefined) return []
    const { output, isError } = result
    const call = { namespace, name: part.toolName, input: part.input, output }
    return [isError === undefined ? call : { ...call, isError }]
  })
}

/** The states of steps, by their IDs. */
export function statesOf(steps: SessionDocument['flow']['steps']): Record<string, JsonObject> {
  return Object.fromEntries(Object.entries(steps).map(([step, { state }]) => [step, state]))
}

/** The `config` that the session began with, if it is still in the context. */
export function configOf({ flow }: SessionDocument): JsonObject | undefined {
  const { config } = flow.context
  return typeof config === 'object' && config !== null && !Array.isArray(config) ? (config as JsonObject) : undefined
}
