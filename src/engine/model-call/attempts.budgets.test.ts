// What a turn and a session may spend: the error comes before the call that is one too many, never after.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import {
  type Act,
  type Acts,
  Chat,
  calls,
  chatOf,
  fails,
  hello,
  type ModelHarness,
  modelHarness,
  says,
  silent,
  status,
  Talk,
  toolThat,
} from '../../../testing/contract/model-harness.js'
import type { BudgetExceededError, FlowEngineOptions, Model, ModelBudgets } from '../../index.js'

afterEach(expectNothingLeft)

class Working extends Talk {
  override tools() {
    return [toolThat('look', () => 'Seen.')]
  }
}

const Work = chatOf(Working)

const prices = { input: 1_000_000, output: 2_000_000 }
const priced: Model = { provider: 'own', name: 'small', prices }

/** Calls the tool, for this many tokens. */
function looks(inputTokens: number, outputTokens = 0): Act {
  return (request) => Object.assign({ usage: { inputTokens, outputTokens } }, calls('look')(request))
}

function budgeted(budgets: ModelBudgets, acts: readonly Act[], options: FlowEngineOptions = {}): ModelHarness {
  return modelHarness({ 'own/small': acts } as Acts, { flows: [Work], models: [priced], budgets, ...options })
}

/** How a turn ended, in short, and how many calls were made in all. */
async function ends({ engine, clock, asked }: ModelHarness, sessionId?: string): Promise<unknown[]> {
  const input = sessionId === undefined ? hello : { ...hello, sessionId }
  const { error, response } = await clock.runUntil(engine.execute(input))
  if (error === undefined) return [response.message, asked.length]
  const { code, scope, amount, value, spent } = error as BudgetExceededError
  return [code, scope, amount, value, spent, asked.length]
}

describe('what a failed attempt cost', () => {
  const failed = (usage: unknown): Act => fails(Object.assign(new Error('cut'), { isRetryable: true, usage }))

  test('counts where the error has a usage: in the session, in its cost and in the event', async () => {
    const made = budgeted({}, [failed({ inputTokens: 7, outputTokens: 2, cachedInputTokens: 1 }), looks(1, 1), 'Hi.'])
    const { session } = await made.clock.runUntil(made.engine.run(hello))
    expect((await made.document(session)).usage).toEqual({
      inputTokens: 8,
      outputTokens: 3,
      cachedInputTokens: 1,
      modelCalls: 3,
      cost: 8 + 3 * 2,
    })
    const ends = made.events.filter(([name]) => name === 'model:end')
    expect(ends.map(([, { success, inputTokens }]) => [success, inputTokens])).toEqual([
      [false, 7],
      [true, 1],
      [true, 0],
    ])
  })

  test('is bounded by a budget before the next attempt', async () => {
    const made = budgeted({ turn: { tokens: 10 } }, [failed({ inputTokens: 10, outputTokens: 0 })])
    expect(await ends(made)).toEqual(['BUDGET_EXCEEDED', 'turn', 'tokens', 10, 10, 1])
  })

  test.each([null, 'much', { inputTokens: Number.NaN, outputTokens: -1 }])(
    'is nothing where its usage is %j',
    async (usage) => {
      const made = budgeted({}, [failed(usage), 'Hi.'])
      const { session } = await made.clock.runUntil(made.engine.run(hello))
      expect((await made.document(session)).usage).toEqual({ inputTokens: 0, outputTokens: 0, modelCalls: 2, cost: 0 })
    },
  )

  test('is nothing where the error cannot be read, or is none', async () => {
    const unreadable = fails({
      get usage(): never {
        throw new Error('No.')
      },
    })
    for (const act of [unreadable, fails(undefined), fails('No.')]) {
      const made = budgeted({}, [act])
      expect((await made.engine.execute(hello)).error?.code).toBe('MODEL_ERROR')
    }
  })
})

describe('a budget of a turn', () => {
  test.each<[string, ModelBudgets, readonly Act[], unknown[]]>([
    ['modelCalls', { turn: { modelCalls: 1 } }, [looks(1)], ['modelCalls', 1, 1, 1]],
    ['tokens, in and out', { turn: { tokens: 10 } }, [looks(4, 1), looks(4, 1)], ['tokens', 10, 10, 2]],
    ['tokens, passed by far', { turn: { tokens: 10 } }, [looks(500)], ['tokens', 10, 500, 1]],
    ['cost', { turn: { cost: 5 } }, [looks(1, 1), looks(0, 1)], ['cost', 5, 5, 2]],
  ])('%s stops the turn before the next call', async (_name, budgets, acts, expected) => {
    expect(await ends(budgeted(budgets, acts))).toEqual(['BUDGET_EXCEEDED', 'turn', ...expected])
  })

  test('says what it is, how much was spent, and how to raise it', async () => {
    const { engine } = budgeted({ turn: { tokens: 10 } }, [looks(11)])
    expect((await engine.run(hello)).message).toBe("The turn's budget tokens (10) is used up: 11 spent.")
  })

  test('does not stop the call that uses it up', async () => {
    const used = says('Hi.', { inputTokens: 500, outputTokens: 500 })
    expect(await ends(budgeted({ turn: { tokens: 10, cost: 0.01, modelCalls: 1 } }, [used]))).toEqual(['Hi.', 1])
  })

  test('holds for each turn anew', async () => {
    const made = budgeted({ turn: { modelCalls: 1 } }, ['One.', 'Two.', 'Three.'])
    const { session } = await made.engine.run(hello)
    expect([await ends(made, session), await ends(made, session)]).toEqual([
      ['Two.', 2],
      ['Three.', 3],
    ])
  })

  test('of wall time counts what the turn itself did, from its beginning', async () => {
    const made = budgeted({ turn: { wallTimeMs: 1_000 } }, ['Hi.'], {
      flows: [
        class extends Work {
          override init() {
            made.clock.jump(1_000)
          }
        },
      ],
    })
    expect(await ends(made)).toEqual(['BUDGET_EXCEEDED', 'turn', 'wallTimeMs', 1_000, 1_000, 0])
  })

  test('counts attempts, and is not waited for', async () => {
    const made = budgeted({ turn: { modelCalls: 1 } }, [status(500)], { random: () => 0.5 })
    expect(await ends(made)).toEqual(['BUDGET_EXCEEDED', 'turn', 'modelCalls', 1, 1, 1])
    expect(made.clock.now()).toBe(Date.UTC(2026, 0, 1))
    const names = made.events.map(([name]) => name)
    expect(names).not.toContain('model:retry')
  })

  test('of wall time is used up by a delay that would be: it is not waited for', async () => {
    const made = budgeted({ turn: { wallTimeMs: 10_000 } }, [status(429, { 'retry-after': '30' })])
    expect(await ends(made)).toEqual(['BUDGET_EXCEEDED', 'turn', 'wallTimeMs', 10_000, 30_000, 1])
    expect(made.clock.now()).toBe(Date.UTC(2026, 0, 1))
  })

  test('holds for models that stand in, too: none is reported that is not called', async () => {
    class Two extends Work {
      override model() {
        return [
          { provider: 'own', name: 'small' },
          { provider: 'own', name: 'large' },
        ]
      }
    }
    const made = budgeted({ turn: { modelCalls: 1 } }, [status(400)], { flows: [Two] })
    expect(await ends(made)).toEqual(['BUDGET_EXCEEDED', 'turn', 'modelCalls', 1, 1, 1])
    expect(made.events.map(([name]) => name)).not.toContain('model:fallback')
  })
})

describe('a budget of a session', () => {
  test.each<[string, ModelBudgets, Act, unknown[]]>([
    ['modelCalls', { session: { modelCalls: 2 } }, 'Hi.', ['modelCalls', 2, 2, 2]],
    ['tokens', { session: { tokens: 6 } }, says('Hi.', { inputTokens: 2, outputTokens: 1 }), ['tokens', 6, 6, 2]],
    ['cost', { session: { cost: 8 } }, says('Hi.', { inputTokens: 2, outputTokens: 1 }), ['cost', 8, 8, 2]],
  ])('%s is the sum over its turns', async (_name, budgets, act, expected) => {
    const made = budgeted(budgets, [act, act])
    const { session } = await made.engine.run(hello)
    expect(await ends(made, session)).toEqual(['Hi.', 2])
    expect(await ends(made, session)).toEqual(['BUDGET_EXCEEDED', 'session', ...expected])
  })

  test('of wall time is the sum of what its turns took, and not the time between them', async () => {
    const slow: Act = () => {
      made.clock.jump(400)
      return { parts: [{ type: 'text', text: 'Hi.' }] }
    }
    const made: ModelHarness = budgeted({ session: { wallTimeMs: 800 } }, [slow, slow])
    const { session } = await made.engine.run(hello)
    made.clock.jump(1_000_000)
    expect(await ends(made, session)).toEqual(['Hi.', 2])
    expect((await made.document(session)).usage.wallTimeMs).toBe(800)
    expect(await ends(made, session)).toEqual(['BUDGET_EXCEEDED', 'session', 'wallTimeMs', 800, 800, 2])
  })

  test('counts a turn that failed: the aborted session keeps what it spent', async () => {
    class Failing extends Talk {
      override onReply(): string {
        made.clock.jump(50)
        throw new Error('No.')
      }
    }
    const made: ModelHarness = budgeted(
      { session: { wallTimeMs: 1_000 } },
      [status(500), says('Hi.', { inputTokens: 2, outputTokens: 1 })],
      { flows: [chatOf(Failing)] },
    )
    const { response } = await made.clock.runUntil(made.engine.execute(hello))
    const { usage, runStatus } = await made.document(response.session)
    expect(runStatus).toBe('aborted')
    expect(usage).toEqual({ inputTokens: 2, outputTokens: 1, modelCalls: 2, cost: 4, wallTimeMs: 50 })
  })

  test('of wall time keeps the time of a turn that its deadline ended', async () => {
    const made = budgeted({ session: { wallTimeMs: 60_000 } }, [silent], { limits: { turnTimeoutMs: 3_000 } })
    const { response, error } = await made.clock.runUntil(made.engine.execute(hello))
    expect(error?.code).toBe('TURN_TIMEOUT')
    expect((await made.document(response.session)).usage).toMatchObject({ modelCalls: 1, wallTimeMs: 3_000 })
  })

  test('is of each session by itself, in turns that run at once too', async () => {
    const made = budgeted({ session: { modelCalls: 1 } }, ['One.', 'Two.', 'Three.'])
    const replies = await Promise.all([1, 2, 3].map(() => made.engine.run(hello)))
    expect(replies.map(({ message }) => message)).toEqual(['One.', 'Two.', 'Three.'])
  })
})

describe('budgets of the engine and of the flow', () => {
  class Careful extends Work {
    override budgets(): ModelBudgets {
      return { turn: { modelCalls: 1 } }
    }
  }

  test.each<[string, ModelBudgets, unknown[]]>([
    ["the engine's is the smaller one", { turn: { tokens: 5 } }, ['BUDGET_EXCEEDED', 'turn', 'tokens', 5, 9, 1]],
    ["the flow's is the smaller one", { turn: { modelCalls: 9 } }, ['BUDGET_EXCEEDED', 'turn', 'modelCalls', 1, 1, 1]],
  ])('each hold by themselves: %s', async (_name, budgets, expected) => {
    expect(await ends(budgeted(budgets, [looks(9), 'Hi.'], { flows: [Careful] }))).toEqual(expected)
  })

  test('of a flow that are malformed are refused before its session is touched', async () => {
    class Wrong extends Work {
      override budgets(): ModelBudgets {
        return { turn: { tokens: 0 } }
      }
    }
    const { engine, store } = budgeted({}, [], { flows: [Wrong] })
    const { error } = await engine.execute(hello)
    expect([error?.code, error?.message]).toEqual([
      'INVALID_INPUT',
      "Flow 'Chat': budgets().turn.tokens must be a number above 0, or Infinity for no bound; got 0.",
    ])
    expect(store.journal).toEqual([])
  })

  test('of an engine that are malformed are refused when it is made', () => {
    expect(() => budgeted({ session: { cost: -1 } }, [])).toThrow(
      'FlowEngine: budgets.session.cost must be a number above 0, or Infinity for no bound; got -1.',
    )
    expect(() => budgeted(null as never, [])).toThrow('FlowEngine: budgets must be an object.')
  })
})

describe('a budget of cost', () => {
  test.each<[string, ModelBudgets]>([
    ['of a turn', { turn: { cost: 1 } }],
    ['of a session', { session: { cost: 1 } }],
  ])('%s needs prices of every model, at session start', async (_name, budgets) => {
    class Two extends Chat {
      override model() {
        return [
          { provider: 'own', name: 'small' },
          { provider: 'own', name: 'large' },
        ]
      }
    }
    const { engine, asked } = budgeted(budgets, ['Hi.'], { flows: [Two] })
    const { error } = await engine.execute(hello)
    expect([error?.code, error?.message]).toEqual([
      'INVALID_INPUT',
      "Model 'large' of provider 'own' has no prices in the catalog, which a budget with cost needs.",
    ])
    expect(asked).toEqual([])
  })

  test('is content with prices of 0', async () => {
    const free: Model = { provider: 'own', name: 'small', prices: { input: 0, output: 0 } }
    const used = says('Hi.', { inputTokens: 9, outputTokens: 9 })
    expect(await ends(budgeted({ turn: { cost: 1 } }, [used], { models: [free] }))).toEqual(['Hi.', 1])
  })
})

test('cost is kept where the model has prices, wall time where a budget of the session asks; a refusal costs too', async () => {
  const used = { inputTokens: 1, outputTokens: 1 }
  const refusal: Act = () => ({ parts: [], finishReason: 'content-filter', usage: used })
  const plain = budgeted({ turn: { tokens: 100 } }, [says('Hi.', used)], { models: [] })
  const { session } = await plain.engine.run(hello)
  expect((await plain.document(session)).usage).toEqual({ inputTokens: 1, outputTokens: 1, modelCalls: 1 })
  const costly = budgeted({}, [refusal])
  const failed = await costly.engine.run(hello)
  expect((await costly.document(failed.session)).usage).toEqual({
    inputTokens: 1,
    outputTokens: 1,
    modelCalls: 1,
    cost: 3,
  })
})
