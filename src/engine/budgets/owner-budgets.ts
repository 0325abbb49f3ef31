/** Counts the spending of owners on models in this process: per owner, over all sessions, in one time window each. */
import { type Clock, monotonicTime } from '../../config/clock.js'
import { BudgetExceededError } from '../../errors/engine-errors.js'
import type { OwnerBudget } from '../../model/model-budget.js'

/** Amounts that an owner spends. */
interface Amounts {
  modelCalls: number
  tokens: number
  cost: number
}

interface Window extends Amounts {
  readonly endsAt: number
}

/** The budget of one owner, as the turns of its sessions use it. */
export interface OwnerSpending {
  /**
   * @param delayMs - The delay before the call.
   * @throws `BudgetExceededError` if the budget is used up
   */
  check(delayMs: number): void
  /** Counts the spending, whether or not the turn succeeds. */
  add(spent: Partial<Amounts>): void
  /** Reserves the estimated spending of a call until the returned function is called. */
  reserve(estimate: Estimate): () => void
}

/** What a call will probably spend. */
export type Estimate = Pick<Amounts, 'tokens' | 'cost'>

interface Reservation extends Amounts {
  readonly madeAt: number
}

const amounts = ['modelCalls', 'tokens', 'cost'] as const

/** The number of remembered owners. Beyond it, the least recently active are forgotten. */
const maxOwners = 10_000

/** The budgets of all owners of one engine. */
export class OwnerBudgets {
  readonly #budget: OwnerBudget
  readonly #windowMs: number
  readonly #clock: Clock
  readonly #longestTurnMs: number
  /** The calls under way of each owner, if there were any. */
  readonly #reservations = new Map<string, Set<Reservation>>()
  /** By owner; the most recent spender comes last. */
  readonly #windows = new Map<string, Window>()

  /** @param longestTurnMs - After this time a call that has not ended counts as lost. */
  constructor(budget: OwnerBudget, clock: Clock, longestTurnMs: number) {
    this.#longestTurnMs = longestTurnMs
    this.#budget = budget
    this.#windowMs = budget.windowMs ?? 3_600_000
    this.#clock = clock
  }

  of(owner: string): OwnerSpending {
    return {
      check: (delayMs) => this.#check(owner, delayMs),
      add: (spent) => this.#add(owner, spent),
      reserve: (estimate) => this.#reserve(owner, estimate),
    }
  }

  #check(owner: string, delayMs: number): void {
    const now = monotonicTime(this.#clock)
    const window = this.#windowAt(owner, now + delayMs)
    const underWay = [...(this.#reservations.get(owner) ?? [])].filter(
      ({ madeAt }) => now - madeAt < this.#longestTurnMs,
    )
    for (const amount of amounts) {
      const value = this.#budget[amount]
      if (value === undefined) continue
      const spent = underWay.reduce((sum, reserved) => sum + reserved[amount], window?.[amount] ?? 0)
      if (spent >= value) throw new BudgetExceededError({ scope: 'owner', amount, value, spent })
    }
  }

  #reserve(owner: string, estimate: Estimate): () => void {
    const reservations = this.#reservations.get(owner) ?? new Set()
    // The call itself is counted when it begins.
    const reservation = { modelCalls: 0, ...estimate, madeAt: monotonicTime(this.#clock) }
    this.#reservations.set(owner, reservations.add(reservation))
    return () => {
      reservations.delete(reservation)
      if (reservations.size === 0) this.#reservations.delete(owner)
    }
  }

  #add(owner: string, { modelCalls = 0, tokens = 0, cost = 0 }: Partial<Amounts>): void {
    const now = monotonicTime(this.#clock)
    const window = this.#windowAt(owner, now) ?? { endsAt: now + this.#windowMs, modelCalls: 0, tokens: 0, cost: 0 }
    window.modelCalls += modelCalls
    window.tokens += tokens
    window.cost += cost
    this.#windows.delete(owner)
    this.#windows.set(owner, window)
    if (this.#windows.size <= maxOwners) return
    const [first] = this.#windows.keys()
    this.#windows.delete(first as string)
  }

  /** `undefined` if the owner's window ends before `time`. */
  #windowAt(owner: string, time: number): Window | undefined {
    const window = this.#windows.get(owner)
    return window !== undefined && time < window.endsAt ? window : undefined
  }
}
