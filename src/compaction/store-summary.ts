/**
 * Writes the summaries that are due after a turn, while later turns may run, and stores each in a separate commit
 * (`swap-summary.ts`). If a summary fails, the messages stay and only the usage of the failed calls is stored.
 */
import { elapsedMs, monotonicTime, setDeadline } from '../config/clock.js'
import type { BudgetCheck } from '../engine/budgets/budget-check.js'
import { asFlowError } from '../engine/core/error-text.js'
import { TurnControl } from '../engine/turn/control/turn-control.js'
import { EngineClosedError } from '../errors/engine-errors.js'
import { FlowError } from '../errors/flow-error.js'
import { leavesSessionUnchanged, SessionConflictError } from '../errors/session-errors.js'
import type { RollingSummary } from '../flow/compaction.js'
import type { Message, StoredMessage } from '../model/message.js'
import type { SessionDocument } from '../session/session-document.js'
import { summarizableCount } from './message-cut.js'
import { type SummaryTask, summarize } from './summarize.js'
import { messagesOf, swapSummary } from './swap-summary.js'

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
  const usage = { ...committed.usage }
  for (const [index, summary] of due.entries()) {
    const oldest = removableMessages(committed, summary)
    if (oldest.length === 0) continue
    const task = { ...summary, messages: oldest, usage, budget, modelCalls: modelCalls + index }
    // The session has changed or is gone, or the outcome is unknown: a later turn writes the remaining summaries.
    if (!(await storeSummary(turn, committed, task))) return
  }
}

/** The messages that a summary replaces. A limit may have removed some since the summary became due. */
function removableMessages(committed: SessionDocument, { namespace, policy }: DueSummary): readonly StoredMessage[] {
  const messages = messagesOf(committed, namespace)
  if (messages.length <= policy.above) return []
  return messages.slice(0, summarizableCount(messages, policy.keep))
}

/** @returns Whether another summary of the session can be stored. */
async function storeSummary(turn: TurnControl, committed: SessionDocument, task: SummaryTask): Promise<boolean> {
  const { clock, session, turns } = turn.engine
  const { namespace, policy, messages: oldest } = task
  const timeoutMs = policy.timeoutMs ?? defaultTimeoutMs
  const control = controlOfSummary(turn, committed.id, timeoutMs)
  const startedAt = monotonicTime(clock)
  control.work.startedAt = startedAt
  const stopDeadline = setDeadline(clock, timeoutMs, () => {
    control.work.abort(
      new FlowError({ code: 'TURN_TIMEOUT', message: `The summary took longer than ${timeoutMs} ms.` }),
    )
  })
  const before = { ...task.usage }
  const swap = (summary: Message | undefined): Promise<number | undefined> =>
    swapSummary(turn, control, { committed, namespace, oldest, summary, usage: { before, after: task.usage } })
  turns.add(control.work)
  try {
    if (session.closing) throw new EngineClosedError()
    const summary = await summarize(control, task)
    const kept = await swap(summary)
    if (kept === undefined) throw new SessionConflictError({ sessionId: committed.id })
    const durationMs = elapsedMs(clock, startedAt)
    control.report('memory:compacted', { namespace, removed: oldest.length, kept, durationMs })
    return true
  } catch (thrown) {
    control.work.finish()
    const error = asFlowError(thrown)
    control.report('memory:compaction-failed', { namespace, code: error.code })
    if (leavesSessionUnchanged(error)) return false
    // The failed calls still cost money. If their usage cannot be stored either, only that count is lost.
    if (task.usage.modelCalls > before.modelCalls) await swap(undefined).catch(() => undefined)
    return true
  } finally {
    stopDeadline()
    control.end()
  }
}

/**
 * The control of a summary: the turn's ID, the policy's time limit, and no limit on model calls.
 */
function controlOfSummary(
  { engine, input, flowName, turnId }: TurnControl,
  sessionId: string,
  timeoutMs: number,
): TurnControl {
  const limits = { ...engine.limits, turnTimeoutMs: timeoutMs, maxModelCallsPerTurn: Number.POSITIVE_INFINITY }
  return new TurnControl({ ...engine, limits }, input, flowName, sessionId, { turnId })
}
