/**
 * Stores a summary, or the cost of a failed one, in the session's current document: turns may have run since, in this
 * process or another. The session is loaded again under its lock and its lease, and written once. A conflict drops the
 * summary.
 */
import { summaryWait } from '../engine/lock/lock-waits.js'
import type { TurnControl } from '../engine/turn/control/turn-control.js'
import { giveBackLeases, takeLease } from '../engine/turn/session/session-lease.js'
import type { Message, StoredMessage } from '../model/message.js'
import { bytesOfLists } from '../session/document-bytes.js'
import { memoryList } from '../session/document-lists.js'
import { shareList } from '../session/lists/shared-lists.js'
import { nextRevision } from '../session/revision.js'
import type { SessionDocument, SessionUsage } from '../session/session-document.js'
import { isoTime } from '../util/iso-time.js'
import { isPlainObject } from '../util/json.js'

/** The result of the calls for a summary. */
export interface SummaryResult {
  /** The document that the turn committed, which the calls started from. */
  readonly committed: SessionDocument
  readonly namespace: string
  /** The messages that were summarized, the first ones of the namespace. */
  readonly oldest: readonly StoredMessage[]
  /** The message that replaces them; `undefined` if the calls failed. */
  readonly summary: Message | undefined
  /** The session's recorded usage before and after the calls. */
  readonly usage: { readonly before: SessionUsage; readonly after: SessionUsage }
}

/**
 * Waits for the session's lock as long as a delete would, and stores the result.
 *
 * @param turn - The turn that the summary follows.
 * @param control - The control of the summary.
 * @returns How many messages the memory has now; `undefined` if the summary was not stored. If there is no summary, or
 * its messages are no longer there, only the cost of the calls is stored. If the session is no longer the same, nothing
 * is stored.
 * @throws Whatever the lock and the store throw.
 */
export function swapSummary(
  turn: TurnControl,
  control: TurnControl,
  result: SummaryResult,
): Promise<number | undefined> {
  const { id } = result.committed
  return turn.engine.session.hold(
    id,
    async (holder) => {
      control.lockHolder = holder
      control.hold(id)
      try {
        await lease(control, result)
        // From here on the summary must not be aborted: the store has its own deadlines.
        control.work.finish()
        return await swap(control, result)
      } finally {
        giveBackLeases(control)
      }
    },
    () => summaryWait(turn.engine, turn.owner),
    true,
  )
}

/** Takes the lease of the session, so that the swap does not come between a load and a commit of another process. */
async function lease(control: TurnControl, { committed, summary }: SummaryResult): Promise<void> {
  if (summary === undefined) return
  try {
    await takeLease(control, committed.id)
  } catch {
    // The time of the summary is over. Without a lease the compare-and-swap decides.
  }
}

async function swap(control: TurnControl, result: SummaryResult): Promise<number | undefined> {
  const { committed, namespace, oldest, summary } = result
  const { session } = control.engine
  const stored = await session.access.load(committed.id)
  if (stored === undefined || !isSameSession(stored, committed)) return undefined
  const usage = addSpent(stored.usage, result.usage)
  const messages = messagesOf(stored, namespace)
  if (summary === undefined || !beginsWith(messages, oldest)) {
    await save(control, { ...stored, usage })
    return undefined
  }
  const list = shareList([summary, ...messages.slice(oldest.length)])
  const memory = { ...stored.flow.memory, [namespace]: { messages: list } }
  const changed = { ...stored, usage, flow: { ...stored.flow, memory } }
  await save(control, { ...changed, bytes: bytesOfLists(changed) }, memoryList(namespace))
  return list.length
}

/** The messages of a namespace, oldest first. */
export function messagesOf({ flow }: SessionDocument, namespace: string): readonly StoredMessage[] {
  return Object.hasOwn(flow.memory, namespace) ? (flow.memory[namespace]?.messages ?? []) : []
}

/**
 * Whether the stored document is the turn's session, still running, with the same flow version.
 */
function isSameSession(stored: SessionDocument, committed: SessionDocument): boolean {
  return (
    stored.runStatus === 'running' &&
    stored.createdAt === committed.createdAt &&
    stored.owner === committed.owner &&
    stored.flow.name === committed.flow.name &&
    stored.flow.version === committed.flow.version
  )
}

/**
 * Whether a memory still begins with these messages. It compares the first, the last and the count: a limit or a window
 * may have cut the memory.
 */
function beginsWith(messages: readonly StoredMessage[], oldest: readonly StoredMessage[]): boolean {
  const last = oldest.length - 1
  return isSameMessage(messages[0], oldest[0]) && isSameMessage(messages[last], oldest[last])
}

function isSameMessage(one: StoredMessage | undefined, other: StoredMessage | undefined): boolean {
  if (one === other) return true
  return one?.turn === other?.turn && one?.role === other?.role && isSameJson(one?.parts, other?.parts)
}

/** Whether two values are the same JSON. A store may return the keys of an object in a different order. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, index) => isSameJson(value, other[index]))
  }
  if (!isPlainObject(one) || !isPlainObject(other)) return false
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]))
  )
}

/** Adds the cost of calls to the stored usage. */
export function addSpent(stored: SessionUsage, { before, after }: SummaryResult['usage']): SessionUsage {
  const usage: Record<string, number> = { ...stored }
  const spentBefore: Readonly<Record<string, number>> = { ...before }
  for (const [name, amount] of Object.entries(after)) {
    usage[name] = (usage[name] ?? 0) + (amount - (spentBefore[name] ?? 0))
  }
  return usage as unknown as SessionUsage
}

/**
 * Saves a document under a new revision. @param rewritten - The list that differs from the stored one. Default: none.
 */
async function save(control: TurnControl, document: SessionDocument, rewritten?: string): Promise<void> {
  const { clock, generateId, session } = control.engine
  const { revision: expected } = document
  const revision = nextRevision(expected, generateId('revision'))
  const hint = rewritten === undefined ? { appended: {} } : { appended: {}, rewritten: [rewritten] }
  const changed = { ...document, revision, savedAt: isoTime(clock.now()) }
  await session.access.write(changed, expected, { hint, holder: control.lockHolder })
  control.report('session:saved', {})
}
