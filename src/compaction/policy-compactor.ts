/**
 * The compactor of a flow finds the memories that are too long after a turn. Memories with a window are shortened when
 * the turn commits. Summaries are written after the reply, while later turns may run: see `store-summary.ts`.
 */
import type { Compaction, Compactor } from '../engine/turn/compactor.js'
import type { TurnControl } from '../engine/turn/control/turn-control.js'
import type { FlowSteps } from '../engine/turn/draft/flow-steps.js'
import type { TurnDraft } from '../engine/turn/draft/turn-draft.js'
import { FlowRegistrationError } from '../errors/engine-errors.js'
import type { CompactionPolicy, RollingSummary } from '../flow/compaction.js'
import { namespacesOf, summaryLength } from '../flow/conversation-memory.js'
import type { StoredMessage } from '../model/message.js'
import { checkPrices, type ModelBudgets } from '../model/model-budget.js'
import type { GrowingList } from '../session/lists/growing-list.js'
import type { SessionDocument } from '../session/session-document.js'
import { commitOverSummary } from './commit-over-summary.js'
import { removableCount, summarizableCount } from './message-cut.js'
import { type DueSummary, storeSummaries } from './store-summary.js'
import { selectionsOf } from './summarize.js'
import { messagesOf } from './swap-summary.js'

/** A memory that was shortened. */
interface ShortenedMemory {
  readonly namespace: string
  readonly removed: number
}

/** Applies the policies of one flow. */
export class PolicyCompactor implements Compactor {
  readonly #flowName: string
  readonly #policies: ReadonlyMap<string, CompactionPolicy>
  /** The memories that are being summarized now. A second summary of the same memory is not started. */
  readonly #underWay = new Set<string>()

  constructor(flowName: string, policies: ReadonlyMap<string, CompactionPolicy>) {
    this.#flowName = flowName
    this.#policies = policies
  }

  check(control: TurnControl, steps: FlowSteps, budgets: readonly ModelBudgets[]): void {
    const namespaces = namespacesOf(steps.all())
    for (const [namespace, policy] of this.#policies) {
      if (!namespaces.has(namespace)) {
        const known = [...namespaces].join(', ') || 'none'
        throw new FlowRegistrationError({
          message: `Flow '${this.#flowName}': compaction['${namespace}'] names a memory that no model step uses. Memories: ${known}.`,
        })
      }
      if (policy.kind === 'summary') checkModels(control, policy, namespace, budgets)
    }
  }

  readonly moveCommit: Compactor['moveCommit'] = commitOverSummary

  start(control: TurnControl, draft: TurnDraft): Compaction | undefined {
    const { shortened, due } = this.#applyPolicies(draft)
    if (shortened.length === 0 && due.length === 0) return undefined
    const committed = (document: SessionDocument): void => {
      for (const { namespace, removed } of shortened) {
        // A limit may have removed more messages since.
        const kept = document.flow.memory[namespace]?.messages.length ?? 0
        control.report('memory:compacted', { namespace, removed, kept, durationMs: 0 })
      }
      if (due.length === 0) return
      const calls = document.usage.modelCalls - draft.base.usage.modelCalls
      const task = (): Promise<void> => storeSummaries(control, document, due, calls, draft.budget)
      control.afterTurnTask = () => this.#whileUnderWay(document.id, due, task)
    }
    return { committed }
  }

  async #whileUnderWay(sessionId: string, due: readonly DueSummary[], task: () => Promise<void>): Promise<void> {
    const keys = due.map(({ namespace }) => keyOf(sessionId, namespace))
    for (const key of keys) this.#underWay.add(key)
    try {
      await task()
    } finally {
      for (const key of keys) this.#underWay.delete(key)
    }
  }

  /** Shortens the memories with a window, and finds the summaries that are due. */
  #applyPolicies(draft: TurnDraft): { readonly shortened: ShortenedMemory[]; readonly due: DueSummary[] } {
    const shortened: ShortenedMemory[] = []
    const due: DueSummary[] = []
    for (const [namespace, policy] of this.#policies) {
      const used = draft.memory.touched.get(namespace)
      if (used === undefined || used.messages.length <= policy.above) continue
      const { messages } = used
      if (policy.kind === 'window') {
        const count = removableCount(messages.list, policy.keep)
        shortened.push({ namespace, removed: removeOldest(draft, namespace, messages, count) })
      } else if (
        !this.#underWay.has(keyOf(draft.base.id, namespace)) &&
        isSummaryDue(policy, draft.base, namespace, messages.list)
      )
        due.push({ namespace, policy })
    }
    return { shortened: shortened.filter(({ removed }) => removed > 0), due }
  }
}

/** Names the memory of one session. No session ID has a comma. */
function keyOf(sessionId: string, namespace: string): string {
  return `${sessionId},${namespace}`
}

/** Removes the oldest messages but keeps a summary left by another policy. @returns How many were removed. */
function removeOldest(
  { removed }: TurnDraft,
  namespace: string,
  messages: GrowingList<StoredMessage>,
  count: number,
): number {
  const kept = summaryLength(messages.list)
  if (count <= kept) return 0
  const oldest = messages.removeOldest(count - kept, kept)
  removed.addMessages(namespace, oldest)
  return oldest.length
}

function checkModels(
  { engine }: TurnControl,
  policy: RollingSummary,
  namespace: string,
  budgets: readonly ModelBudgets[],
): void {
  for (const selection of selectionsOf(policy, namespace)) {
    // Prices are needed only for budgets, and only prices need the model itself.
    if (budgets.length === 0) engine.models.validate(selection)
    else checkPrices(budgets, engine.models.resolve(selection))
  }
}

/** Whether a turn should write a summary of a memory that is too long. */
function isSummaryDue(
  policy: RollingSummary,
  base: SessionDocument,
  namespace: string,
  messages: readonly StoredMessage[],
): boolean {
  if (summarizableCount(messages, policy.keep) === 0) return false
  return isTimeForSummary(policy, messagesOf(base, namespace).length, messages.length)
}

/**
 * Whether a turn that made a memory grow from `before` to `length` messages should write a summary: if the memory has
 * just become too long, or has grown by another quarter of the number of messages that a summary removes. A failing
 * model is therefore not called after every turn.
 */
function isTimeForSummary({ above, keep }: CompactionPolicy, before: number, length: number): boolean {
  const stride = Math.ceil((above - keep) / 4)
  const stridesAt = (count: number): number => Math.ceil((count - above) / stride)
  return before <= above || stridesAt(length) > stridesAt(before)
}
