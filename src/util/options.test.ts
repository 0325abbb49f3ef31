import { describe, expect, test } from 'vitest'
import { InvalidInputError } from '../errors/engine-errors.js'
import {
  checkNumber,
  checkOptionNames,
  findUnknownName,
  hintAt,
  type NumberRange,
  numbersWithDefaults,
} from './options.js'
import { shownValue } from './shown-value.js'

const known = { origin: true, credentials: true }

function refused(message: string): InvalidInputError {
  return new InvalidInputError({ message })
}

describe('checkOptionNames', () => {
  test.each([{}, { origin: '*' }, { credentials: undefined }, Object.create(null)])('takes %j', (options) => {
    expect(() => checkOptionNames('make', options, known)).not.toThrow()
  })

  test.each([null, undefined, 5, 'origin', [], () => ({})])('refuses %s in place of an object', (options) => {
    expect(() => checkOptionNames('make', options, known)).toThrow(refused('make: the options must be an object.'))
    expect(() => checkOptionNames('make', options, known, 'cors')).toThrow(refused('make: cors must be an object.'))
  })

  test('names the first unknown option, and lists the known ones', () => {
    const options = { origin: '*', orgin: '*', other: 1 }
    expect(() => checkOptionNames('make', options, known)).toThrow(
      refused("make: there is no option 'orgin'. The options are origin, credentials. Did you mean 'origin'?"),
    )
    expect(() => checkOptionNames('make', options, known, 'cors')).toThrow(
      refused(
        "make: there is no option 'cors.orgin'. The options of cors are origin, credentials. Did you mean 'origin'?",
      ),
    )
  })

  test('refuses an unknown name even without a value, because it is probably a mistake', () => {
    expect(() => checkOptionNames('make', { orgin: undefined }, known)).toThrow("there is no option 'orgin'")
  })
})

test.each(['toString', 'constructor', 'hasOwnProperty'])('%s, which every object has, is not a known name', (name) => {
  expect(findUnknownName({ [name]: 1 }, known)).toBe(name)
  expect(findUnknownName({}, known)).toBeUndefined()
})

describe('hintAt', () => {
  const names = ['flowName', 'userMessage', 'flows', 'models', 'unknownSession', 'cors', 'name', 'delayMs', 'input']

  test.each([
    ['FLOWS', 'flows'],
    ['floows', 'flows'],
    ['flws', 'flows'],
    ['flxws', 'flows'],
    ['folws', 'flows'],
    ['model', 'models'],
    ['message', 'userMessage'],
    ['delay', 'delayMs'],
    ['flow', 'flowName'],
    ['inputSchema', 'input'],
  ])('%s is meant to be %s', (unknown, meant) => {
    expect(hintAt(unknown, names)).toBe(` Did you mean '${meant}'?`)
  })

  test.each(['theme', 'color', 'own', 'mode', 'filename', 'nap', 'flwos1', 'fowls1', 'x', ''])(
    '%s is not taken for one of them',
    (unknown) => {
      expect(hintAt(unknown, names)).toBe('')
    },
  )
})

describe('numbersWithDefaults', () => {
  const defaults = { retries: 3, delayMs: 500 }

  test('fills in absent and undefined numbers, in a new frozen object', () => {
    expect(numbersWithDefaults('make', undefined, defaults)).toEqual(defaults)
    const given = { retries: 1, delayMs: undefined }
    const numbers = numbersWithDefaults('make', given, defaults)
    given.retries = 2
    expect(numbers).toEqual({ retries: 1, delayMs: 500 })
    expect([numbers, numbersWithDefaults('make', undefined, defaults)].every(Object.isFrozen)).toBe(true)
  })

  test('names the refused number, with its path', () => {
    const options = { path: 'retry', rangeOf: (name: string) => ({ min: name === 'delayMs' ? 0 : 1 }) }
    expect(numbersWithDefaults('make', { delayMs: 0 }, defaults, options)).toEqual({ retries: 3, delayMs: 0 })
    expect(() => numbersWithDefaults('make', { retries: 0 }, defaults, options)).toThrow(
      refused('make: retry.retries must be a number of at least 1, or Infinity for no bound; got 0.'),
    )
    expect(() => numbersWithDefaults('make', { delay: 1 } as object, defaults, options)).toThrow(
      refused(
        "make: there is no option 'retry.delay'. The options of retry are retries, delayMs. Did you mean 'delayMs'?",
      ),
    )
    expect(() => numbersWithDefaults('make', { retries: 0 }, defaults)).toThrow('make: retries must be')
  })
})

describe('checkNumber', () => {
  test.each<[NumberRange, number[], unknown[], string]>([
    [
      {},
      [1, 0.5, Infinity],
      [0, -1, NaN, -Infinity, '5', null, undefined, true, 5n],
      'a number above 0, or Infinity for no bound',
    ],
    [{ finite: true }, [0.5, Number.MAX_VALUE], [0, Infinity], 'a number above 0'],
    [{ min: 0, finite: true }, [0, -0, 7.5], [-1, Infinity], 'a number of at least 0'],
    [{ whole: true }, [1, Infinity], [0, 1.5, 2 ** 53], 'a whole number above 0, or Infinity for no bound'],
    [{ min: 1, max: 10 }, [1, 10, Infinity], [0, 11], 'a number from 1 to 10, or Infinity for no bound'],
  ])('%j', (range, taken, refusedValues, words) => {
    for (const value of taken) expect(() => checkNumber('make', 'size', value, range)).not.toThrow()
    for (const value of refusedValues) {
      expect(() => checkNumber('make', 'size', value, range)).toThrow(
        refused(`make: size must be ${words}; got ${shownValue(value)}.`),
      )
    }
  })

  test('always describes the value that it got', () => {
    expect(() => checkNumber('make', 'size', Object.create(null))).toThrow('got an object.')
    expect(() => checkNumber('make', 'size', [])).toThrow('got a list.')
    expect(() => checkNumber('make', 'size', '3')).toThrow("got the text '3'.")
    expect(() => checkNumber('make', 'size', Symbol('size'))).toThrow('got Symbol(size).')
  })
})
