import { describe, expect, test } from 'vitest'
import { InvalidInputError } from '../errors/engine-errors.js'
import { checkBudgets, costOf } from './model-budget.js'

describe('budgets are refused', () => {
  test.each<[string, unknown, string]>([
    ['null', null, 'Engine: budgets must be an object.'],
    ['a number', 5, 'Engine: budgets must be an object.'],
    ['a text', 'none', 'Engine: budgets must be an object.'],
    ['a list', [], 'Engine: budgets must be an object.'],
    [
      'an unknown scope',
      { day: {} },
      "Engine: there is no option 'budgets.day'. The options of budgets are turn, session.",
    ],
    ['null for a scope', { turn: null }, 'Engine: budgets.turn must be an object.'],
    ['a number for a scope', { session: 5 }, 'Engine: budgets.session must be an object.'],
    [
      'an unknown amount',
      { turn: { token: 5 } },
      "Engine: there is no option 'budgets.turn.token'. The options of budgets.turn are modelCalls, tokens, cost, wallTimeMs.",
    ],
    ['a property of every object', { turn: { toString: 5 } }, "Engine: there is no option 'budgets.turn.toString'."],
    [
      '0',
      { turn: { tokens: 0 } },
      'Engine: budgets.turn.tokens must be a number above 0, or Infinity for no bound; got 0.',
    ],
    [
      'a negative number',
      { session: { cost: -1 } },
      'Engine: budgets.session.cost must be a number above 0, or Infinity for no bound; got -1.',
    ],
    [
      'NaN',
      { turn: { wallTimeMs: Number.NaN } },
      'Engine: budgets.turn.wallTimeMs must be a number above 0, or Infinity for no bound; got NaN.',
    ],
    [
      'a text',
      { turn: { modelCalls: '5' } },
      "Engine: budgets.turn.modelCalls must be a number above 0, or Infinity for no bound; got the text '5'.",
    ],
    [
      'null for an amount',
      { turn: { modelCalls: null } },
      'Engine: budgets.turn.modelCalls must be a number above 0, or Infinity for no bound; got null.',
    ],
  ])('%s', (_name, budgets, message) => {
    expect(() => checkBudgets(budgets as never, 'Engine', 'budgets')).toThrow(InvalidInputError)
    expect(() => checkBudgets(budgets as never, 'Engine', 'budgets')).toThrow(message)
  })
})

test.each<[string, object | undefined]>([
  ['undefined', undefined],
  ['an empty object', {}],
  ['undefined members', { turn: undefined, session: { tokens: undefined } }],
  ['Infinity', { turn: { tokens: Number.POSITIVE_INFINITY } }],
  ['a fraction', { session: { cost: 0.01 } }],
])('budgets are taken: %s', (_name, budgets) => {
  expect(checkBudgets(budgets as never, 'Engine', 'budgets')).toBe(budgets)
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
