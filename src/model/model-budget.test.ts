import { describe, expect, test } from 'vitest'
import { InvalidInputError } from '../errors/engine-errors.js'
import { checkBudgets, costOf } from './model-budget.js'

describe('budgets are refused', () => {
  test.each<[string, unknown, string]>([
    ['null', null, 'budgets must be an object.'],
    ['a number', 5, 'budgets must be an object.'],
    ['a text', 'none', 'budgets must be an object.'],
    ['a list', [], 'budgets must be an object.'],
    ['an unknown scope', { day: {} }, "budgets has no 'day'. It has: turn, session."],
    ['null for a scope', { turn: null }, 'budgets.turn must be an object.'],
    ['a number for a scope', { session: 5 }, 'budgets.session must be an object.'],
    [
      'an unknown amount',
      { turn: { token: 5 } },
      "budgets.turn has no 'token'. It has: modelCalls, tokens, cost, wallTimeMs.",
    ],
    ['a property of every object', { turn: { toString: 5 } }, "budgets.turn has no 'toString'."],
    ['0', { turn: { tokens: 0 } }, 'budgets.turn.tokens must be a number above 0, or Infinity for no bound; got 0.'],
    [
      'a negative number',
      { session: { cost: -1 } },
      'budgets.session.cost must be a number above 0, or Infinity for no bound; got -1.',
    ],
    [
      'NaN',
      { turn: { wallTimeMs: Number.NaN } },
      'budgets.turn.wallTimeMs must be a number above 0, or Infinity for no bound; got NaN.',
    ],
    [
      'a text',
      { turn: { modelCalls: '5' } },
      'budgets.turn.modelCalls must be a number above 0, or Infinity for no bound; got 5.',
    ],
    [
      'null for an amount',
      { turn: { modelCalls: null } },
      'budgets.turn.modelCalls must be a number above 0, or Infinity for no bound; got null.',
    ],
  ])('%s', (_name, budgets, message) => {
    expect(() => checkBudgets(budgets as never, 'budgets')).toThrow(InvalidInputError)
    expect(() => checkBudgets(budgets as never, 'budgets')).toThrow(message)
  })
})

test.each<[string, object | undefined]>([
  ['undefined', undefined],
  ['an empty object', {}],
  ['undefined members', { turn: undefined, session: { tokens: undefined } }],
  ['Infinity', { turn: { tokens: Number.POSITIVE_INFINITY } }],
  ['a fraction', { session: { cost: 0.01 } }],
])('budgets are taken: %s', (_name, budgets) => {
  expect(checkBudgets(budgets as never, 'budgets')).toBe(budgets)
})

describe('the cost of a call', () => {
  const prices = { input: 2, output: 10, cachedInput: 0.5 }

  test('uses prices per million tokens', () => {
    expect(costOf({ inputTokens: 1_000_000, outputTokens: 500_000 }, prices)).toBe(7)
  })

  test('uses the price of cached input for input from the cache', () => {
    const usage = { inputTokens: 1_000_000, cachedInputTokens: 400_000, outputTokens: 0 }
    expect(costOf(usage, prices)).toBe(1.4)
    expect(costOf(usage, { input: 2, output: 10 })).toBe(2)
  })

  test('is never negative, whatever a provider reports about its cache', () => {
    expect(costOf({ inputTokens: 1_000_000, cachedInputTokens: 9_000_000, outputTokens: 0 }, prices)).toBe(0.5)
  })
})
