import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { copyJson, deepFreeze, isPlainObject, JsonError, jsonSize, utf8Length } from './json.js'

/** JSON values without those that copyJson handles differently from JSON: negative zero, and keys named __proto__. */
const jsonValues = fc
  .jsonValue({ stringUnit: 'binary' })
  .filter((value) => !JSON.stringify(value).includes('__proto__'))
  .map((value) => JSON.parse(JSON.stringify(value)))

/** Any string, including lone surrogates. */
const anyUnit = fc.oneof(
  fc.integer({ min: 0, max: 0xffff }),
  fc.constantFrom(0x61, 0xe9, 0x20ac, 0xd83d, 0xdbff, 0xdc00, 0xde00, 0xe000),
)
const anyText = fc.array(anyUnit).map((units) => String.fromCharCode(...units))

function cyclicObject(): object {
  const value: Record<string, unknown> = { inner: {} }
  value.inner = { back: value }
  return value
}

function cyclicArray(): unknown[] {
  const value: unknown[] = []
  value.push([value])
  return value
}

function nested(levels: number): unknown {
  let value: unknown = []
  for (let level = 1; level < levels; level++) value = [value]
  return value
}

class Price {
  readonly amount = 1
}

describe('copyJson', () => {
  test('returns what a round trip through JSON text returns', () => {
    fc.assert(
      fc.property(jsonValues, (value) => {
        expect(copyJson(value, 'value', 64)).toStrictEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  test('leaves out properties that are undefined, as JSON does', () => {
    const records = fc.dictionary(
      fc.string().filter((key) => key !== '__proto__'),
      fc.option(jsonValues, { nil: undefined }),
      { noNullPrototype: true },
    )
    fc.assert(
      fc.property(records, (record) => {
        expect(copyJson(record, 'value', 64)).toStrictEqual(JSON.parse(JSON.stringify(record)))
      }),
    )
  })

  test('turns negative zero into zero, as JSON does, so that a state is the same before and after it was stored', () => {
    expect(copyJson({ balance: -0 }, 'value', 64)).toStrictEqual({ balance: 0 })
  })

  test('shares no object with the original', () => {
    const original = { list: [{ name: 'first' }] }
    const copy = copyJson(original, 'value', 64)
    original.list.push({ name: 'second' })
    Object.assign(original.list[0] as object, { name: 'changed' })
    expect(copy).toEqual({ list: [{ name: 'first' }] })
  })

  test('leaves out symbols and properties that are not enumerable', () => {
    const value = Object.defineProperty({ kept: 1, [Symbol('left out')]: 2 }, 'hidden', { value: 3 })
    expect(Reflect.ownKeys(copyJson(value, 'value', 64) as object)).toEqual(['kept'])
  })

  test('copies properties with names of Object.prototype', () => {
    const names = ['toJSON', 'then', 'valueOf', 'constructor', 'hasOwnProperty', 'toString']
    const value = Object.fromEntries(names.map((name) => [name, 'data']))
    expect(copyJson(value, 'value', 64)).toEqual(value)
  })

  test('copies objects without a prototype, and objects of another realm', () => {
    const bare = Object.assign(Object.create(null), { a: 1 })
    expect(copyJson(bare, 'value', 64)).toStrictEqual({ a: 1 })
    expect(copyJson(runInNewContext('({ a: [1, { b: 2 }] })'), 'value', 64)).toStrictEqual({ a: [1, { b: 2 }] })
  })

  test('copies an object that occurs twice, which is not a cycle', () => {
    const shared = { a: 1 }
    expect(copyJson([shared, { shared }], 'value', 64)).toEqual([{ a: 1 }, { shared: { a: 1 } }])
  })

  test.each<[string, unknown, string]>([
    ['NaN', Number.NaN, 'value is NaN, which JSON cannot carry'],
    ['an infinity', Number.POSITIVE_INFINITY, 'value is Infinity, which JSON cannot carry'],
    ['a negative infinity', [Number.NEGATIVE_INFINITY], 'value[0] is -Infinity, which JSON cannot carry'],
    ['a bigint', { id: 1n }, 'value.id is a bigint, which JSON cannot carry'],
    ['a function', { run: () => 1 }, 'value.run is a function, which JSON cannot carry'],
    ['toJSON as a function', { toJSON: () => 1 }, 'value.toJSON is a function, which JSON cannot carry'],
    ['a symbol', { kind: Symbol('kind') }, 'value.kind is a symbol, which JSON cannot carry'],
    ['undefined', undefined, 'value is undefined, which JSON cannot carry'],
    ['undefined in a list', [1, undefined], 'value[1] is undefined, which JSON cannot carry'],
    ['a hole in a list', Array(2), 'value[0] is undefined, which JSON cannot carry'],
    ['a Date', { at: new Date(0) }, 'value.at is an instance of Date, which JSON cannot carry: use date.toISOString()'],
    ['a Map', new Map(), 'value is an instance of Map, which JSON cannot carry'],
    ['bytes', new Uint8Array(1), 'value is an instance of Uint8Array, which JSON cannot carry'],
    ['an error', new Error('x'), 'value is an instance of Error, which JSON cannot carry'],
    ['an instance', [new Price()], 'value[0] is an instance of Price, which JSON cannot carry'],
    [
      'an instance of a class whose name is a symbol',
      new (class extends Price {
        static override readonly name = Symbol('Price') as never
      })(),
      'value is an instance of Symbol(Price), which JSON cannot carry',
    ],
    [
      'an instance of a class without a name',
      new (class {})(),
      'value is an instance of a class, which JSON cannot carry',
    ],
    [
      'a Date of another realm',
      runInNewContext('new Date(0)'),
      'value is an instance of Date, which JSON cannot carry: use date.toISOString()',
    ],
    ['a cycle', cyclicObject(), 'value.inner.back is part of itself'],
    ['a cycle of lists', cyclicArray(), 'value[0][0] is part of itself'],
    ['a key named __proto__', JSON.parse('{"__proto__":1}'), 'value has a key named __proto__, which is reserved'],
    [
      'a key named __proto__ below',
      JSON.parse('{"a":[{"__proto__":{}}]}'),
      'value.a[0] has a key named __proto__, which is reserved',
    ],
  ])('refuses %s and says where it is', (_name, value, message) => {
    expect(() => copyJson(value, 'value', 64)).toThrow(new JsonError(message.split(' ')[0] as string, rest(message)))
  })

  test('writes the path as in code', () => {
    const value = { items: [{}, { price: { 'in euro': Number.NaN } }] }
    expect(() => copyJson(value, 'state', 64)).toThrow('state.items[1].price["in euro"] is NaN')
    expect(() => copyJson({ '': { $a_1: 1n } }, 'state', 64)).toThrow('state[""].$a_1 is a bigint')
  })

  test('has the path in a field of the error', () => {
    const error = thrownBy(() => copyJson({ a: [1n] }, 'state', 64))
    expect(error).toBeInstanceOf(JsonError)
    expect((error as JsonError).path).toBe('state.a[0]')
  })

  test('counts the outermost object as level 1', () => {
    expect(copyJson({ a: { b: 1 } }, 'value', 2)).toEqual({ a: { b: 1 } })
    expect(() => copyJson({ a: { b: {} } }, 'value', 2)).toThrow('value.a.b is nested deeper than 2 levels')
    expect(() => copyJson([], 'value', 0)).toThrow('value is nested deeper than 0 levels')
  })

  test('stops at the limit in 50 000 nested lists', () => {
    const path = `value${'[0]'.repeat(64)}`
    expect(() => copyJson(nested(50_000), 'value', 64)).toThrow(`${path} is nested deeper than 64 levels`)
  })

  test('without a limit reports that 50 000 nested lists are too deep for the runtime', () => {
    expect(() => copyJson(nested(50_000), 'value', Number.POSITIVE_INFINITY)).toThrow(
      new JsonError('value', 'is nested too deep for this runtime'),
    )
  })

  test('with a limit of bytes refuses exactly what jsonSize counts as more', () => {
    fc.assert(
      fc.property(jsonValues, fc.integer({ min: -2, max: 2 }), (value, difference) => {
        const maxBytes = jsonSize(value) + difference
        const copied = () => copyJson(value, 'value', 64, undefined, maxBytes)
        if (difference >= 0) expect(copied()).toEqual(value)
        else expect(copied).toThrow(new JsonError('value', `has more than ${maxBytes} bytes`, 'bytes'))
      }),
    )
  })

  test('copies no more than the limit of bytes', () => {
    let read = 0
    const entry = {
      get text() {
        read++
        return 'a'.repeat(10)
      },
    }
    const wide = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`key${index}`, entry]))
    expect(() => copyJson(wide, 'value', 64, undefined, 300)).toThrow('value has more than 300 bytes')
    expect(read).toBeLessThan(12)
  })

  test('does not catch what a getter throws', () => {
    const value = {
      get broken(): never {
        throw new TypeError('from the getter')
      },
    }
    expect(() => copyJson(value, 'value', 64)).toThrow(new TypeError('from the getter'))
  })
})

describe('isPlainObject', () => {
  test.each<[string, unknown]>([
    ['a literal', {}],
    ['an object without a prototype', Object.create(null)],
    ['an object of another realm', runInNewContext('({})')],
    ['parsed JSON', JSON.parse('{"__proto__":1}')],
  ])('is true of %s', (_name, value) => {
    expect(isPlainObject(value)).toBe(true)
  })

  test.each<[string, unknown]>([
    ['null', null],
    ['undefined', undefined],
    ['a text', 'text'],
    ['a list', []],
    ['a function', () => 1],
    ['a Date', new Date(0)],
    ['an instance', new Price()],
    ['an object that inherits from a literal', Object.create({ inherited: 1 })],
    ['a list of another realm', runInNewContext('[]')],
  ])('is false of %s', (_name, value) => {
    expect(isPlainObject(value)).toBe(false)
  })
})

describe('utf8Length', () => {
  test('is the length of what TextEncoder returns, also for lone surrogates', () => {
    const encoder = new TextEncoder()
    fc.assert(
      fc.property(fc.oneof(anyText, fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' })), (text) => {
        expect(utf8Length(text)).toBe(encoder.encode(text).length)
      }),
    )
  })

  test.each([
    ['', 0],
    ['a', 1],
    ['\u007f\u0080', 3],
    ['\u07ff\u0800', 5],
    ['\uffff', 3],
    ['\u{1f600}', 4],
    ['\ud83d', 3],
    ['\ude00\ud83d', 6],
    ['\ud83da', 4],
    ['\ud83d\u00e9', 5],
    ['\ud83d\ud83d\ude00', 7],
  ])('%j takes %i bytes', (text, bytes) => {
    expect(utf8Length(text)).toBe(bytes)
  })
})

describe('jsonSize', () => {
  test.each<[unknown]>([
    [null],
    [true],
    [-12.5],
    ['gr\u00fc\u00df'],
    [[]],
    [{}],
    [[1]],
    [[1, [2, 3], 'x']],
    [{ a: 1 }],
    [{ a: { b: [true, null] }, c: '\u{1f600}' }],
  ])('is exact where JSON escapes nothing: %j', (value) => {
    expect(jsonSize(value)).toBe(new TextEncoder().encode(JSON.stringify(value)).length)
  })

  test('is exact for any value whose JSON text has no escapes', () => {
    fc.assert(
      fc.property(jsonValues, (value) => {
        const text = JSON.stringify(value)
        fc.pre(!text.includes('\\'))
        expect(jsonSize(value)).toBe(new TextEncoder().encode(text).length)
      }),
    )
  })

  test('counts a character that JSON escapes without its escape', () => {
    expect(jsonSize('"')).toBe(3)
    expect(jsonSize({ 'a\n': 1 })).toBe(JSON.stringify({ an: 1 }).length)
  })
})

describe('deepFreeze', () => {
  test('freezes a value and everything in it, and returns it', () => {
    const value = { list: [{ name: 'first' }], nothing: null, text: 'x' }
    expect(deepFreeze(value)).toBe(value)
    expect(() => value.list.push({ name: 'second' })).toThrow(TypeError)
    expect(() => Object.assign(value.list[0] as object, { name: 'changed' })).toThrow(TypeError)
    expect(() => Object.assign(value, { text: 'changed' })).toThrow(TypeError)
  })

  test('freezes the content of an object that is already frozen', () => {
    const value = Object.freeze({ inner: { name: 'first' } })
    deepFreeze(value)
    expect(Object.isFrozen(value.inner)).toBe(true)
  })

  test('returns a value that is not an object unchanged', () => {
    expect(deepFreeze('text')).toBe('text')
    expect(deepFreeze(null)).toBe(null)
  })
})

function rest(message: string): string {
  return message.slice(message.indexOf(' ') + 1)
}

function thrownBy(action: () => unknown): unknown {
  try {
    action()
  } catch (error) {
    return error
  }
  throw new Error('Nothing was thrown.')
}
