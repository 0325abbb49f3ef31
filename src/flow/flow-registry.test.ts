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

class Desk {}
class Shop extends flowOf(place('Start')) {}

test.each<readonly [string, unknown, string]>([
  ['a class in place of a list', Shop, "the class 'Shop'"],
  ['an object in place of a class', [{}], 'an object'],
  ['another class', [Desk], "the class 'Desk'"],
  ['a hole in a list', [undefined], 'undefined'],
  ['a map with a blank name', { ' ': Booking }, 'a map with a blank name'],
  ['a blank id', [named(' ')], 'a flow class whose static id is not a text, or is blank'],
])('the error of %s says what was expected, and what was given', (_what, registration, given) => {
  const details = `Register classes that extend Flow, as in flows: [MyFlow]; got ${given}.`
  expect(() => new FlowRegistry().register(registration as FlowRegistration)).toThrow(
    expect.objectContaining({ message: incomplete, details }),
  )
})

test.each<readonly [string, unknown]>([
  ['a list', [new Shop()]],
  ['a map', { Shop: new Shop() }],
  ['place of a list', new Shop()],
])('the error of an object of a flow in %s says to pass its class', (_where, registration) => {
  expect(() => new FlowRegistry().register(registration as FlowRegistration)).toThrow(
    expect.objectContaining({ message: incomplete, details: 'Pass the class Shop, not an object: flows: [Shop].' }),
  )
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

describe('static properties', () => {
  function having(statics: Readonly<Record<string, unknown>>, id = 'Booking'): FlowConstructor {
    const Flawed = named(id)
    for (const [name, value] of Object.entries(statics)) Object.defineProperty(Flawed, name, { value })
    return Flawed
  }

  const version = 'version must be a whole number from 1'
  const aliases = 'aliases must be a list of former IDs'
  test.each<readonly [string, unknown, string]>([
    ['version', '2', `${version}; got the text '2'`],
    ['version', Number.NaN, `${version}; got NaN`],
    ['version', -1, `${version}; got -1`],
    ['version', 0, `${version}; got 0`],
    ['version', 1.5, `${version}; got 1.5`],
    ['version', Number.POSITIVE_INFINITY, `${version}; got Infinity`],
    ['version', {}, `${version}; got an object`],
    ['version', undefined, `${version}; got undefined`],
    ['aliases', 'Shipping', `${aliases}; got the text 'Shipping'`],
    ['aliases', undefined, `${aliases}; got undefined`],
    ['aliases', null, `${aliases}; got null`],
    ['aliases', ['Shipping', ' '], `${aliases}; got a list with the text ' '`],
    ['aliases', [7], `${aliases}; got a list with 7`],
    ['aliases', new Set(['Shipping']), `${aliases}; got an object of the class 'Set'`],
    ['outdated', 'ignore', "outdated must be 'refuse' or 'restart'; got the text 'ignore'"],
    ['outdated', true, "outdated must be 'refuse' or 'restart'; got true"],
    ['migrate', {}, 'migrate must be a function; got an object'],
    ['migrate', ['a'], 'migrate must be a function; got a list'],
  ])('%s may not be %o', (name, value, problem) => {
    const registry = new FlowRegistry()
    let thrown: unknown
    try {
      registry.register([Support, having({ [name]: value })])
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ code: 'FLOW_REGISTRATION', message: `Flow 'Booking': static ${problem}.` })
    expect(registry.names()).toEqual([])
  })

  test('are accepted where they are right', () => {
    const registry = new FlowRegistry()
    const statics = { version: 7, aliases: ['Shipping'], outdated: 'restart', migrate: () => null }
    registry.register([having(statics), having({ outdated: undefined, migrate: undefined }, 'Support')])
    expect(registry.names()).toEqual(['Booking', 'Support'])
  })

  test('a former name leads to one flow only', () => {
    const claim = (id: string, alias: string, other: string): string =>
      `Flow '${id}' has the alias '${alias}', which is the name or an alias of flow '${other}'.`
    const cases: readonly (readonly [readonly FlowConstructor[], string])[] = [
      [[having({ aliases: ['A'] }), having({ aliases: ['A'] }, 'Desk')], claim('Desk', 'A', 'Booking')],
      [[having({ aliases: ['Support'] }), Support], claim('Booking', 'Support', 'Support')],
      [[Support, having({ aliases: ['Support'] })], claim('Booking', 'Support', 'Support')],
    ]
    for (const [flows, problem] of cases) {
      const one = new FlowRegistry()
      expect(() => one.register(flows)).toThrow(problem)
      expect(one.names()).toEqual([])
      const each = new FlowRegistry()
      expect(() => {
        for (const flow of flows) each.register([flow])
      }).toThrow(problem)
      expect(each.names()).toHaveLength(1)
    }
  })

  test('a name is found by its former ones, which a refused batch does not add', () => {
    const registry = new FlowRegistry()
    registry.register([having({ aliases: ['A', 'A', 'Booking'] })])
    expect(() => registry.register([having({ aliases: ['B'] }, 'Desk'), having({ aliases: ['A'] }, 'Help')])).toThrow()
    expect(['A', 'B', 'Booking', 'Else'].map((name) => registry.currentName(name))).toEqual([
      'Booking',
      'B',
      'Booking',
      'Else',
    ])
    expect(registry.get('A')).toBeUndefined()
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
