import { describe, expect, test } from 'vitest'
import { flowOf, place } from '../../testing/contract/test-flows.js'
import { FlowEngine, type FlowError } from '../index.js'
import { rollingSummary, slidingWindow } from './index.js'
import { checkPolicies } from './policies.js'

const bounds = { above: 6, keep: 2 }
const model = { provider: 'p', name: 'm' }
const bounded = "compaction['Ask']"
const whole = 'compaction must be { namespace: slidingWindow({ ... }) or rollingSummary({ ... }) }'

/** The error message of registering a flow with this compaction. */
function refusal(compaction: unknown): unknown {
  const flow = flowOf(place('Ask'))
  Object.defineProperty(flow, 'compaction', { value: compaction })
  try {
    new FlowEngine({ flows: [flow] })
  } catch (error) {
    const { code, message } = error as FlowError
    expect(code).toBe(message === `Flow 'Test': ${whole}.` ? 'FLOW_REGISTRATION' : 'INVALID_INPUT')
    return message
  }
  return 'nothing was refused'
}

test('the functions create policies', () => {
  expect(slidingWindow({ above: 60, keep: 40 })).toMatchObject({ kind: 'window', above: 60, keep: 40 })
  expect(rollingSummary({ ...bounds, model, prompt: 'Sum up.', timeoutMs: 5, maxSummaryCharacters: 9 })).toMatchObject({
    kind: 'summary',
    above: 6,
    keep: 2,
    model,
    prompt: 'Sum up.',
    timeoutMs: 5,
    maxSummaryCharacters: 9,
  })
})

test('a flow has no policies by default', () => {
  expect(flowOf(place('Ask')).compaction).toEqual({})
  class Assigned extends flowOf(place('Ask')) {}
  Assigned.compaction = { Ask: slidingWindow(bounds) }
  expect(Assigned.compaction).toMatchObject({ Ask: { kind: 'window', above: 6, keep: 2 } })
  expect(flowOf(place('Ask')).compaction).toEqual({})
})

test('policies are copied when they are checked, and frozen', () => {
  const given = { Ask: { ...slidingWindow(bounds) } }
  const policies = checkPolicies(given, () => new Error() as never)
  given.Ask = slidingWindow({ above: 1, keep: 0 })
  expect([...policies]).toMatchObject([['Ask', { kind: 'window', above: 6, keep: 2 }]])
  expect(Object.isFrozen(policies.get('Ask'))).toBe(true)
})

describe('a registration refuses', () => {
  test.each<[string, unknown, string]>([
    ['a list', [], whole],
    ['null', null, whole],
    [
      'a namespace without a name',
      { '': slidingWindow(bounds) },
      "compaction[''] must be the name of a memory namespace",
    ],
    [
      'a namespace __proto__',
      { ['__proto__']: slidingWindow(bounds) },
      "compaction['__proto__'] must be the name of a memory namespace",
    ],
    ['a number', { Ask: 40 }, whole],
    ['an object that was written by hand', { Ask: { ...bounds, kind: 'window' } }, whole],
    [
      'an object that was written by hand beside a policy',
      { Other: slidingWindow(bounds), Ask: { ...bounds, kind: 'window' } },
      `${bounded} must be slidingWindow({ ... }) or rollingSummary({ ... })`,
    ],
    ['bare options', { Ask: bounds }, whole],
    [
      'another kind',
      { Ask: { ...slidingWindow(bounds), kind: 'constructor' } },
      `${bounded} must be slidingWindow({ ... }) or rollingSummary({ ... })`,
    ],
    ['no keep', { Ask: slidingWindow({ above: 6 } as never) }, `${bounded}.keep must be a whole number above 0`],
    ['no above', { Ask: slidingWindow({ keep: 6 } as never) }, `${bounded}.above must be a whole number above keep`],
    ['no options', { Ask: slidingWindow(undefined as never) }, `${bounded}.keep must be a whole number above 0`],
    [
      'half a message',
      { Ask: slidingWindow({ above: 6, keep: 1.5 }) },
      `${bounded}.keep must be a whole number above 0`,
    ],
    ['no message', { Ask: slidingWindow({ above: 6, keep: 0 }) }, `${bounded}.keep must be a whole number above 0`],
    [
      'a keep of NaN',
      { Ask: slidingWindow({ above: 6, keep: Number.NaN }) },
      `${bounded}.keep must be a whole number above 0`,
    ],
    [
      'a bound that is a text',
      { Ask: slidingWindow({ above: '6' as never, keep: 2 }) },
      `${bounded}.above must be a whole number above keep`,
    ],
    [
      'an infinite bound',
      { Ask: slidingWindow({ above: Number.POSITIVE_INFINITY, keep: 2 }) },
      `${bounded}.above must be a whole number above keep`,
    ],
    [
      'a bound equal to keep',
      { Ask: slidingWindow({ above: 6, keep: 6 }) },
      `${bounded}.above must be a whole number above keep`,
    ],
    [
      'an unknown member',
      { Ask: slidingWindow({ ...bounds, messages: 40 } as never) },
      `${bounded} must be an object with only keep, above; got 'messages'`,
    ],
    [
      'a model for a window',
      { Ask: slidingWindow({ ...bounds, model } as never) },
      `${bounded} must be an object with only keep, above; got 'model'`,
    ],
    [
      'an unknown member of a summary',
      { Ask: rollingSummary({ ...bounds, model, timeout: 5 } as never) },
      `${bounded} must be an object with only keep, above, model, prompt, timeoutMs, maxSummaryCharacters; got 'timeout'`,
    ],
    ...[
      undefined,
      'gpt',
      { provider: 'p' },
      { provider: 'p', name: 7 },
      { ...model, params: 'hot' },
      [],
      [model, 'gpt'],
    ].map((wrong): [string, unknown, string] => [
      `the model ${JSON.stringify(wrong)}`,
      { Ask: rollingSummary({ ...bounds, model: wrong as never }) },
      `${bounded}.model must be { provider, name, params? } with two strings, or an array of these`,
    ]),
    [
      'a prompt that is a function',
      { Ask: rollingSummary({ ...bounds, model, prompt: (() => 'x') as never }) },
      `${bounded}.prompt must be a string`,
    ],
    [
      'no time',
      { Ask: rollingSummary({ ...bounds, model, timeoutMs: 0 }) },
      `${bounded}.timeoutMs must be a number above 0`,
    ],
    [
      'no characters',
      { Ask: rollingSummary({ ...bounds, model, maxSummaryCharacters: 0 }) },
      `${bounded}.maxSummaryCharacters must be a whole number above 0`,
    ],
  ])('%s', (_what, compaction, problem) => {
    expect(refusal(compaction)).toBe(`Flow 'Test': ${problem}.`)
  })

  test('a whole batch for one of its flows', () => {
    const engine = new FlowEngine()
    const [good, bad] = [flowOf(place('Ask')), flowOf(place('Ask'))]
    Object.assign(bad, { id: 'Bad', compaction: { Ask: 1 } })
    expect(() => engine.registerFlows([good, bad])).toThrow("Flow 'Bad': compaction must be")
    expect(engine.getFlowNames()).toEqual([])
  })
})

test('an infinite timeoutMs is accepted', () => {
  const compaction = { Ask: rollingSummary({ ...bounds, model, timeoutMs: Number.POSITIVE_INFINITY }) }
  expect(refusal(compaction)).toBe('nothing was refused')
})
