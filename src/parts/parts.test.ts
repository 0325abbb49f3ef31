/** The builders of parts: what they make, and what they refuse. */
import { describe, expect, test } from 'vitest'
import { isReplyPart } from '../model/reply-part.js'
import { card, choices, custom, file, form, textOf } from './index.js'

const small = { value: 's', label: 'Small' }
const large = { value: 'l', label: 'Large' }
const schema = { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] } as const
const pdf = { name: 'invoice.pdf', mediaType: 'application/pdf', url: 'https://files.example.com/i/4711' }

/** Calls a builder as untyped code can. */
const build = (builder: unknown, ...values: unknown[]) => (builder as (...values: unknown[]) => unknown)(...values)
const flowError = (message: string) => expect.objectContaining({ code: 'FLOW_ERROR', message })

describe('a part', () => {
  test.each([
    [choices('size', [small, large]), { type: 'choices', name: 'size', options: [small, large] }],
    [card({ title: 'Order', rows: [['State', '']] }), { type: 'card', title: 'Order', rows: [['State', '']] }],
    [form({ name: 'address', schema }), { type: 'form', name: 'address', schema }],
    [
      form({ name: 'address', schema, values: { town: 7 }, errors: { town: 'Too short.' } }),
      { type: 'form', name: 'address', schema, values: { town: 7 }, errors: { town: 'Too short.' } },
    ],
    [file(pdf), { type: 'file', ...pdf }],
    [
      custom('map', { at: [52.5, 13.4], note: null }),
      { type: 'custom', name: 'map', data: { at: [52.5, 13.4], note: null } },
    ],
  ])('is plain JSON, frozen to its depth, and marked where JSON does not see it: %#', (part, expected) => {
    expect(JSON.parse(JSON.stringify(part))).toEqual(expected)
    expect(Object.keys(part)).toEqual(Object.keys(expected))
    expect(isReplyPart(part)).toBe(true)
    expect([isReplyPart({ ...part }), isReplyPart(structuredClone(part)), isReplyPart(expected)]).not.toContain(true)
    const thaw = (value: object): object[] =>
      [value, ...Object.values(value).filter((one) => typeof one === 'object' && one !== null)].flatMap((one, index) =>
        index === 0 ? [one] : thaw(one),
      )
    expect(thaw(part).filter((one) => !Object.isFrozen(one))).toEqual([])
  })

  test('is a copy: what the flow changes later does not reach it', () => {
    const [option, row, data] = [{ ...small, note: 'kept away' }, ['State', 'new'] as [string, string], { at: [1] }]
    const parts = [choices('size', [option]), card({ title: 'Order', rows: [row] }), custom('map', data)]
    const before = JSON.stringify(parts)
    option.value = 'changed'
    row[1] = 'changed'
    data.at.push(2)
    expect(JSON.stringify(parts)).toBe(before)
    expect(before).not.toContain('kept away')
  })

  test('has at most 16 KiB as JSON, escapes and bytes of UTF-8 included', () => {
    const room = 16 * 1024 - JSON.stringify(custom('a', '')).length
    expect(custom('a', 'x'.repeat(room)).data).toHaveLength(room)
    for (const text of ['x'.repeat(room + 1), 'ä'.repeat(room / 2 + 1), '\n'.repeat(room / 2 + 1), 'x'.repeat(1e7)]) {
      expect(() => custom('a', text)).toThrow(
        /^custom: a part may have at most 16384 bytes as JSON; this one has \d+\.$/,
      )
    }
    expect(() => choices('size', [{ value: 's', label: 'x'.repeat(16_385) }])).toThrow('options[0].label')
  })

  test('takes half a surrogate pair as any text does, and counts it as JSON writes it', () => {
    expect(JSON.parse(JSON.stringify(custom('a', '\ud800')))).toEqual({ type: 'custom', name: 'a', data: '\ud800' })
  })
})

describe('refused:', () => {
  const text = (field: string, got: string) => `${field}: a text that is not empty; got ${got}.`
  const shortText = (field: string, got: string) =>
    `${field}: a text of at most 200 characters that is not empty; got ${got}.`
  const taken = "custom needs a name of letters, digits, '.', '_' and '-', other than choices, card, form, file, reset"
  const twice = (field: string, shown: string) => `choices has two options with the ${field} '${shown}'.`

  const mistaken = (one: string, other: string) =>
    `choices: the value or the label of '${one}' is the number or the label of '${other}'.`

  test.each<[string, unknown, unknown[], string]>([
    ['no name', choices, [undefined, [small]], shortText('choices needs name', 'undefined')],
    ['a blank name', choices, [' \n', [small]], shortText('choices needs name', "the text ' \uFFFD'")],
    ['no options', choices, ['size'], 'choices needs a list of at least one option; got undefined.'],
    ['an empty list', choices, ['size', []], 'choices needs a list of at least one option; got a list.'],
    [
      'something like a list',
      choices,
      ['size', { length: 1 }],
      'choices needs a list of at least one option; got an object.',
    ],
    ['null as an option', choices, ['size', [null]], shortText('choices needs options[0].value', 'undefined')],
    ['a hole', choices, ['size', new Array(1)], shortText('choices needs options[0].value', 'undefined')],
    [
      'an empty value',
      choices,
      ['size', [{ value: '', label: 'a' }]],
      shortText('choices needs options[0].value', "the text ''"),
    ],
    [
      'a number as a label',
      choices,
      ['size', [small, { value: 'l', label: 7 }]],
      text('choices needs options[1].label', '7'),
    ],
    ['a value twice', choices, ['size', [small, { value: 's', label: 'Other' }]], twice('value', 's')],
    [
      'labels that a message cannot tell apart',
      choices,
      ['size', [small, { value: 'x', label: ' sM all' }]],
      twice('label', ' sM all'),
    ],
    [
      'a label that is the number of another option',
      choices,
      ['size', [{ value: 's', label: '2' }, large]],
      mistaken('2', 'Large'),
    ],
    [
      'a value that is the number of another option',
      choices,
      ['size', [small, { value: '1', label: 'Large' }]],
      mistaken('Large', 'Small'),
    ],
    [
      'a value that is the label of another option',
      choices,
      ['size', [small, { value: 'SMALL', label: 'Large' }]],
      mistaken('Large', 'Small'),
    ],
    ['no card', card, [], text('card needs title', 'undefined')],
    ['null', card, [null], text('card needs title', 'undefined')],
    ['a blank title', card, [{ title: ' ', rows: [] }], text('card needs title', "the text ' '")],
    ['no rows', card, [{ title: 'a' }], 'card needs a list of rows; got undefined.'],
    [
      'a row of one text',
      card,
      [{ title: 'a', rows: [['b', 'c'], ['b']] }],
      'card needs rows of two texts, a label and a value; rows[1] is not one.',
    ],
    [
      'a row of three',
      card,
      [{ title: 'a', rows: [['b', 'c', 'd']] }],
      'card needs rows of two texts, a label and a value; rows[0] is not one.',
    ],
    [
      'a row that is a text',
      card,
      [{ title: 'a', rows: ['ab'] }],
      'card needs rows of two texts, a label and a value; rows[0] is not one.',
    ],
    [
      'a hole as a row',
      card,
      [{ title: 'a', rows: new Array(1) }],
      'card needs rows of two texts, a label and a value; rows[0] is not one.',
    ],
    ['no file', file, [], shortText('file needs name', 'undefined')],
    [
      'a media type with parameters',
      file,
      [{ ...pdf, mediaType: 'text/csv; header=present' }],
      "file needs a mediaType like 'application/pdf'; got the text 'text/csv; header=present'.",
    ],
    [
      'an object as a media type',
      file,
      [{ ...pdf, mediaType: { toString: () => 'a/b' } }],
      "file needs a mediaType like 'application/pdf'; got an object.",
    ],
    ['a name of a built-in part', custom, ['card', 1], `${taken}; got the text 'card'.`],
    ['reset', custom, ['reset', 1], `${taken}; got the text 'reset'.`],
    ['a name that begins with a digit', custom, ['1a', 1], `${taken}; got the text '1a'.`],
    ['a name with a line break', custom, ['a\n', 1], `${taken}; got the text 'a\uFFFD'.`],
    ['a number as a name', custom, [7, 1], `${taken}; got 7.`],
    ['a long name', custom, ['a'.repeat(65), 1], `${taken}; got the text '${'a'.repeat(65)}'.`],
    ['no data', custom, ['map'], 'custom needs plain JSON: data is undefined, which JSON cannot carry.'],
    ['NaN', custom, ['map', { at: Number.NaN }], 'custom needs plain JSON: data.at is NaN, which JSON cannot carry.'],
    [
      'a Date',
      custom,
      ['map', new Date(0)],
      'custom needs plain JSON: data is an instance of Date, which JSON cannot carry: use date.toISOString().',
    ],
    [
      'a function',
      custom,
      ['map', { toJSON: () => 1 }],
      'custom needs plain JSON: data.toJSON is a function, which JSON cannot carry.',
    ],
    [
      'a key that changes prototypes',
      custom,
      ['map', JSON.parse('{"__proto__":{}}')],
      'custom needs plain JSON: data has a key named __proto__, which is reserved.',
    ],
    [
      'what is inherited',
      custom,
      ['map', Object.create({ a: 1 })],
      'custom needs plain JSON: data is an instance of Object, which JSON cannot carry.',
    ],
  ])('%s', (_what, builder, values, message) => {
    expect(() => build(builder, ...values)).toThrow(flowError(message))
  })

  test('options may have their own number as a value or a label, and values that differ in case', () => {
    const options = [
      { value: '1', label: 'One' },
      { value: 'b', label: '2' },
      { value: 'B', label: 'three' },
      { value: 'THREE ', label: 'Three pieces' },
    ]
    expect(choices('count', options.slice(0, 3)).options).toHaveLength(3)
    expect(() => choices('count', options)).toThrow(flowError(mistaken('Three pieces', 'three')))
  })

  test('data that is nested too deep, at any depth, or in itself', () => {
    const nested = (levels: number) => JSON.parse(`${'['.repeat(levels)}${']'.repeat(levels)}`)
    const ring: unknown[] = []
    ring.push(ring)
    expect(custom('map', nested(16))).toMatchObject({ type: 'custom' })
    for (const levels of [17, 5000])
      expect(() => custom('map', nested(levels))).toThrow('is nested deeper than 16 levels.')
    expect(() => build(custom, 'map', ring)).toThrow(flowError('custom needs plain JSON: data[0] is part of itself.'))
  })

  const thrower = (name: string, more: object = {}) =>
    Object.defineProperty(more, name, {
      enumerable: true,
      get() {
        throw new Error('no')
      },
    })
  const revoked = (target: object) => {
    const { proxy, revoke } = Proxy.revocable(target, {})
    revoke()
    return proxy
  }
  test.each<[string, unknown, unknown[]]>([
    ['choices', choices, ['size', revoked([])]],
    ['choices', choices, ['size', [thrower('label', { value: 's' })]]],
    ['card', card, [thrower('title')]],
    ['card', card, [{ title: 'a', rows: [revoked([])] }]],
    ['form', form, [{ name: 'a', schema, values: thrower('town') }]],
    ['file', file, [thrower('url', { name: 'a', mediaType: 'a/b' })]],
    ['custom', custom, ['map', revoked({})]],
  ])('values that cannot be read are the error of %s, with its cause: %#', (type, builder, values) => {
    const expected = { code: 'FLOW_ERROR', message: `${type} cannot read its arguments.`, cause: expect.any(Error) }
    expect(() => build(builder, ...values)).toThrow(expect.objectContaining(expected))
  })

  test('a value is read once, so that it cannot change after its check', () => {
    let reads = 0
    const label = 'Small'
    const option = Object.defineProperty({ label }, 'value', { get: () => (reads++ === 0 ? 's' : '') })
    expect(choices('size', [option as typeof small]).options).toEqual([small])
  })
})

describe('the url of a file', () => {
  test.each([
    ['HTTPS://Files.Example.com/a b', 'https://files.example.com/a%20b'],
    ['http://files.example.com', 'http://files.example.com/'],
    ['https://files.example.com/"><script>', 'https://files.example.com/%22%3E%3Cscript%3E'],
    ['https://files.example.com/#"><img>', 'https://files.example.com/#%22%3E%3Cimg%3E'],
    ['https://files.example.com/\u202E\ud800', 'https://files.example.com/%E2%80%AE%EF%BF%BD'],
    ['\thttps://files.example.com/\n', 'https://files.example.com/'],
  ])('%j is stored as URL writes it', (url, expected) => {
    expect(file({ ...pdf, url }).url).toBe(expected)
  })

  test.each([
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'JAVASCRIPT://files.example.com/%0Aalert(1)',
    'data:text/html,<script>',
    'vbscript:x',
    'blob:https://files.example.com/1',
    'filesystem:https://files.example.com/1',
    'view-source:https://files.example.com',
    'file:///etc/passwd',
    'ftp://files.example.com',
    '/i/4711',
    'i/4711',
    '//files.example.com/i',
    'https://',
    'https://files example.com',
    'https://ada@files.example.com',
    'https://ada:secret@files.example.com',
    'https://:secret@files.example.com',
    '',
    7,
    undefined,
    new URL('https://files.example.com'),
  ])('%s is refused', (url) => {
    expect(() => build(file, { ...pdf, url })).toThrow(
      flowError('file needs an absolute url of https or http, without a user name and a password.'),
    )
  })
})

describe('textOf', () => {
  test('adds the options as a numbered list, and nothing of other parts', () => {
    expect(
      textOf('Which size?', [card({ title: 'Sizes', rows: [] }), choices('size', [small, large]), file(pdf)]),
    ).toBe('Which size?\n1. Small\n2. Large')
  })

  test('is the text alone without choices', () => {
    expect([textOf('Hello'), textOf('Hello', []), textOf('Hello', [file(pdf)])]).toEqual(['Hello', 'Hello', 'Hello'])
  })
})
