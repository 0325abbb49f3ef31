/**
 * The messages of a session during one turn: the shared, frozen lists, and what the turn adds to them. What is said to
 * the model is read from here and nowhere else.
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

/** A namespace that this turn touched. */
interface Namespace {
  messages: GrowingList<Message>
  /** Messages that it gained; `undefined` where it no longer begins with what is stored. */
  added: number | undefined
  /** What the user said to it in this turn: more than one text where `withMessage` put another in its place. */
  readonly heard: string[]
}

/** Where the messages of a model step are kept. */
export function namespaceOf(step: Step, stepId: string): string {
  const namespace: unknown = step.memory ?? stepId
  if (typeof namespace === 'string' && namespace !== '' && namespace !== '__proto__') return namespace
  throw flowCodeError(
    `The memory namespace of step '${stepId}' must be a string that is not empty, and not '__proto__'.`,
  )
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
  /** The namespaces that this turn touched, for who cuts them. */
  readonly touched: Map<string, Namespace> = new Map()
  /** What was added, as JSON bytes, less what was cut off. */
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
   * Appends what the user said, unless this turn did already. What came with it is heard once, with the first text; a
   * message of attachments alone has no text.
   */
  hear(namespace: string, text: string, turn: number, attachments: readonly (ImagePart | FilePart)[] = []): void {
    const { heard } = this.#open(namespace)
    if (heard.includes(text)) return
    const parts: readonly MessagePart[] = heard.length === 0 ? attachments : []
    heard.push(text)
    const withText = text !== '' || parts.length === 0
    this.append(namespace, message('user', withText ? [Object.freeze({ type: 'text', text }), ...parts] : parts, turn))
  }

  /** How many messages each namespace gained; `undefined` for one that was cut. */
  appended(): readonly (readonly [namespace: string, count: number | undefined])[] {
    return [...this.touched].map(([namespace, { added }]) => [namespace, added] as const)
  }

  /** The memory as the document stores it: lists nothing was added to are the stored ones. */
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
      open = { messages: new GrowingList(stored ?? noMessages), added: 0, heard: [] }
      this.touched.set(namespace, open)
    }
    return open
  }
}
