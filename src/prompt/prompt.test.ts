import { describe, expect, test } from 'vitest'
import { FlowCodeError } from '../errors/engine-errors.js'
import { joinPrompts, promptTemplate } from './prompt.js'

/** A template whose names the compiler does not check, as in JavaScript. */
const unchecked = (text: string): ((values?: unknown) => string) =>
  promptTemplate(text) as unknown as (values?: unknown) => string

function problemOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(FlowCodeError)
    return (error as Error).message
  }
  return 'none'
}

describe('promptTemplate', () => {
  test('of many double braces without a match is not searched to its end at each', () => {
    // With a search to the end at each, this would take minutes.
    expect(problemOf(() => unchecked('{{a '.repeat(1_000_000)))).toContain('has {{ without }}')
  })

  test('fills in every occurrence of its variables', () => {
    const greet = promptTemplate('You speak with {{name}} of {{ company }}. Call them {{\n  name\n}}.')
    expect(greet({ name: 'Ada', company: 'Fern & Kettle' })).toBe('You speak with Ada of Fern & Kettle. Call them Ada.')
    expect(greet({ name: 'Bo', company: '' })).toBe('You speak with Bo of . Call them Bo.')
  })

  test('converts numbers and booleans as String does', () => {
    const facts = promptTemplate('{{a}} {{b}} {{c}} {{d}}')
    expect(facts({ a: 0, b: -1.5, c: false, d: true })).toBe('0 -1.5 false true')
  })

  test('without variables needs no values', () => {
    expect(promptTemplate('Be brief.')()).toBe('Be brief.')
    expect(promptTemplate('')()).toBe('')
  })

  test('inserts a value as it is, even if it has braces', () => {
    const both = promptTemplate('{{first}}, {{second}}')
    const values = { first: '{{second}} $& $1 }} {{{{', second: '{{first}}' }
    expect(both(values)).toBe('{{second}} $& $1 }} {{{{, {{first}}')
  })

  test('keeps single braces, and turns four braces into two', () => {
    expect(promptTemplate('{ "a": {"b": 1} }')()).toBe('{ "a": {"b": 1} }')
    expect(promptTemplate('Write {{{{name}}}} for {{name}}.')({ name: 'Ada' })).toBe('Write {{name}} for Ada.')
    expect(promptTemplate('{{{{{{name}}}}}}')({ name: 'Ada' })).toBe('{{Ada}}')
    expect(promptTemplate('{"name": {{name}}}')({ name: '"Ada"' })).toBe('{"name": "Ada"}')
  })

  test('accepts any name of a JavaScript variable, with letters of any language, also the names of Object.prototype', () => {
    const text = '{{constructor}} {{toString}} {{größe}} {{$a_1}}'
    expect(promptTemplate(text)({ constructor: 'a', toString: 'b', größe: 'c', $a_1: 'd' } as never)).toBe('a b c d')
    expect(unchecked('{{__proto__}}')(JSON.parse('{"__proto__":"a"}'))).toBe('a')
    expect(unchecked('{{name}}')(Object.assign(Object.create(null), { name: 'Ada' }))).toBe('Ada')
  })

  test.each<[string, string, unknown, string]>([
    ['undefined instead of an object', '{{name}}', undefined, "has no value for 'name'"],
    ['null instead of an object', '{{name}}', null, "has no value for 'name'"],
    ['no value', '{{name}} {{age}} {{city}}', { age: 3 }, "has no value for 'name', and has no value for 'city'"],
    ['undefined', '{{name}}', { name: undefined }, "has no value for 'name'"],
    ['null for a value', '{{name}}', { name: null }, "has no value for 'name'"],
    ['a value of the prototype', '{{name}}', Object.create({ name: 'Ada' }), "has no value for 'name'"],
    ['no value for a name of Object.prototype', '{{constructor}}', {}, "has no value for 'constructor'"],
    ['no value for __proto__', '{{__proto__}}', { __proto__: 'a' }, "has no value for '__proto__'"],
    ['a typo', '{{name}}', { nmae: 'Ada' }, "has no value for 'name', and has no variable 'nmae'"],
    [
      'values for unknown variables',
      '{{name}}',
      { name: 'Ada', age: 3, city: 'X' },
      "has no variable 'age', and has no variable 'city'",
    ],
    ['a value too many, undefined', '{{name}}', { name: 'Ada', age: undefined }, "has no variable 'age'"],
    ['a text in place of the values', 'Hi', 'a', "has no variable '0'"],
    ['an object', '{{items}}', { items: {} }, "needs a string, a boolean or a finite number for 'items'"],
    ['a list', '{{items}}', { items: ['a'] }, "needs a string, a boolean or a finite number for 'items'"],
    ['a function', '{{name}}', { name: () => 'Ada' }, "needs a string, a boolean or a finite number for 'name'"],
    ['a symbol', '{{name}}', { name: Symbol('a') }, "needs a string, a boolean or a finite number for 'name'"],
    ['a bigint', '{{name}}', { name: 5n }, "needs a string, a boolean or a finite number for 'name'"],
    [
      'a promise',
      '{{name}}',
      { name: Promise.resolve('a') },
      "needs a string, a boolean or a finite number for 'name'",
    ],
    ['NaN', '{{age}}', { age: Number.NaN }, "needs a string, a boolean or a finite number for 'age'"],
    ['an infinity', '{{age}}', { age: -1 / 0 }, "needs a string, a boolean or a finite number for 'age'"],
  ])('refuses %s, and names the variable', (_what, text, values, problem) => {
    expect(problemOf(() => unchecked(text)(values))).toBe(`The prompt template '${text}' ${problem}.`)
  })

  test.each<[string, string]>([
    ['Hello {{name', 'has {{ without }}. Write {{{{ for literal braces'],
    ['Hello name}}', 'has }} without {{. Write }}}} for literal braces'],
    ['{"a": {"b": 1}}', 'has }} without {{. Write }}}} for literal braces'],
    ['Hello {{}}', "has '' in double braces, which is not a valid name"],
    ['Hello {{  }}', "has '' in double braces, which is not a valid name"],
    ['{{first name}}', "has 'first name' in double braces, which is not a valid name"],
    ['{{user.name}}', "has 'user.name' in double braces, which is not a valid name"],
    ['{{1st}}', "has '1st' in double braces, which is not a valid name"],
    ['{{{name}}}', "has '{name' in double braces, which is not a valid name"],
    ['{{a, {{b}}', "has 'a, {{b' in double braces, which is not a valid name"],
  ])('refuses %j when it is made', (text, problem) => {
    expect(problemOf(() => promptTemplate(text))).toBe(`The prompt template '${text.slice(0, 40)}' ${problem}.`)
  })

  test('shows the beginning of a long template in its error, and no values', () => {
    const long = `You are ${'very '.repeat(20)}kind to {{name}} and {{other}}.`
    const problem = problemOf(() => unchecked(long)({ name: 'a secret', third: 'a secret' }))
    expect(problem).toBe(
      "The prompt template 'You are very very very very very very ve...' has no value for 'other', and has no variable 'third'.",
    )
  })

  test.each([undefined, null, 5, {}])('refuses %j for a template', (text) => {
    expect(problemOf(() => promptTemplate(text as never))).toBe('promptTemplate needs a string.')
  })

  test('removes the shared indentation, and a blank first and last line', () => {
    const desk = promptTemplate(`
      You answer for {{shop}}.

      Rules:
        - Be brief.
    `)
    expect(desk({ shop: 'Fern & Kettle' })).toBe('You answer for Fern & Kettle.\n\nRules:\n  - Be brief.')
  })

  test('ignores the line of the backtick and blank lines when it measures the indentation', () => {
    expect(promptTemplate('One.\n    Two.\n\n      Three.')()).toBe('One.\nTwo.\n\n  Three.')
    expect(promptTemplate('\n\tOne.\n \n\t\tTwo.\n')()).toBe('One.\n\n\tTwo.')
    expect(promptTemplate('\n\n')()).toBe('')
    expect(promptTemplate('\n   \n   ')()).toBe('')
    expect(promptTemplate('  One line.  ')()).toBe('  One line.  ')
    expect(promptTemplate(' ')()).toBe(' ')
  })

  test('does not change the indentation of values', () => {
    const list = promptTemplate(`
      Items:
      {{items}}
    `)
    expect(list({ items: '      a\n  b' })).toBe('Items:\n      a\n  b')
  })
})

describe('joinPrompts', () => {
  test('puts a blank line between the parts, and leaves out undefined, false and empty ones', () => {
    expect(joinPrompts('One.', undefined, false, '', 'Two.\nThree.')).toBe('One.\n\nTwo.\nThree.')
    expect([joinPrompts(), joinPrompts('', undefined), joinPrompts('One.')]).toEqual(['', '', 'One.'])
  })

  test.each([null, 0, true, {}, () => 'One.'])('refuses %s for a part', (part) => {
    expect(problemOf(() => joinPrompts('One.', part as never))).toBe(
      'joinPrompts takes strings, undefined and false; part 2 is something else.',
    )
    expect(problemOf(() => joinPrompts(part as never))).toContain('part 1 is')
  })
})
