import { describe, expect, test } from 'vitest'
import { flowOf, place } from '../../testing/contract/test-flows.js'
import { Flow, type FlowConstructor } from '../index.js'
import { type FlowRegistration, FlowRegistry } from './flow-registry.js'

const incomplete = 'A registered flow must have a name and constructor.'

function named(id: string): FlowConstructor {
  const Named = flowOf(place('Start'))
  Object.defineProperty(Named, 'id', { value: id })
  return Named
}

const Booking = named('Booking')
const Support = named('Support')

describe('a batch of flows', () => {
  test('[4.4-5] of a list is registered under the static ids', () => {
    const registry = new FlowRegistry()
    registry.register([Booking, Support])
    expect(registry.names()).toEqual(['Booking', 'Support'])
    expect(registry.get('Booking')).toBe(Booking)
    expect(registry.get('Orders')).toBeUndefined()
  })

  test('[4.4-5 2.5-3] of a map is registered under its keys', () => {
    const registry = new FlowRegistry()
    registry.register({ Support, Booking })
    expect(registry.names()).toEqual(['Support', 'Booking'])
    expect(registry.get('Support')).toBe(Support)
  })

  test('may be empty', () => {
    const registry = new FlowRegistry()
    registry.register([])
    registry.register({})
    expect(registry.names()).toEqual([])
  })

  test('[4.4-4] with an error in any flow registers nothing', () => {
    const registry = new FlowRegistry()
    registry.register([Booking])
    expect(() => registry.register([Support, Booking])).toThrow("Flow 'Booking' is already registered.")
    expect(() => registry.register({ Support, Orders: Support })).toThrow(
      "Flow registration 'Orders' must match Flow ID 'Support'.",
    )
    expect(() => registry.register([Support, undefined as never])).toThrow(incomplete)
    expect(registry.names()).toEqual(['Booking'])
  })
})

describe('a flow is refused', () => {
  const refusal = (registration: unknown): unknown => {
    try {
      new FlowRegistry().register(registration as FlowRegistration)
    } catch (error) {
      expect(error).toMatchObject({ code: 'FLOW_REGISTRATION' })
      return (error as Error).message
    }
    return 'nothing was refused'
  }

  test.each([
    ['undefined', [undefined]],
    ['an object', [new (flowOf())()]],
    ['an arrow function', [() => new (flowOf())()]],
    ['a class that does not extend Flow', [class Booking {}]],
    ['the base class itself', [Flow]],
    ['a hole in the list', new Array(1)],
    ['a blank ID', [named(' ')]],
    ['an ID that is not a string', [named(7 as never)]],
    ['a blank key', { ' ': Booking }],
    ['an empty key', { '': Booking }],
    ['a string in a map', { Booking: 'Booking' }],
    ['a string as the batch', 'Booking'],
    ['a class as the batch', Booking],
    ['a Map as the batch', new Map([['Booking', Booking]])],
    ['undefined as the batch', undefined],
  ])('[4.7-1] for %s', (_what, registration) => {
    expect(refusal(registration)).toBe(incomplete)
  })

  test('[4.7-2 4.7-4] for a key that is not its ID', () => {
    expect(refusal({ booking: Booking })).toBe("Flow registration 'booking' must match Flow ID 'Booking'.")
  })

  test('[4.7-3] for a name that is registered already, or twice in the batch', () => {
    expect(refusal([Booking, named('Booking')])).toBe("Flow 'Booking' is already registered.")
  })
})

test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
  'a registry knows no flow %s unless it is registered',
  (name) => {
    const registry = new FlowRegistry()
    expect(registry.get(name)).toBeUndefined()
    registry.register([named(name)])
    expect(registry.names()).toEqual([name])
  },
)
