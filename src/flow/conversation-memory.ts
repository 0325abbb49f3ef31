/**
 * The messages of a session during one turn: the stored lists, which are frozen and shared, and what the turn adds to them.
 * Model requests are built from here.
 */
import { flowCodeError } from '../errors/engine-errors.js'
import type { FilePart, ImagePart, Message, MessagePart, MessageRole } from '../model/message.js'
import { GrowingList } from '../session/lists/growing-list.js'
import { shareList } from '../session/lists/shared-lists.js'
import type { SessionMemory } from '../session/session-document.js'
import { jsonSize } from '../util/json.js'
import type { Step } from './step.js'

type StoredMemory = Readonly<Record<string, SessionMemory>>

const noMessages: readonly Message[] = shareList<Message>([])

/** A namespace that this turn used. */
interface Namespace {
  messages: GrowingList<Message>
  /** How many messages were appended; `undefined` if the list no longer begins with the stored one. */
  added: number | undefined
  /** The user's texts that were appended in this turn: more than one if `withMessage` replaced the message. */
  readonly userTexts: string[]
}

/** The memory namespace of a model step. */
export function namespaceOf(step: Step, stepId: string): string {
  const namespace: unknown = step.memory ?? stepId
  if (typeof namespace === 'string' && namespace !== '' && namespace !== '__proto__') return namespace
  throw flowCodeError(`The memory namespace of step '${stepId}' must be a non-empty string other than '__proto__'.`)
}

/** A text as a frozen message. */
export function textMessage(role: MessageRole, text: string, turn: number): Message {
  return message(role, [Object.freeze({ type: 'text', text })], turn)
}

/** A frozen message of frozen parts. */
export function message(role: MessageRole, parts: readonly MessagePart[], turn: number): Message {
  return Object.freeze({ role, parts: Object.freeze(parts), turn })
}

/** The memory of one session during one turn. */
export class ConversationMemory {
  readonly #stored: StoredMemory
  /** The namespaces that this turn used. `src/compaction` shortens them. */
  readonly touched: Map<string, Namespace> = new Map()
  /** JSON bytes that were appended, minus those that were removed. */
  addedBytes = 0

  constructor(stored: StoredMemory) {
    this.#stored = stored
  }

  /** The messages of a namespace up to now, oldest first: a frozen list. */
  messages(namespace: string): readonly Message[] {
    return this.#open(namespace).messages.list
  }

  /** The newest message of a namespace, if there is any. */
  last(namespace: string): Message | undefined {
    return this.#open(namespace).messages.last
  }

  append(namespace: string, added: Message): void {
    const open = this.#open(namespace)
    open.messages.push(added)
    if (open.added !== undefined) open.added++
    this.addedBytes += jsonSize(added) + 1
  }

  /**
   * Appends the user's message, unless this turn has appended the same text already. Attachments are appended once, with the
   * first text. A message that consists of attachments alone gets no text part.
   */
  appendUserMessage(
    namespace: string,
    text: string,
    turn: number,
    attachments: readonly (ImagePart | FilePart)[] = [],
  ): void {
    const { userTexts } = this.#open(namespace)
    if (userTexts.includes(text)) return
    const media: readonly MessagePart[] = userTexts.length === 0 ? attachments : []
    userTexts.push(text)
    const isMediaAlone = text === '' && media.length > 0
    this.append(
      namespace,
      message('user', isMediaAlone ? media : [Object.freeze({ type: 'text', text }), ...media], turn),
    )
  }

  /** How many messages each namespace gained; `undefined` for one that was shortened. */
  appended(): readonly (readonly [namespace: string, count: number | undefined])[] {
    return [...this.touched].map(([namespace, { added }]) => [namespace, added] as const)
  }

  /** The memory as the document stores it. Lists to which nothing was added are the stored ones. */
  toStored(): StoredMemory {
    if (this.touched.size === 0) return this.#stored
    const stored: Record<string, SessionMemory> = { ...this.#stored }
    for (const [namespace, { messages, added }] of this.touched) {
      if (added !== 0) stored[namespace] = { messages: messages.list }
    }
    return stored
  }

  #open(namespace: string): Namespace {
    let open = this.touched.get(namespace)
    if (open === undefined) {
      const stored = Object.hasOwn(this.#stored, namespace) ? this.#stored[namespace]?.messages : undefined
      open = { messages: new GrowingList(stored ?? noMessages), added: 0, userTexts: [] }
      this.touched.set(namespace, open)
    }
    return open
  }
}
