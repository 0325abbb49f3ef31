/**
 * Writes the summaries that are due after a turn, and stores each in a commit of its own, under the session's lock and after the
 * reply. If a summary fails, the messages stay, and only the usage of the failed calls is stored.
 */
import { setDeadline } from '../config/clock.js'
import { asFlowError } from '../engine/error-text.js'
import type { BudgetCheck } from '../engine/model-call/budget-check.js'
import { TurnControl } from '../engine/turn/turn-control.js'
import { EngineClosedError } from '../errors/engine-errors.js'
import { FlowError } from '../errors/flow-error.js'
import { leavesSessionUnchanged } from '../errors/session-errors.js'
import type { RollingSummary } from '../flow/compaction.js'
import type { Message, StoredMessage } from '../model/message.js'
import { bytesOfLists } from '../session/document-bytes.js'
import { shareList } from '../session/lists/shared-lists.js'
import { nextRevision } from '../session/revision.js'
import type { SessionDocument } from '../session/session-document.js'
import { isoTime } from '../util/iso-time.js'
import { summarizableCount } from './message-cut.js'
import { summarize } from './summarize.js'

const defaultTimeoutMs = 30_000

/** A summary that should be written. */
export interface DueSummary {
  readonly namespace: string
  readonly policy: RollingSummary
}

/**
 * Writes and stores summaries, one after the other. Does not reject.
 *
 * @param committed - The document that the turn committed.
 * @param modelCalls - How many model calls the turn made.
 */
export async function storeSummaries(
  turn: TurnControl,
  committed: SessionDocument,
  due: readonly DueSummary[],
  modelCalls: number,
  budget: BudgetCheck | undefined,
): Promise<void> {
  let document = committed
  for (const [index, summary] of due.entries()) {
    const count = removableMessages(document, summary)
    if (count === 0) continue
    const stored = await storeSummary(turn, document, summary, count, modelCalls + index, budget)
    // Another process changed the session, or the outcome is unknown: a later turn writes the other summaries.
    if (stored === undefined) return
    document = stored
  }
}

/** How many messages of what is stored now a summary replaces: a limit may have removed some since it was found to be due. */
function removableMessages({ flow }: SessionDocument, { namespace, policy }: DueSummary): number {
  const messages = flow.memory[namespace]?.messages ?? []
  return messages.length > policy.above ? summarizableCount(messages, policy.keep) : 0
}

/** @returns The document that is stored now; `undefined` if that is not known. */
async function storeSummary(
  turn: TurnControl,
  document: SessionDocument,
  { namespace, policy }: DueSummary,
  count: number,
  modelCalls: number,
  budget: BudgetCheck | undefined,
): Promise<SessionDocument | undefined> {
  const { clock, session, turns } = turn.engine
  const messages = document.flow.memory[namespace]?.messages ?? []
  const timeoutMs = policy.timeoutMs ?? defaultTimeoutMs
  const control = controlOfSummary(turn, document.id, timeoutMs)
  const startedAt = clock.now()
  control.startedAt = startedAt
  const stopDeadline = setDeadline(clock, timeoutMs, () => {
    control.abort(new FlowError({ code: 'TURN_TIMEOUT', message: `The summary took longer than ${timeoutMs} ms.` }))
  })
  const usage = { ...document.usage }
  turns.add(control)
  try {
    control.hold(document.id)
    if (session.closing) throw new EngineClosedError()
    const oldest = messages.slice(0, count)
    const summary = await summarize(control, { policy, namespace, messages: oldest, usage, budget, modelCalls })
    // The write has deadlines of its own (session.access), and must not be aborted.
    control.finishWork()
    const changed = { ...replaceOldest(document, namespace, oldest, summary), usage }
    const stored = await save(control, document, { ...changed, bytes: bytesOfLists(changed) }, [`memory:${namespace}`])
    const durationMs = clock.now() - startedAt
    control.report('memory:compacted', { namespace, removed: count, kept: messages.length - count + 1, durationMs })
    return stored
  } catch (thrown) {
    control.finishWork()
    const error = asFlowError(thrown)
    control.report('memory:compaction-failed', { namespace, code: error.code })
    if (leavesSessionUnchanged(error)) return undefined
    if (usage.modelCalls === document.usage.modelCalls) return document
    // The failed calls were paid for. If their usage cannot be stored either, only that count is lost.
    return await save(control, document, { usage }).catch(() => undefined)
  } finally {
    stopDeadline()
    control.end()
  }
}

/** The control of a summary has the turn's ID, the time limit of the policy, and no limit to the number of model calls. */
function controlOfSummary(
  { engine, flowName, turnId }: TurnControl,
  sessionId: string,
  timeoutMs: number,
): TurnControl {
  const limits = { ...engine.limits, turnTimeoutMs: timeoutMs, maxModelCallsPerTurn: Number.POSITIVE_INFINITY }
  return new TurnControl({ ...engine, limits }, flowName, sessionId, undefined, turnId)
}

/** The document in which a summary replaces the oldest messages of a namespace. */
function replaceOldest(
  document: SessionDocument,
  namespace: string,
  oldest: readonly StoredMessage[],
  summary: Message,
): SessionDocument {
  const { flow } = document
  const messages = flow.memory[namespace]?.messages ?? []
  const list = shareList([summary, ...messages.slice(oldest.length)])
  const memory = { ...flow.memory, [namespace]: { messages: list } }
  return { ...document, flow: { ...flow, memory } }
}

/** Saves a document with changes under a new revision, and returns what was saved. */
async function save(
  control: TurnControl,
  document: SessionDocument,
  changes: Partial<SessionDocument>,
  rewritten?: readonly string[],
): Promise<SessionDocument> {
  const { clock, session } = control.engine
  const revision = nextRevision(document.revision, control.engine.generateId('revision'))
  const saved = { ...document, ...changes, revision, savedAt: isoTime(clock.now()) }
  const hint = rewritten === undefined ? { appended: {} } : { appended: {}, rewritten }
  await session.access.write(saved, document.revision, hint)
  control.report('session:saved', {})
  return saved
}
