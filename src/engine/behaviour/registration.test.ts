import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { End, Flow, type FlowConstructor, type FlowEngine, FlowError, type FlowRegistration } from '../../index.js'

afterEach(expectNothingLeft)

const incomplete = 'A registered flow must have a name and constructor.'

/** The error that `work` throws; a test must not pass because nothing was thrown. */
function thrownBy(work: () => unknown): FlowError {
  try {
    work()
  } catch (error) {
    if (FlowError.isInstance(error)) return error
    throw error
  }
  throw new Error('Nothing was thrown.')
}

function register(engine: FlowEngine, specs: unknown): FlowEngine {
  return engine.registerFlows(specs as FlowRegistration)
}

class Named extends Flow {
  static override readonly id: string = 'Named'
  override steps() {
    return [End]
  }
}

class ByItsClass extends Flow {
  override steps() {
    return [End]
  }
}

class ByAccessor extends Flow {
  static override get id(): string {
    return 'stable-name'
  }
  override steps() {
    return [End]
  }
}

const blank = flowOf('  ')
const nameless = flowOf('')
const numeric = flowOf(7 as unknown as string)
const missing = flowOf(undefined as unknown as string)

describe('what may be registered', () => {
  const refused: readonly (readonly [string, unknown])[] = [
    ['undefined', undefined],
    ['null', null],
    ['a name alone', 'Named'],
    ['a number', 3],
    ['an instance', new Named()],
    ['a plain object', { id: 'Named' }],
    ['an arrow function', () => new Named()],
    ['a class that is not a flow', class Other {}],
    ['a step class', End],
    ['a class with an empty id', nameless],
    ['a class with a blank id', blank],
    ['a class whose id is a number', numeric],
    ['a class whose id is undefined', missing],
    // biome-ignore lint/complexity/useArrowFunction: it has a prototype, and an arrow function has none
    ['an ordinary function', function () {}],
    [
      'a class without a name',
      (() =>
        class extends Flow {
          override steps() {
            return [End]
          }
        })(),
    ],
  ]

  test.each(refused)('[4.7-1] %s in a list is refused', (_what, flow) => {
    const { engine } = harness()
    const error = thrownBy(() => register(engine, [flow]))
    expect(error.message).toBe('A registered flow must have a name and constructor.')
    expect(error.code).toBe('FLOW_REGISTRATION')
    expect(engine.getFlowNames()).toEqual([])
  })

  test.each(refused)('[4.7-1] %s in a map is refused', (_what, flow) => {
    const { engine } = harness()
    expect(thrownBy(() => register(engine, { Named: flow })).message).toBe(incomplete)
    expect(engine.getFlowNames()).toEqual([])
  })

  test.each(refused)('[4.4-6 4.7-1] %s alone is refused by registerFlow', (_what, flow) => {
    const { engine } = harness()
    expect(thrownBy(() => engine.registerFlow(flow as FlowConstructor)).message).toBe(incomplete)
  })

  test.each([
    ['undefined', undefined],
    ['null', null],
    ['a string', 'Named'],
    ['a number', 4],
    ['a Map', new Map([['Named', Named]])],
    ['a flow class', Named],
    ['a hole in a list', new Array(1)],
    ['a map whose prototype is a flow', Object.create(Named)],
  ])('[4.7-1] %s is not a registration', (_what, specs) => {
    const { engine } = harness()
    expect(thrownBy(() => register(engine, specs)).message).toBe(incomplete)
  })

  test.each(['', ' ', '\t\n'])('[4.7-1] a map with the key %j has an entry without a name', (key) => {
    const { engine } = harness()
    expect(thrownBy(() => register(engine, { Named, [key]: Named })).message).toBe(incomplete)
    expect(engine.getFlowNames()).toEqual([])
  })

  test('[4.7-2 4.7-4] a map key that differs from the id is refused, and both are named', () => {
    const { engine } = harness()
    const error = thrownBy(() => register(engine, { onboarding: Named }))
    expect(error.message).toBe("Flow registration 'onboarding' must match Flow ID 'Named'.")
    expect(error.code).toBe('FLOW_REGISTRATION')
    expect(engine.getFlow('onboarding')).toBeUndefined()
    expect(engine.getFlow('Named')).toBeUndefined()
  })

  test('[4.7-3] a name that is registered already is refused, in a list, a map and alone', () => {
    const { engine } = harness({ flows: [Named] })
    const again = flowOf('Named')
    const sentence = "Flow 'Named' is already registered."
    expect(thrownBy(() => register(engine, [again])).message).toBe(sentence)
    expect(thrownBy(() => register(engine, { Named: again })).message).toBe(sentence)
    expect(thrownBy(() => engine.registerFlow(again)).message).toBe(sentence)
    expect(thrownBy(() => engine.registerFlow(Named)).message).toBe(sentence)
    expect(engine.getFlow('Named')).toBe(Named)
  })

  test('[4.7-3] a name repeated within a batch is refused', () => {
    const { engine } = harness()
    expect(thrownBy(() => register(engine, [Named, flowOf('Named')])).message).toBe(
      "Flow 'Named' is already registered.",
    )
    expect(engine.getFlowNames()).toEqual([])
  })
})

describe('a batch is written whole or not at all', () => {
  const faults: readonly (readonly [string, FlowRegistration, string])[] = [
    ['something that is not a flow', [flowOf('A'), flowOf('B'), undefined as never], incomplete],
    ['a blank id', [flowOf('A'), blank, flowOf('B')], incomplete],
    ['a repeated name', [flowOf('A'), flowOf('B'), flowOf('A')], "Flow 'A' is already registered."],
    ['a registered name', [flowOf('A'), flowOf('B'), flowOf('Named')], "Flow 'Named' is already registered."],
    ['a key that differs', { A: flowOf('A'), B: flowOf('C') }, "Flow registration 'B' must match Flow ID 'C'."],
    ['a map entry that is not a flow', { A: flowOf('A'), B: {} as never }, incomplete],
  ]

  test.each(faults)('[4.4-4] %s at any place of it leaves the registry as it was', (_what, specs, sentence) => {
    const { engine } = harness({ flows: [Named] })
    expect(thrownBy(() => engine.registerFlows(specs)).message).toBe(sentence)
    expect(engine.getFlowNames()).toEqual(['Named'])
    expect(engine.getFlow('A')).toBeUndefined()
    // The good half can still be registered: nothing of the bad batch stayed behind.
    expect(engine.registerFlows([flowOf('A'), flowOf('B')]).getFlowNames()).toEqual(['Named', 'A', 'B'])
  })

  test('a name that throws when it is read leaves the registry as it was', () => {
    class Throwing extends ByItsClass {
      static override get id(): string {
        throw new Error('no id today')
      }
    }
    const { engine } = harness()
    expect(() => engine.registerFlows([Named, Throwing])).toThrow('no id today')
    expect(engine.getFlowNames()).toEqual([])
  })
})

describe('names', () => {
  test('[4.4-5 2.5-4] a list takes each name from the static id, a map takes its keys', () => {
    const { engine } = harness()
    engine.registerFlows([Named, ByItsClass]).registerFlows({ A: flowOf('A'), B: flowOf('B') })
    expect(engine.getFlowNames()).toEqual(['Named', 'ByItsClass', 'A', 'B'])
  })

  test('[2.5-2] the id of a flow class defaults to the class name', () => {
    expect(ByItsClass.id).toBe('ByItsClass')
    const { engine } = harness({ flows: [ByItsClass] })
    expect(engine.getFlow('ByItsClass')).toBe(ByItsClass)
  })

  test('[4.7-5 2.5-3] an accessor gives a stable name, in a list and as a map key', () => {
    expect(harness({ flows: [ByAccessor] }).engine.getFlow('stable-name')).toBe(ByAccessor)
    expect(harness({ flows: { 'stable-name': ByAccessor } }).engine.getFlow('stable-name')).toBe(ByAccessor)
    const { engine } = harness()
    expect(thrownBy(() => register(engine, { ByAccessor })).message).toBe(
      "Flow registration 'ByAccessor' must match Flow ID 'stable-name'.",
    )
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('%s is a name like any other', async (name) => {
    const flow = flowOf(name)
    const { engine } = harness({ flows: { [name]: flow } })
    expect(engine.getFlow(name)).toBe(flow)
    expect(engine.getFlowNames()).toEqual([name])
    const response = await engine.run({ flowName: name, userMessage: 'hello' })
    expect(response).toMatchObject({ success: true, message: 'You said: hello' })
    const again = await engine.run({ flowName: name, userMessage: 'there', sessionId: response.session })
    expect(again).toMatchObject({ success: true, session: response.session })
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'named', 'Named ', ''])(
    '[4.4-7] %j is not registered because an object might have it',
    (name) => {
      const { engine } = harness({ flows: [Named] })
      expect(engine.getFlow(name)).toBeUndefined()
    },
  )

  test('[4.4-7] getFlow gives the class of a registered name', () => {
    expect(harness({ flows: { Named } }).engine.getFlow('Named')).toBe(Named)
  })

  test('[4.4-8] getFlowNames gives a list of its own, in the order of registration', () => {
    const { engine } = harness({ flows: [flowOf('B'), flowOf('A')] })
    engine.getFlowNames().push('C')
    expect(engine.getFlowNames()).toEqual(['B', 'A'])
  })

  test('[4.4-4 4.4-6] registerFlows and registerFlow return the engine', () => {
    const { engine } = harness()
    expect(engine.registerFlows([])).toBe(engine)
    expect(engine.registerFlows({})).toBe(engine)
    expect(engine.registerFlow(Named)).toBe(engine)
  })

  test('an engine knows nothing of what another one registered', () => {
    harness({ flows: [Named] })
    expect(harness().engine.getFlowNames()).toEqual([])
  })
})
