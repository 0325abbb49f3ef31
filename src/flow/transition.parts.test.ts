/** `withParts` and `withLead`: which transitions take them, and what they refuse. */
import { describe, expect, test } from 'vitest'
import { back, call, finish, go, reply, retry, stay, type Transition } from '../index.js'
import { card, choices, custom, file } from '../parts/index.js'

const size = choices('size', [{ value: 's', label: 'Small' }])
const note = card({ title: 'Note', rows: [] })
const flowError = (message: string) => expect.objectContaining({ code: 'FLOW_ERROR', message })
const untyped = (transition: Transition, parts: unknown) => () => transition.withParts(parts as never)
const sayNoText = 'Parts need a reply with a text, for clients without parts.'

describe('withParts', () => {
  test.each<[string, Transition]>([
    ['go', go('Next').withReply('a')],
    ['call', call('Next').withReply('a')],
    ['back', back().withReply('a')],
    ['reply', reply('a')],
    ['an object', reply({ a: 1 })],
    ['stay', stay('a')],
    ['finish', finish('a')],
    ['a lead', back().withLead('a')],
  ])('is taken by a reply of %s, which keeps the rest', (_kind, transition) => {
    const parts = [size, note]
    const changed = transition.withParts(parts)
    parts.pop()
    expect(changed.fields).toEqual({ ...transition.fields, parts: [size, note] })
    expect(Object.isFrozen(changed.fields.parts)).toBe(true)
    expect(transition.fields).not.toHaveProperty('parts')
    expect(changed.withParts([note]).fields.parts).toEqual([note])
  })

  test('is not taken by retry', () => {
    expect(untyped(retry('a'), [note])).toThrow(
      flowError('retry(...) does not take withParts. Return reply(text).withParts([...]).'),
    )
  })

  test.each<[string, () => Transition]>([
    ['go', () => go('Next').withParts([note])],
    ['call', () => call('Next').withParts([note])],
    ['back', () => back().withParts([note])],
    ['a blank lead', () => back().withLead(' ').withParts([note])],
    ['a silent reply', () => reply().withParts([note])],
    ['an empty reply', () => reply('').withParts([note])],
    ['a blank reply', () => reply(' \n').withParts([note])],
    ['stay', () => stay().withParts([note])],
    ['finish', () => finish().withParts([note])],
    ['a later empty reply', () => reply('a').withParts([note]).withReply('')],
  ])('needs a text: %s', (_what, make) => {
    expect(make).toThrow(flowError(sayNoText))
  })

  test('refuses a reply of bytes, in either order', () => {
    const bytes = { encoding: 'base64' } as const
    const refusal = flowError('A reply of bytes may not have parts.')
    expect(() => reply('AAEC').withContentType('image/png', bytes).withParts([note])).toThrow(refusal)
    expect(() => reply('AAEC').withParts([note]).withContentType('image/png', bytes)).toThrow(refusal)
    expect(() => reply('a,b').withParts([note]).withContentType('text/csv')).not.toThrow()
  })

  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['one part', note],
    ['a set', new Set([note])],
    ['a plain object', [{ type: 'card', title: 'a', rows: [] }]],
    ['a part that became JSON and came back', [JSON.parse(JSON.stringify(note))]],
    ['a changed copy', [{ ...note, title: 'b' }]],
    ['null', [note, null]],
    ['a text', ['Small']],
    ['a transition', [reply('a')]],
  ])('refuses what no builder has made: %s', (_what, parts) => {
    expect(untyped(reply('a'), parts)).toThrow(flowError('withParts needs parts made with turnkeeper/parts.'))
  })

  test('takes parts of another copy of the package', () => {
    const foreign = Object.defineProperty({ type: 'card', title: 'a', rows: [] }, Symbol.for('turnkeeper.ReplyPart'), {
      value: true,
    })
    expect(untyped(reply('a'), [foreign])).not.toThrow()
  })

  test('takes eight parts, 16 KiB of them, and one choices', () => {
    const bound = flowError('A reply may have at most 8 parts, 16384 bytes, and one list of choices.')
    const eight = new Array(8).fill(note)
    const half = custom('half', 'x'.repeat(8_100))
    expect(untyped(reply('a'), [])).not.toThrow()
    expect(untyped(reply('a'), eight)).not.toThrow()
    expect(untyped(reply('a'), [...eight, note])).toThrow(bound)
    expect(untyped(reply('a'), [half, half])).not.toThrow()
    expect(untyped(reply('a'), [half, half, half])).toThrow(bound)
    expect(untyped(reply('a'), [size, note, choices('other', size.options)])).toThrow(bound)
    expect(untyped(reply('a'), [file({ name: 'a', mediaType: 'a/b', url: 'https://example.com' }), size])).not.toThrow()
  })
})

describe('withLead', () => {
  test.each<[string, Transition]>([
    ['go', go('Next')],
    ['call', call('Next')],
    ['back', back()],
  ])('is taken by %s', (_kind, transition) => {
    expect(transition.withLead('a').fields).toEqual({ ...transition.fields, lead: 'a' })
  })

  test.each<[string, Transition]>([
    ['reply', reply('a')],
    ['stay', stay('a')],
    ['retry', retry('a')],
    ['finish', finish('a')],
  ])('is not taken by %s', (kind, transition) => {
    expect(() => transition.withLead('a')).toThrow(
      flowError(`${kind}(...) does not take withLead. Put the text into the reply.`),
    )
  })

  test('needs a text', () => {
    expect(() => back().withLead(7 as never)).toThrow(flowError('withLead needs a text; got 7.'))
  })
})

describe('call and back', () => {
  test('call takes a state as an option, checked as by withState', () => {
    expect(call('Next', { state: { a: 1 } }).fields).toEqual({ kind: 'call', target: 'Next', state: { a: 1 } })
    expect(() => call('Next', { state: { a: () => 1 } })).toThrow('withState cannot store this: state.a is a function')
    expect(() => call(undefined as never)).toThrow(flowError('call needs a step, a flow or an ID; got undefined.'))
    expect(call('Next', null as never).fields).toEqual({ kind: 'call', target: 'Next' })
  })

  test('back gives any value, also one that JSON cannot carry', () => {
    const value = new Map()
    expect(back(value).fields).toEqual({ kind: 'back', value })
    expect(back().fields).toEqual({ kind: 'back' })
    expect(back(null).fields).toEqual({ kind: 'back', value: null })
  })
})
