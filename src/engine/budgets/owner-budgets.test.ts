// What an owner may spend in a window of time, over all its sessions.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, gate } from '../../../testing/contract/engine-harness.js'
import {
  type Act,
  Chat,
  chatOf,
  fails,
  hello,
  type ModelHarness,
  modelHarness,
  says,
  status,
  Talk,
} from '../../../testing/contract/model-harness.js'
import { VirtualClock } from '../../../testing/index.js'
import type { BudgetExceededError, FlowEngineOptions, FlowRunInput, Model } from '../../index.js'
import { OwnerBudgets } from './owner-budgets.js'

afterEach(expectNothingLeft)

const priced: Model = { provider: 'own', name: 'small', prices: { input: 1_000_000, output: 2_000_000 } }

type OwnerBudget = NonNullable<NonNullable<FlowEngineOptions['budgets']>['owner']>

function budgeted(owner: OwnerBudget, acts: readonly Act[], options: FlowEngineOptions = {}): ModelHarness {
  const given = { flows: [Chat], models: [priced], budgets: { owner }, ...options }
  return modelHarness({ 'own/small': acts }, given)
}

/** How a turn ended, in short. */
async function ends({ engine, clock }: ModelHarness, input: Partial<FlowRunInput>): Promise<unknown[] | string> {
  const { error, response } = await clock.runUntil(engine.execute({ ...hello, ...input }))
  if (error === undefined) return response.message
  const { code, scope, amount, value, spent } = error as BudgetExceededError
  return [code, scope, amount, value, spent]
}

const ada = { owner: 'ada' }
const costly = says('Hi.', { inputTokens: 2, outputTokens: 1 })

describe('a budget of an owner', () => {
  test.each<[string, OwnerBudget, unknown[]]>([
    ['modelCalls', { modelCalls: 2 }, ['modelCalls', 2, 2]],
    ['tokens', { tokens: 6 }, ['tokens', 6, 6]],
    ['cost', { cost: 8 }, ['cost', 8, 8]],
  ])('of %s is over all its sessions', async (_name, budget, expected) => {
    const made = budgeted(budget, [costly, costly, costly])
    expect(await ends(made, ada)).toBe('Hi.')
    expect(await ends(made, ada)).toBe('Hi.')
    expect(await ends(made, ada)).toEqual(['BUDGET_EXCEEDED', 'owner', ...expected])
    expect(await ends(made, { owner: 'bob' })).toBe('Hi.')
    expect(made.asked).toHaveLength(3)
  })

  test('says what it is, and how to raise it', async () => {
    const made = budgeted({ tokens: 3 }, [costly])
    await ends(made, ada)
    const { response, error } = await made.engine.execute({ ...hello, ...ada })
    expect(response.message).toBe("The owner's budget tokens (3) is used up: 3 spent.")
    expect(error?.details).toBe('Raise it in budgets: { owner: { tokens: ... } }.')
  })

  test('begins anew when its window is over, which the first call began', async () => {
    const made = budgeted({ windowMs: 1_000, modelCalls: 2 }, ['One.', 'Two.', 'Three.'])
    made.clock.jump(5_000)
    expect(await ends(made, ada)).toBe('One.')
    made.clock.jump(900)
    expect(await ends(made, ada)).toBe('Two.')
    made.clock.jump(99)
    expect(await ends(made, ada)).toEqual(['BUDGET_EXCEEDED', 'owner', 'modelCalls', 2, 2])
    made.clock.jump(1)
    expect(await ends(made, ada)).toBe('Three.')
  })

  test('has a window of an hour unless said otherwise', async () => {
    const made = budgeted({ modelCalls: 1 }, ['One.', 'Two.'])
    await ends(made, ada)
    made.clock.jump(3_599_999)
    expect(await ends(made, ada)).toContain('BUDGET_EXCEEDED')
    made.clock.jump(1)
    expect(await ends(made, ada)).toBe('Two.')
  })

  test('does not count sessions without an owner', async () => {
    const made = budgeted({ modelCalls: 1 }, ['One.', 'Two.', 'Three.'])
    expect([await ends(made, {}), await ends(made, {}), await ends(made, {})]).toEqual(['One.', 'Two.', 'Three.'])
  })

  test('counts calls that are under way in other sessions', async () => {
    const { opened, open } = gate()
    const waits: Act = () => opened.then(() => ({ parts: [{ type: 'text', text: 'Hi.' }] }))
    const made = budgeted({ modelCalls: 2 }, [waits, waits])
    const two = [made.engine.run({ ...hello, ...ada }), made.engine.run({ ...hello, ...ada })]
    await made.clock.settle()
    expect(await ends(made, ada)).toEqual(['BUDGET_EXCEEDED', 'owner', 'modelCalls', 2, 2])
    open()
    await Promise.all(two)
  })

  test('counts turns that failed, and their attempts', async () => {
    class Failing extends Talk {
      override onReply(): string {
        throw new Error('No.')
      }
    }
    const cut = fails(
      Object.assign(new Error('cut'), { isRetryable: true, usage: { inputTokens: 4, outputTokens: 0 } }),
    )
    const made = budgeted({ tokens: 7 }, [cut, costly], { flows: [chatOf(Failing)] })
    expect(await ends(made, ada)).toContain('FLOW_ERROR')
    expect(await ends(made, ada)).toEqual(['BUDGET_EXCEEDED', 'owner', 'tokens', 7, 7])
  })

  test('counts turns that were cancelled, also what their model answers later', async () => {
    const { opened, open } = gate()
    const late: Act = () => opened.then(() => ({ parts: [], usage: { inputTokens: 5, outputTokens: 5 } }))
    const made = budgeted({ tokens: 10, modelCalls: 5 }, [late])
    const controller = new AbortController()
    const turn = made.engine.execute({ ...hello, ...ada, signal: controller.signal })
    await made.clock.settle()
    controller.abort()
    expect((await turn).error?.code).toBe('TURN_ABORTED')
    open()
    await made.clock.settle()
    expect(await ends(made, ada)).toEqual(['BUDGET_EXCEEDED', 'owner', 'tokens', 10, 10])
  })

  test('does not wait for an attempt that the budget would refuse, but for one of the next window', async () => {
    const busy = status(429, { 'retry-after': '30' })
    const same = budgeted({ modelCalls: 1, windowMs: 31_000 }, [busy])
    expect(await ends(same, ada)).toEqual(['BUDGET_EXCEEDED', 'owner', 'modelCalls', 1, 1])
    expect(same.clock.now()).toBe(Date.UTC(2026, 0, 1))
    expect(await ends(budgeted({ modelCalls: 1, windowMs: 30_000 }, [busy, 'Hi.']), ada)).toBe('Hi.')
  })

  test('of cost needs prices', async () => {
    const made = budgeted({ cost: 1 }, [], { models: [] })
    expect((await made.engine.run({ ...hello, ...ada })).message).toBe(
      "Model 'small' of provider 'own' has no prices in the catalog, which a budget with cost needs.",
    )
  })

  test('is of the engine: that of a flow has none', async () => {
    class Own extends Chat {
      override budgets() {
        return { owner: { modelCalls: 1 } } as object
      }
    }
    const made = modelHarness({ 'own/small': [] }, { flows: [Own] })
    expect((await made.engine.run(hello)).message).toBe(
      "Flow 'Chat': there is no option 'budgets().owner'. The options of budgets() are turn, session.",
    )
  })

  test.each<[unknown, string]>([
    [null, 'FlowEngine: budgets.owner must be an object.'],
    [
      { wallTimeMs: 1 },
      "FlowEngine: there is no option 'budgets.owner.wallTimeMs'. The options of budgets.owner are windowMs, modelCalls, tokens, cost.",
    ],
    [{}, 'FlowEngine: budgets.owner must name modelCalls, tokens or cost; without them it bounds nothing.'],
    [
      { windowMs: 1 },
      'FlowEngine: budgets.owner must name modelCalls, tokens or cost; without them it bounds nothing.',
    ],
    [{ windowMs: 0 }, 'FlowEngine: budgets.owner.windowMs must be a number above 0, or Infinity for no bound; got 0.'],
  ])('%j is refused', (owner, message) => {
    expect(() => modelHarness({}, { budgets: { owner: owner as never } })).toThrow(message)
  })
})

describe('a call under way', () => {
  /** A model that answers when its gate opens, for 10 tokens. */
  function waiting(): { readonly act: Act; readonly open: () => void } {
    const { opened, open } = gate()
    const usage = { inputTokens: 5, outputTokens: 5 }
    return { act: () => opened.then(() => ({ parts: [{ type: 'text', text: 'Hi.' }], usage })), open }
  }

  test('reserves its estimated tokens, and a call that would begin beyond the budget is refused', async () => {
    const { act, open } = waiting()
    const made = budgeted({ tokens: 1_005 }, [act, costly])
    const first = made.engine.run({ ...hello, ...ada })
    await made.clock.settle()
    const [code, , amount, value, spent] = await ends(made, ada)
    expect([code, amount, value]).toEqual(['BUDGET_EXCEEDED', 'tokens', 1_005])
    // 1 000 for the answer, and a token for four bytes of the request.
    expect(spent).toBeGreaterThanOrEqual(1_005)
    expect(spent).toBeLessThan(1_050)
    open()
    expect((await first).success).toBe(true)
    expect(await ends(made, ada)).toBe('Hi.')
  })

  test('is refused at once however many begin together: at most the last one may cost more than is left', async () => {
    const { act, open } = waiting()
    const made = budgeted({ tokens: 5_000 }, Array<Act>(200).fill(act))
    const turns = Array.from({ length: 200 }, () => made.engine.execute({ ...hello, ...ada }))
    await made.clock.settle()
    open()
    const outcomes = await Promise.all(turns)
    expect(outcomes.filter(({ error }) => error === undefined)).toHaveLength(5)
  })

  test('reserves nothing of other owners, and does not bound its own turn', async () => {
    const { act, open } = waiting()
    const made = budgeted({ tokens: 3 }, [act, costly])
    const first = made.engine.run({ ...hello, ...ada })
    await made.clock.settle()
    expect(await ends(made, { owner: 'bob' })).toBe('Hi.')
    open()
    expect((await first).success).toBe(true)
  })

  test('reserves maxOutputTokens, if its model has that parameter', async () => {
    class Short extends Chat {
      override model() {
        return { provider: 'own', name: 'small', params: { maxOutputTokens: 20 } }
      }
    }
    const { act, open } = waiting()
    const made = budgeted({ tokens: 500 }, [act, costly], { flows: [Short] })
    const first = made.engine.run({ ...hello, ...ada })
    await made.clock.settle()
    expect(await ends(made, ada)).toBe('Hi.')
    open()
    await first
  })

  test('counts the bytes of a file, and not those of an image', async () => {
    const data = 'A'.repeat(4_000)
    const refusedBeside = async (part: object): Promise<boolean> => {
      const { act, open } = waiting()
      const made = budgeted({ tokens: 1_500 }, [act, costly])
      const first = made.engine.run({ ...hello, ...ada, attachments: [{ ...part, data } as never] })
      await made.clock.settle()
      const second = await ends(made, ada)
      open()
      await first
      return second !== 'Hi.'
    }
    expect(await refusedBeside({ type: 'file', mediaType: 'application/pdf' })).toBe(true)
    expect(await refusedBeside({ type: 'image', mediaType: 'image/png' })).toBe(false)
  })

  test('reserves its cost at the prices of its model', async () => {
    const { act, open } = waiting()
    const made = budgeted({ cost: 2_000 }, [act])
    const first = made.engine.run({ ...hello, ...ada })
    await made.clock.settle()
    expect((await ends(made, ada)).slice(0, 3)).toEqual(['BUDGET_EXCEEDED', 'owner', 'cost'])
    open()
    await first
  })

  test('counts in a window that began after it', async () => {
    const { act, open } = waiting()
    const made = budgeted({ tokens: 1_000, windowMs: 1_000 }, [act])
    const first = made.engine.run({ ...hello, ...ada })
    await made.clock.settle()
    made.clock.jump(1_000)
    expect(await ends(made, ada)).toContain('BUDGET_EXCEEDED')
    open()
    await first
  })

  test('that never ends is forgotten after the longest time that a turn may take', () => {
    const clock = new VirtualClock()
    const budget = new OwnerBudgets({ tokens: 10 }, clock, 1_000).of('ada')
    budget.reserve({ tokens: 10, cost: 0 })
    clock.jump(999)
    expect(() => budget.check(0)).toThrow(expect.objectContaining({ spent: 10 }))
    clock.jump(1)
    expect(() => budget.check(0)).not.toThrow()
  })
})

test('the owners that are remembered are bounded: those whose last call was longest ago are forgotten', () => {
  const budgets = new OwnerBudgets({ modelCalls: 1 }, new VirtualClock(), 1_000)
  const isRefused = (owner: string): boolean => {
    try {
      budgets.of(owner).check(0)
      return false
    } catch {
      return true
    }
  }
  for (let owner = 0; owner < 10_000; owner++) budgets.of(String(owner)).add({ modelCalls: 1 })
  budgets.of('0').add({ tokens: 1 })
  expect([isRefused('0'), isRefused('1')]).toEqual([true, true])
  budgets.of('one more').add({ modelCalls: 1 })
  expect([isRefused('0'), isRefused('1'), isRefused('2'), isRefused('one more')]).toEqual([true, false, true, true])
})
