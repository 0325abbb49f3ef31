import { describe, expect, test } from 'vitest'
import { End, finish, go, HttpContentType, LogicStep, reply, retry, stay } from '../index.js'
import { Transition } from './transition.js'

class Confirm extends LogicStep<{ name?: string; tags?: string[] }> {
  static override readonly id = 'Confirm'
  override run() {
    return finish()
  }
}

/** Calls a builder as untyped code can. */
function untyped(builder: unknown): (...values: unknown[]) => Transition {
  return builder as (...values: unknown[]) => Transition
}

describe('a builder', () => {
  test('go names a step by its class or its ID', () => {
    expect(go(Confirm).fields).toEqual({ kind: 'go', target: Confirm })
    expect(go('Confirm').fields).toEqual({ kind: 'go', target: 'Confirm' })
    expect(go(End).fields).toEqual({ kind: 'go', target: End })
  })

  test('reply takes a text as it is, and an object as JSON text', () => {
    expect(reply('{not json').fields).toEqual({ kind: 'reply', reply: '{not json' })
    expect(reply('').fields).toEqual({ kind: 'reply', reply: '' })
    expect(reply({ total: 2, rows: [1, null] }).fields.reply).toBe('{"total":2,"rows":[1,null]}')
    expect(reply(['a', 'b']).fields.reply).toBe('["a","b"]')
    expect(reply({ total: 2, note: undefined }).fields.reply).toBe('{"total":2}')
  })

  test('stay takes a text or none; retry takes a reason', () => {
    expect(stay().fields).toEqual({ kind: 'stay' })
    expect(stay('Once more, please.').fields).toEqual({ kind: 'stay', feedback: 'Once more, please.' })
    expect(retry('Answer in one word.').fields).toEqual({ kind: 'retry', feedback: 'Answer in one word.' })
  })

  test('finish takes a closing text, an object, or nothing', () => {
    expect(finish().fields).toEqual({ kind: 'finish' })
    expect(finish('Goodbye.').fields).toEqual({ kind: 'finish', reply: 'Goodbye.' })
    expect(finish({ ok: true }).fields).toEqual({ kind: 'finish', reply: '{"ok":true}' })
  })

  test.each([
    ['go', go, undefined, 'go needs a step class or a step ID; got undefined.'],
    ['go', go, { id: 'Confirm' }, 'go needs a step class or a step ID; got an object.'],
    ['reply', reply, undefined, 'reply needs a text or an object; got undefined.'],
    ['reply', reply, null, 'reply needs a text or an object; got null.'],
    ['reply', reply, 36, 'reply needs a text or an object; got 36.'],
    [
      'reply',
      reply,
      { at: new Date(0) },
      'reply cannot send this: content.at is an instance of Date, which JSON cannot carry: use date.toISOString().',
    ],
    ['finish', finish, 36, 'finish needs a text or an object; got 36.'],
    [
      'finish',
      finish,
      { total: Number.NaN },
      'finish cannot send this: content.total is NaN, which JSON cannot carry.',
    ],
    ['stay', stay, 36, 'stay needs a text; got 36.'],
    ['retry', retry, undefined, 'retry needs a text; got undefined.'],
  ])('%s refuses invalid arguments: %#', (_name, builder, value, message) => {
    expect(() => untyped(builder)(value)).toThrow(expect.objectContaining({ code: 'FLOW_ERROR', message }))
  })
})

describe('a transition', () => {
  test('cannot be changed', () => {
    const transition = go(Confirm).withState({ name: 'Ada' })
    expect(Object.isFrozen(transition)).toBe(true)
    expect(Object.isFrozen(transition.fields)).toBe(true)
  })

  test('is not changed by a modifier, which returns another', () => {
    const first = go(Confirm)
    const second = first
      .withReply('Done.')
      .withContentType('text/csv')
      .withState({ name: 'Ada' })
      .withPrompt('Be brief.')
      .withMessage('yes')
      .withFeedback('Noted.')
    expect(first.fields).toEqual({ kind: 'go', target: Confirm })
    expect(second.fields).toEqual({
      kind: 'go',
      target: Confirm,
      reply: 'Done.',
      contentType: 'text/csv',
      state: { name: 'Ada' },
      prompt: 'Be brief.',
      message: 'yes',
      feedback: 'Noted.',
    })
  })

  test('takes modifiers in any order, and the last one of a kind counts', () => {
    expect(go(Confirm).withPrompt('a').withReply('b').withPrompt('c').fields).toEqual(
      go(Confirm).withReply('b').withPrompt('c').fields,
    )
  })

  test('is recognised by its symbol, so that another copy of the package recognises it', () => {
    expect(Transition.isInstance(stay())).toBe(true)
    expect(Transition.isInstance(Object.create({ [Symbol.for('turnkeeper.Transition')]: true }))).toBe(true)
    for (const other of [undefined, null, 'go', go, { fields: { kind: 'go' } }]) {
      expect(Transition.isInstance(other)).toBe(false)
    }
  })
})

describe('withReply, withPrompt, withMessage and withFeedback', () => {
  test('withReply sends an object as JSON text', () => {
    expect(go(Confirm).withReply({ ok: true }).fields.reply).toBe('{"ok":true}')
  })

  test.each([
    ['withReply', 'withReply needs a text or an object; got 7.'],
    ['withPrompt', 'withPrompt needs a text; got 7.'],
    ['withMessage', 'withMessage needs a text; got 7.'],
    ['withFeedback', 'withFeedback needs a text; got 7.'],
  ] as const)('%s refuses a number', (modifier, message) => {
    const transition = go(Confirm)
    expect(() => untyped(transition[modifier]).call(transition, 7)).toThrow(
      expect.objectContaining({ code: 'FLOW_ERROR', message }),
    )
  })
})

describe('withState', () => {
  test('copies its argument, so that later changes do not affect it', () => {
    const given = { tags: ['new'] }
    const transition = go(Confirm).withState(given)
    given.tags.push('changed')
    expect(transition.fields.state).toEqual({ tags: ['new'] })
  })

  test('keeps only the last one', () => {
    expect(go(Confirm).withState({ name: 'Ada' }).withState({ tags: [] }).fields.state).toEqual({ tags: [] })
  })

  test.each([
    ['a text', 'Ada', "withState needs an object; got the text 'Ada'."],
    ['a list', ['Ada'], 'withState needs an object; got a list.'],
    ['a promise', Promise.resolve({}), 'withState needs an object; got a promise: await it first.'],
    ['null', null, 'withState needs an object; got null.'],
    [
      'a function',
      { name: () => 'Ada' },
      'withState cannot store this: state.name is a function, which JSON cannot carry.',
    ],
    [
      'a Map',
      { names: [new Map()] },
      'withState cannot store this: state.names[0] is an instance of Map, which JSON cannot carry.',
    ],
  ])('refuses %s, when it is called', (_what, value, message) => {
    const transition = go('Confirm')
    expect(() => untyped(transition.withState).call(transition, value)).toThrow(
      expect.objectContaining({ code: 'FLOW_ERROR', message }),
    )
  })
})

test('an error that a getter of the content throws is not wrapped', () => {
  const content = Object.defineProperty({}, 'total', {
    enumerable: true,
    get() {
      throw new Error('no total')
    },
  })
  expect(() => reply(content)).toThrow(new Error('no total'))
  expect(() => go('Confirm').withState(content)).toThrow(new Error('no total'))
})

describe('withContentType', () => {
  test('[2.4-3] takes a media type, with parameters or without', () => {
    for (const type of [
      HttpContentType.Csv,
      'application/vnd.example+json',
      'text/csv; header=present',
      'text/plain;charset="utf-8"',
    ]) {
      expect(reply('a,b').withContentType(type).fields.contentType).toBe(type)
    }
  })

  test.each([
    '',
    'csv',
    'text/',
    '/csv',
    'text/csv\r\nx: y',
    'text/csv;\r\n x=y',
    'text/csv, text/html',
    'text/csv;',
    'text /csv',
    'téxt/csv',
  ])('refuses %j, when it is called', (type) => {
    expect(() => reply('a').withContentType(type)).toThrow(
      expect.objectContaining({
        code: 'FLOW_ERROR',
        message: `withContentType needs a media type like 'text/csv'; got the text '${type.replaceAll(/\p{C}/gu, '\uFFFD')}'.`,
      }),
    )
  })

  test('refuses a number', () => {
    const transition = reply('a')
    expect(() => untyped(transition.withContentType).call(transition, 7)).toThrow(
      "withContentType needs a media type like 'text/csv'; got 7.",
    )
  })

  test('shows only the beginning of a long text in its error', () => {
    expect(() => reply('a').withContentType('x'.repeat(300))).toThrow(`; got the text '${'x'.repeat(199)}…'.`)
  })
})

describe('withContentType with base64', () => {
  const notBase64 = 'The reply must be bytes in base64: the standard alphabet, padded, without line breaks.'

  test.each(['', 'AAECAw==', 'AAEC', 'AAE=', '+/+/'])('accepts %j', (bytes) => {
    const { fields } = reply(bytes).withContentType(HttpContentType.Png, { encoding: 'base64' })
    expect(fields).toMatchObject({ reply: bytes, contentType: 'image/png', encoding: 'base64' })
  })

  test.each(['AAECAw', 'AAE', 'A===', '-_-_', 'AAEC\nAAE', 'hello world'])('refuses %j, when it is called', (text) => {
    expect(() => reply(text).withContentType(HttpContentType.Png, { encoding: 'base64' })).toThrow(
      expect.objectContaining({ code: 'FLOW_ERROR', message: notBase64 }),
    )
  })

  test('accepts megabytes', () => {
    const bytes = 'AAEC'.repeat(3_000_000)
    const { fields } = reply(bytes).withContentType(HttpContentType.Png, { encoding: 'base64' })
    expect(fields.reply === bytes).toBe(true)
  })

  test('checks a reply that is set later', () => {
    const move = go(Confirm).withContentType(HttpContentType.Png, { encoding: 'base64' })
    expect(move.withReply('AAEC').fields.reply).toBe('AAEC')
    expect(() => move.withReply('not base64!')).toThrow(notBase64)
  })

  test('is removed by a later content type without it', () => {
    const text = reply('AAEC')
      .withContentType(HttpContentType.Png, { encoding: 'base64' })
      .withContentType(HttpContentType.Svg)
    expect(text.fields).toEqual({ kind: 'reply', reply: 'AAEC', contentType: 'image/svg+xml' })
  })

  test('refuses any other encoding', () => {
    const transition = reply('AAEC')
    expect(() => untyped(transition.withContentType).call(transition, 'image/png', { encoding: 'hex' })).toThrow(
      "withContentType needs the encoding 'base64'; got the text 'hex'.",
    )
  })
})
