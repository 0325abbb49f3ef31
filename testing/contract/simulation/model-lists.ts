/**
 * How long the lists of a session may become (design 8.3), as plainly as possible: the oldest turns, messages and
 * attachments go until a list fits; what a turn itself added stays. In these conversations each turn begins with a
 * message of the user, so a memory loses whole turns.
 */
import type { StoredMessage } from '../../../src/index.js'
import type { ModelCompaction, ModelLimits, ModelSession, ModelTurn, Rules, Usage } from './model-types.js'

/** The defaults, which these short conversations do not reach. */
export const defaultRules: Rules = {
  limits: {
    maxHistoryTurns: 500,
    maxHistoryBytes: 1024 * 1024,
    maxMemoryBytes: 256 * 1024,
    attachmentTurns: 2,
    maxSessionBytes: 4 * 1024 * 1024,
  },
  compaction: undefined,
  onTurnError: 'abort',
}

/** The bytes of JSON, without those that escape a character. All texts are ASCII. */
function sizeOf(value: unknown): number {
  return JSON.stringify(value).replaceAll(/\\(.)/g, '$1').length
}

/** The bytes of entries and the commas after them. */
function bytesOf(list: readonly unknown[]): number {
  return list.reduce<number>((sum, entry) => sum + sizeOf(entry) + 1, 0)
}

/** All times are as long as this one. */
const someTime = '2026-01-01T00:00:00.000Z'

function bytesOfTurns(turns: readonly ModelTurn[]): number {
  return bytesOf(turns.map((turn) => ({ ...turn, at: someTime })))
}

/** The bytes of all lists. */
export function bytesOfLists({ turns, memory, attachments = [] }: ModelSession): number {
  return bytesOfTurns(turns) + bytesOf(memory) + bytesOf(attachments)
}

/** The session within the limits; `undefined` if the turn added too much. */
export function withinLimits(session: ModelSession, limits: ModelLimits): ModelSession | undefined {
  let fits = eachWithin(session, limits)
  const most = limits.maxSessionBytes - sizeOf(session.steps) - sizeOf(session.context)
  if (bytesOfLists(fits) > most) {
    fits = { ...fits, attachments: fits.attachments?.filter(({ turn }) => turn === fits.count) }
  }
  while (bytesOfLists(fits) > most) {
    const before = fits
    fits = { ...fits, turns: newestTurns(fits.turns, bytesOfTurns(fits.turns) / 2) }
    if (bytesOfLists(fits) <= most) break
    fits = { ...fits, memory: newestMessages(fits.memory, bytesOf(fits.memory) / 2, fits.count) }
    if (bytesOfLists(fits) === bytesOfLists(before)) return undefined
  }
  return fits
}

/** Each list within its own limit: one that passes it is cut to three quarters. */
function eachWithin(session: ModelSession, limits: ModelLimits): ModelSession {
  const { maxHistoryTurns, maxHistoryBytes, maxMemoryBytes, attachmentTurns } = limits
  let { turns, memory } = session
  const isTooLarge = bytesOfTurns(turns) > maxHistoryBytes
  if (turns.length > maxHistoryTurns) turns = turns.slice(-Math.max(1, Math.floor(maxHistoryTurns * 0.75)))
  if (isTooLarge) turns = newestTurns(turns, maxHistoryBytes * 0.75)
  if (bytesOf(memory) > maxMemoryBytes) memory = newestMessages(memory, maxMemoryBytes * 0.75, session.count)
  const attachments = session.attachments?.filter(({ turn }) => turn > session.count - attachmentTurns)
  return { ...session, turns, memory, attachments }
}

function newestTurns(turns: readonly ModelTurn[], most: number): readonly ModelTurn[] {
  let left = turns
  while (left.length > 1 && bytesOfTurns(left) > most) left = left.slice(1)
  return left
}

function newestMessages(messages: readonly StoredMessage[], most: number, now: number): readonly StoredMessage[] {
  const summaries = messages.filter(({ summary }) => summary === true)
  let left = messages.slice(summaries.length)
  while (bytesOf([...summaries, ...left]) > most) {
    const oldest = left[0]?.turn
    if (oldest === undefined || oldest === now) break
    left = left.filter(({ turn }) => turn !== oldest)
  }
  return [...summaries, ...left]
}

/** The messages after a sliding window was applied. */
export function windowed(
  messages: readonly StoredMessage[],
  { above, keep }: ModelCompaction,
): readonly StoredMessage[] {
  return messages.length > above ? messages.slice(removable(messages, keep)) : messages
}

/** Whether a turn that made the memory grow from `before` messages has a summary written. */
export function isSummaryDue(
  messages: readonly StoredMessage[],
  before: number,
  { above, keep }: ModelCompaction,
): boolean {
  if (messages.length <= above || !isWorthIt(messages, keep)) return false
  // If the last one failed, it is tried again after another quarter of what it removes.
  const quarters = (length: number): number => Math.ceil((length - above) / Math.ceil((above - keep) / 4))
  return before <= above || quarters(messages.length) > quarters(before)
}

/**
 * The session with a summary in place of the oldest messages. The same one if the limits have made the memory short
 * enough, or if it does not begin with the messages that were summarized any more.
 *
 * @param read - The session as the summary read it. Later turns may have changed it. Default: it is as it was.
 */
export function summarized(
  session: ModelSession,
  { above, keep }: ModelCompaction,
  read: ModelSession = session,
): ModelSession {
  const { memory, usage } = session
  if (read.memory.length <= above || !isWorthIt(read.memory, keep)) return session
  const count = removable(read.memory, keep)
  if (JSON.stringify(memory.slice(0, count)) !== JSON.stringify(read.memory.slice(0, count))) return session
  const text = 'Summary of the conversation so far:\n\nheard 1'
  const turn = memory[count - 1]?.turn ?? 0
  const summary: StoredMessage = { role: 'user', parts: [{ type: 'text', text }], turn, summary: true }
  const after = {
    ...session,
    memory: [summary, ...memory.slice(count)],
    usage: {
      inputTokens: usage.inputTokens + 1,
      outputTokens: usage.outputTokens + 1,
      modelCalls: usage.modelCalls + 1,
    },
    saves: session.saves + 1,
  }
  return { ...after, bytes: bytesOfLists(after) }
}

/**
 * The session after a turn that read it before a summary, or the cost of one, was stored: with both changes. `undefined`
 * if the turn removed messages that the summary tells, which is a conflict.
 *
 * @param session - The session with the summary.
 * @param read - The session as the turn read it.
 * @param after - The session as the turn left it.
 */
export function movedOver(session: ModelSession, read: ModelSession, after: ModelSession): ModelSession | undefined {
  const isSummarized = session.memory.length !== read.memory.length
  const added = after.memory.slice(read.memory.length)
  const isWhole = JSON.stringify([...read.memory, ...added]) === JSON.stringify(after.memory)
  if (isSummarized && !isWhole) return undefined
  const spent = (what: keyof Usage): number => session.usage[what] + after.usage[what] - read.usage[what]
  const usage = {
    inputTokens: spent('inputTokens'),
    outputTokens: spent('outputTokens'),
    modelCalls: spent('modelCalls'),
  }
  const memory = isSummarized ? [...session.memory, ...added] : after.memory
  const moved = { ...after, memory, usage, saves: session.saves + 1 }
  return { ...moved, bytes: bytesOfLists(moved) }
}

/** Summarizing only a summary is not worth a call. */
function isWorthIt(messages: readonly StoredMessage[], keep: number): boolean {
  return removable(messages, keep) > (messages[0]?.summary === true ? 1 : 0)
}

/** How many messages there are before the last turn that begins early enough to keep so many. */
function removable(messages: readonly StoredMessage[], keep: number): number {
  const beginnings = messages.flatMap(({ turn }, index) => (turn === messages[index - 1]?.turn ? [] : [index]))
  return beginnings.filter((index) => index <= messages.length - keep).at(-1) ?? 0
}
