/**
 * Which memories are cut down after a turn, and how that is stored: windows in the turn's own commit, summaries in one of
 * their own, under the same lock and after the reply. What a summary says is decided next door. Of a summary that fails,
 * what it cost is stored, and nothing else.
 */
import { setDeadline } from '../config/clock.js'
import type { Compaction, Compactor } from '../engine/compactor.js'
import { asFlowError } from '../engine/error-text.js'
import type { BudgetCheck } from '../engine/model-call/budget-check.js'
import type { FlowSteps } from '../engine/turn/collect-steps.js'
import { TurnControl } from '../engine/turn/turn-control.js'
import type { TurnDraft } from '../engine/turn/turn-draft.js'
import { EngineClosedError, FlowRegistrationError } from '../errors/engine-errors.js'
import { FlowError } from '../errors/flow-error.js'
import { leavesSessionAlone } from '../errors/session-errors.js'
import type { CompactionPolicy, RollingSummary } from '../flow/compaction.js'
import { namespaceOf } from '../flow/conversation-memory.js'
import { Step } from '../flow/step.js'
import type { Message } from '../model/message.js'
import { checkPrices, type ModelBudgets } from '../model/model-budget.js'
import { shareList } from '../session/lists/shared-lists.js'
import { nextRevision } from '../session/revision.js'
import type { SessionDocument } from '../session/session-document.js'
import { isoTime } from '../util/iso-time.js'
import { forget, sizeOfEntries } from './forget.js'
import { cutOf } from './message-cut.js'
import { selectionsOf, summarize } from './summarize.js'

/** A summary that is due. */
interface DueSummary {
  readonly namespace: string
  readonly policy: RollingSummary
  /** Messages from the start that it takes the place of. */
  readonly count: number
}

/** Follows the policies of one flow. */
export class PolicyKeeper implements Compactor {
  readonly #flowName: string
  readonly #policies: ReadonlyMap<string, CompactionPolicy>

  constructor(flowName: string, policies: ReadonlyMap<string, CompactionPolicy>) {
    this.#flowName = flowName
    this.#policies = policies
  }

  check({ engine }: TurnControl, steps: FlowSteps, budgets: readonly ModelBudgets[]): void {
    const namespaces = new Set<string>()
    for (const [stepId, step] of steps.all()) if (step instanceof Step) namespaces.add(namespaceOf(step, stepId))
    for (const [namespace, policy] of this.#policies) {
      if (!namespaces.has(namespace)) {
        throw new FlowRegistrationError({
          message: `Flow '${this.#flowName}': compaction['${namespace}'] is for no memory of its model steps. Memories: ${[...namespaces].join(', ') || 'none'}.`,
        })
      }
      if (policy.kind === 'window') continue
      for (const selection of selectionsOf(policy, namespace)) {
        // A model is made for its prices alone, and only where a budget asks for them.
        if (budgets.length === 0) engine.models.validate(selection)
        else checkPrices(budgets, engine.models.resolve(selection))
      }
    }
  }

  /** Cuts windows, and finds out which summaries are due. */
  start(control: TurnControl, draft: TurnDraft): Compaction | undefined {
    const { memory, base, budget } = draft
    const windows: { readonly namespace: string; readonly removed: number; readonly kept: number }[] = []
    const due: DueSummary[] = []
    for (const [namespace, policy] of this.#policies) {
      const length = memory.touched.get(namespace)?.messages.length ?? 0
      if (length <= policy.above) continue
      const messages = memory.messages(namespace)
      const count = cutOf(messages, policy.keep)
      if (policy.kind === 'window') {
        if (count === 0) continue
        forget(memory, namespace, count)
        windows.push({ namespace, removed: count, kept: length - count })
        continue
      }
      const before = Object.hasOwn(base.flow.memory, namespace)
        ? (base.flow.memory[namespace]?.messages.length ?? 0)
        : 0
      // A summary alone gets no shorter.
      const isWorthIt = count > (messages[0]?.summary === true ? 1 : 0)
      if (isWorthIt && isTime(policy, before, length)) due.push({ namespace, policy, count })
    }
    if (windows.length === 0 && due.length === 0) return undefined
    return {
      committed(document) {
        for (const cut of windows) control.report('memory:compacted', { ...cut, durationMs: 0 })
        if (due.length === 0) return
        const calls = document.usage.modelCalls - base.usage.modelCalls
        control.afterTurnTask = {
          sessionId: document.id,
          run: () => storeSummaries(control, document, due, calls, budget),
        }
      },
    }
  }
}

/**
 * Whether a memory has just grown too long, or has grown on by a quarter of the distance since it was last tried: a model
 * that is down must not hold up each turn.
 */
function isTime({ above, keep }: CompactionPolicy, before: number, length: number): boolean {
  const stride = Math.ceil((above - keep) / 4)
  const passed = (count: number): number => Math.ceil((count - above) / stride)
  return before <= above || passed(length) > passed(before)
}

/** Does not reject. */
async function storeSummaries(
  turn: TurnControl,
  committed: SessionDocument,
  due: readonly DueSummary[],
  calls: number,
  budget: BudgetCheck | undefined,
): Promise<void> {
  let document = committed
  let modelCalls = calls
  for (const summary of due) {
    const stored = await storeSummary(turn, document, summary, modelCalls++, budget)
    // Somebody else was there, or nobody knows: what comes next is for a later turn.
    if (stored === undefined) return
    document = stored
  }
}

/** @returns What is stored now; `undefined` where that is not known. */
async function storeSummary(
  { engine, flowName, turnId }: TurnControl,
  document: SessionDocument,
  { namespace, policy, count }: DueSummary,
  modelCalls: number,
  budget: BudgetCheck | undefined,
): Promise<SessionDocument | undefined> {
  const { clock, session, turns } = engine
  const timeoutMs = policy.timeoutMs ?? 30_000
  // It has a time of its own, and is no call of the turn.
  const limits = { ...engine.limits, turnTimeoutMs: timeoutMs, maxModelCallsPerTurn: Number.POSITIVE_INFINITY }
  const control = new TurnControl({ ...engine, limits }, flowName, document.id, undefined, turnId)
  const startedAt = clock.now()
  control.startedAt = startedAt
  const stopDeadline = setDeadline(clock, timeoutMs, () => {
    control.abort(new FlowError({ code: 'TURN_TIMEOUT', message: `The summary took longer than ${timeoutMs} ms.` }))
  })
  const usage = { ...document.usage }
  const write = async (changes?: Partial<SessionDocument>): Promise<SessionDocument> => {
    const revision = nextRevision(document.revision, engine.generateId('revision'))
    const next = { ...document, ...changes, usage, revision, savedAt: isoTime(clock.now()) }
    const hint = { appended: {}, ...(changes && { rewritten: [`memory:${namespace}`] }) }
    await session.access.write(next, document.revision, hint)
    control.report('session:saved', {})
    return next
  }
  turns.add(control)
  try {
    control.hold(document.id)
    if (session.closing) throw new EngineClosedError()
    const { messages } = document.flow.memory[namespace] as { readonly messages: readonly Message[] }
    const removed = messages.slice(0, count)
    const summary = await summarize(control, { policy, namespace, messages: removed, usage, budget, modelCalls })
    // From here on it is the store's, with deadlines of its own.
    control.finishWork()
    stopDeadline()
    const list = shareList([summary, ...messages.slice(count)])
    const memory = { ...document.flow.memory, [namespace]: { messages: list } }
    const bytes = Math.max(0, document.bytes - sizeOfEntries(removed)) + sizeOfEntries([summary])
    const stored = await write({ bytes, flow: { ...document.flow, memory } })
    const durationMs = clock.now() - startedAt
    control.report('memory:compacted', { namespace, removed: count, kept: list.length, durationMs })
    return stored
  } catch (thrown) {
    control.finishWork()
    stopDeadline()
    const error = asFlowError(thrown)
    control.report('memory:compaction-failed', { namespace, code: error.code })
    if (leavesSessionAlone(error)) return undefined
    if (usage.modelCalls === document.usage.modelCalls) return document
    // What was spent is spent. Where that cannot be stored either, only the count is lost.
    return await write().catch(() => undefined)
  } finally {
    stopDeadline()
    turns.delete(control)
    control.end()
  }
}
