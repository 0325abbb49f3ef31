/**
 * The messages of a session during one turn: the stored lists, which are frozen and shared, plus the messages that the
 * turn adds. Model requests are built from here.
 */
import { flowCodeError } from '../errors/engine-errors.js'
import type { FilePart, ImagePart, Message, MessagePart, MessageRole, StoredMessage } from '../model/message.js'
import {
  findIn,
  newAttachment,
  referencedIds,
  referenceTo,
  sizeOfBase64,
  withAttachments,
} from '../session/attachments.js'
import { GrowingList } from '../session/lists/growing-list.js'
import { shareList } from '../session/lists/shared-lists.js'
import type { SentAttachment, SessionAttachment, SessionDocument, SessionMemory } from '../session/session-document.js'
import type { BaseStep } from './base-step.js'
import { LogicStep } from './logic-step.js'
import { Step } from './step.js'

type StoredMemory = Readonly<Record<string, SessionMemory>>

const noMessages: readonly StoredMessage[] = shareList<StoredMessage>([])
const noAttachments: readonly SessionAttachment[] = shareList<SessionAttachment>([])

/** A namespace that this turn used. */
interface Namespace {
  readonly messages: GrowingList<StoredMessage>
  /** The user's texts that were appended in this turn: more than one if `withMessage` replaced the message. */
  readonly userTexts: string[]
}

/** The memory namespace of a model step. */
export function namespaceOf(step: { readonly memory?: string | undefined }, stepId: string): string {
  const namespace: unknown = step.memory ?? stepId
  if (typeof namespace === 'string' && namespace !== '' && namespace !== '__proto__') return namespace
  throw flowCodeError(`The memory namespace of step '${stepId}' must be a non-empty string other than '__proto__'.`)
}

/** The namespace to which a step adds what is said in it; `undefined` if it has none. */
export function memoryOf(step: BaseStep | undefined, stepId: string): string | undefined {
  const remembers = step instanceof Step || (step instanceof LogicStep && step.memory !== undefined)
  return remembers ? namespaceOf(step, stepId) : undefined
}

/** The memory namespaces of the model steps among `steps`. */
export function namespacesOf(steps: ReadonlyMap<string, BaseStep>): ReadonlySet<string> {
  const namespaces = new Set<string>()
  for (const [stepId, step] of steps) if (step instanceof Step) namespaces.add(namespaceOf(step, stepId))
  return namespaces
}

/** A text as a frozen message. */
export function textMessage(role: MessageRole, text: string, turn: number): Message {
  return message(role, [Object.freeze({ type: 'text', text })], turn)
}

/** A frozen message of frozen parts. */
export function message(role: MessageRole, parts: readonly MessagePart[], turn: number): Message {
  return Object.freeze({ role, parts: Object.freeze(parts), turn })
}

/** How many messages at the start of a memory are the summary of earlier ones: 1 or 0. */
export function summaryLength(messages: readonly StoredMessage[]): number {
  return messages[0]?.summary === true ? 1 : 0
}

/** The memory of one session during one turn. */
export class ConversationMemory {
  readonly #stored: StoredMemory
  /** The namespaces that this turn used. */
  readonly #touched: Map<string, Namespace> = new Map()
  /** The bytes that messages refer to; `undefined` if the session never had any. */
  #attachments: GrowingList<SessionAttachment> | undefined
  /** The reference of each part that came with the turn. All memories that receive the part refer to the same bytes. */
  #references: Map<ImagePart | FilePart, StoredMessage['parts'][number]> | undefined

  constructor({ flow, attachments }: Pick<SessionDocument, 'flow' | 'attachments'>) {
    this.#stored = flow.memory
    if (attachments !== undefined) this.#attachments = new GrowingList(attachments)
  }

  /** The messages of a namespace so far, oldest first, as a model receives them. */
  messages(namespace: string): readonly Message[] {
    const list = this.#list(namespace)
    // Only a session that has or had attachments has messages that refer to them.
    if (this.#attachments === undefined) return list as readonly Message[]
    return withAttachments(list, findIn(this.#attachments.list))
  }

  /** The newest message of a namespace, if any. */
  last(namespace: string): StoredMessage | undefined {
    return this.open(namespace).messages.last
  }

  append(namespace: string, added: StoredMessage): void {
    this.open(namespace).messages.push(added)
  }

  /**
   * Appends the user's message, unless this turn has already appended the same text. Attachments are appended once,
   * with the first text. A message that consists only of attachments gets no text part.
   */
  appendUserMessage(
    namespace: string,
    text: string,
    turn: number,
    attachments: readonly (ImagePart | FilePart)[] = [],
  ): void {
    const { userTexts } = this.open(namespace)
    if (userTexts.includes(text)) return
    const media = userTexts.length === 0 ? attachments.map((part) => this.#store(part, turn)) : []
    userTexts.push(text)
    const isMediaAlone = text === '' && media.length > 0
    const parts = isMediaAlone ? media : [Object.freeze({ type: 'text', text } as const), ...media]
    this.append(namespace, Object.freeze({ role: 'user', parts: Object.freeze(parts), turn }))
  }

  /** Replaces the user's texts of this turn. */
  hideUserTexts(text: string): void {
    for (const { messages, userTexts } of this.#touched.values()) {
      const hide = (part: StoredMessage['parts'][number]): typeof part =>
        part.type === 'text' && userTexts.includes(part.text) ? Object.freeze({ type: 'text', text }) : part
      messages.replaceAdded((one) => {
        return one.role === 'user' ? Object.freeze({ ...one, parts: Object.freeze(one.parts.map(hide)) }) : one
      })
      userTexts.fill(text)
    }
  }

  /**
   * Removes the messages of a namespace, and the bytes from earlier turns that no message refers to any more.
   *
   * @param turn - The number of this turn.
   * @param keepsTurn - Whether to keep this turn's messages because a model step is using them.
   */
  clear(namespace: string, turn: number, keepsTurn: boolean): void {
    const { messages, userTexts } = this.open(namespace)
    const firstKept = keepsTurn ? messages.list.findIndex((one) => one.turn === turn) : -1
    const count = firstKept < 0 ? messages.length : firstKept
    if (count > 0) messages.removeOldest(count)
    // If the user's message is gone, a model step that is entered later needs it again.
    if (!keepsTurn) userTexts.length = 0
    this.#removeUnusedAttachments(turn)
  }

  /** The namespaces that this turn used, with their messages. */
  get touched(): ReadonlyMap<string, { readonly messages: GrowingList<StoredMessage> }> {
    return this.#touched
  }

  /** The names of all namespaces, including unused ones. */
  get namespaces(): readonly string[] {
    return [...new Set([...Object.keys(this.#stored), ...this.#touched.keys()])]
  }

  /** The bytes of attachments; `undefined` if the session never had any. */
  get attachments(): GrowingList<SessionAttachment> | undefined {
    return this.#attachments
  }

  /** Returns the messages of a namespace for changing, and marks the namespace as used in this turn. */
  open(namespace: string): Namespace {
    let open = this.#touched.get(namespace)
    if (open === undefined) {
      open = { messages: new GrowingList(this.#list(namespace)), userTexts: [] }
      this.#touched.set(namespace, open)
    }
    return open
  }

  /** How many bytes larger the memory is than the stored one; negative if it is smaller. */
  get addedBytes(): number {
    let bytes = this.#attachments?.addedBytes ?? 0
    for (const { messages } of this.#touched.values()) bytes += messages.addedBytes
    return bytes
  }

  /**
   * The images and files of the user's message, for the history. Their bytes are kept even if no memory refers to them.
   */
  sent(parts: readonly (ImagePart | FilePart)[], turn: number): readonly SentAttachment[] {
    return Object.freeze(
      parts.map((part) => {
        const reference = this.#store(part, turn) as SentAttachment
        return part.data === undefined ? reference : Object.freeze({ ...reference, size: sizeOfBase64(part.data) })
      }),
    )
  }

  /** The memory as the document stores it. Unchanged lists are the stored ones. */
  toStored(): StoredMemory {
    if (this.#touched.size === 0) return this.#stored
    const stored: Record<string, SessionMemory> = { ...this.#stored }
    for (const [namespace, { messages }] of this.#touched) {
      if (stored[namespace]?.messages !== messages.list && (messages.length > 0 || Object.hasOwn(stored, namespace))) {
        stored[namespace] = { messages: messages.list }
      }
    }
    return stored
  }

  /** The messages of a namespace so far. Reading them does not count as use. */
  #list(namespace: string): readonly StoredMessage[] {
    const open = this.#touched.get(namespace)
    if (open !== undefined) return open.messages.list
    return (Object.hasOwn(this.#stored, namespace) ? this.#stored[namespace]?.messages : undefined) ?? noMessages
  }

  #removeUnusedAttachments(turn: number): void {
    const attachments = this.#attachments
    if (attachments === undefined) return
    const used = referencedIds(this.namespaces.map((namespace) => this.#list(namespace)))
    const { list } = attachments
    const firstKept = list.findIndex((one) => one.turn === turn || used.has(one.id))
    const count = firstKept < 0 ? list.length : firstKept
    if (count > 0) attachments.removeOldest(count)
  }

  /**
   * Adds the bytes of a part to `attachments`, once in each turn, and returns the reference. A URL stays in its
   * message.
   */
  #store(part: ImagePart | FilePart, turn: number): StoredMessage['parts'][number] {
    if (part.data === undefined) return part
    this.#references ??= new Map()
    let reference = this.#references.get(part)
    if (reference === undefined) {
      this.#attachments ??= new GrowingList(noAttachments)
      // The flow's `onRestore` may have added some to a message of this turn.
      const { list } = this.#attachments
      const attachment = newAttachment(turn, part.data, (id) => list.some((one) => one.id === id))
      this.#attachments.push(attachment)
      reference = referenceTo(part, attachment.id)
      this.#references.set(part, reference)
    }
    return reference
  }
}
