// Static properties of the wrong type: registration refuses each, and no session is ever stored under them.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { place } from '../../testing/contract/test-flows.js'
import { FakeSessionStore } from '../../testing/index.js'
import { slidingWindow } from '../compaction/index.js'
import { Flow, type FlowConstructor, FlowEngine, type FlowRegistration } from '../index.js'

const onStep = slidingWindow({ above: 4, keep: 2 })
const anything = fc.oneof(
  fc.anything(),
  fc.constantFrom<unknown>(
    null,
    undefined,
    Number.NaN,
    '',
    ' ',
    '1',
    -0,
    1n,
    Symbol('static'),
    [undefined],
    () => 1,
    class {},
  ),
)

/** What each static property may be. Everything else is wrong. */
const isRight: Readonly<Record<string, (value: unknown) => boolean>> = {
  id: (value) => typeof value === 'string' && value.trim() !== '',
  version: (value) => Number.isSafeInteger(value) && (value as number) >= 1,
  aliases: (value) => Array.isArray(value) && Array.from(value).every(isRight.id as (value: unknown) => boolean),
  outdated: (value) => value === undefined || value === 'refuse' || value === 'restart',
  onTurnError: (value) => value === undefined || value === 'abort' || value === 'rollback',
  busy: (value) => [undefined, 'queue', 'reject', 'interrupt'].includes(value as string),
  migrate: (value) => value === undefined || typeof value === 'function',
  compaction: (value) => isEmptyObject(value),
}

/** Values that are nearly right. */
const nearlyRight: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  id: fc.constantFrom<unknown>(['Desk'], { toString: () => 'Desk' }, '\t'),
  version: fc.oneof(
    fc.double(),
    fc.integer({ max: 0 }),
    fc.constantFrom<unknown>('2', [2], 2n, new Number(2), new Date(2)),
  ),
  aliases: fc.oneof(
    fc.string(),
    fc.array(anything),
    fc.constantFrom<unknown>(new Set(['Old']), { length: 0 }, ['Old', ' ']),
  ),
  outdated: fc.constantFrom<unknown>('Refuse', 'ignore', true, ['restart']),
  onTurnError: fc.constantFrom<unknown>('Abort', 'retry', true, ['rollback']),
  busy: fc.constantFrom<unknown>('Queue', 'latest', 'wait', true, null, ['queue']),
  migrate: fc.constantFrom<unknown>('migrate', {}, [() => null], Promise.resolve(null)),
  compaction: fc.constantFrom<unknown>(
    onStep,
    [onStep],
    new Map([['Start', onStep]]),
    { Start: { kind: 'window', above: 4, keep: 2 } },
    { Start: onStep, Other: undefined },
    { Start: { ...onStep, above: '4' } },
    { Start: { ...onStep, keep: 9 } },
  ),
}

const wrongStatic = fc
  .constantFrom(...Object.keys(isRight))
  .chain((name) => fc.tuple(fc.constant(name), fc.oneof(anything, nearlyRight[name] as fc.Arbitrary<unknown>)))
  .filter(([name, value]) => isRight[name]?.(value) === false)

function isEmptyObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === null || prototype === Object.prototype) && Object.keys(value).length === 0
}

function flowNamed(id: string): FlowConstructor {
  const made = class extends Flow {
    override steps() {
      return [place('Start')]
    }
  }
  Object.defineProperty(made, 'id', { value: id, configurable: true })
  return made
}

/** What registering throws. */
function refusalOf(engine: FlowEngine, flows: FlowRegistration): unknown {
  try {
    engine.registerFlows(flows)
  } catch (error) {
    return error
  }
  return 'nothing was refused'
}

test('a static property of the wrong type is refused with its whole batch, and no session is stored under it', async () => {
  await fc.assert(
    fc.asyncProperty(wrongStatic, fc.boolean(), async ([name, value], isFirst) => {
      const store = new FakeSessionStore()
      const engine = new FlowEngine({ sessionStore: store })
      const wrong = flowNamed('Desk')
      Object.defineProperty(wrong, name, { value })
      const right = flowNamed('Support')
      const refusal = refusalOf(engine, isFirst ? [wrong, right] : [right, wrong])
      // `turnkeeper/compaction` checks the options of its policies.
      const codes = name === 'compaction' ? ['FLOW_REGISTRATION', 'INVALID_INPUT'] : ['FLOW_REGISTRATION']
      expect(codes).toContain((refusal as { readonly code?: unknown }).code)
      expect(engine.getFlowNames()).toEqual([])
      for (const flowName of ['Desk', 'Support', 'Old', value as string]) {
        const { response } = await engine.execute({ flowName, userMessage: 'Hello' })
        expect(response.success).toBe(false)
      }
      expect(store.operations).not.toContain('create')
      // A flow of that name that is right can still be registered, and runs.
      engine.registerFlows([flowNamed('Desk')])
      expect(await engine.run({ flowName: 'Desk', userMessage: 'Hello' })).toMatchObject({ success: true })
    }),
    { numRuns: 500 },
  )
})
