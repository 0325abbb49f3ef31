/** Rich replies and the option `mask`: what the history and the open choices store. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { flow, step, talk } from '../../../testing/contract/side-flows/talk.js'
import { type FlowEngineOptions, finish, type ReplyPart, reply } from '../../index.js'
import { card, choices, custom, file, form } from '../../parts/index.js'

afterEach(expectNothingLeft)

type Mask = NonNullable<FlowEngineOptions['mask']>
/** Each text of a part has `secret` in it. */
const mask: Mask = (text, where) => text.replaceAll('secret', `<${where}>`)
const secrets: readonly ReplyPart[] = [
  choices('secret list', [
    { value: 'secret-1', label: 'The first secret' },
    { value: '2', label: 'The second secret' },
  ]),
  card({
    title: 'A secret',
    rows: [
      ['secret label', 'secret value'],
      ['', 'open'],
    ],
  }),
  form({
    name: 'secret-form',
    schema: {
      ...{ $schema: 'https://example.com/secret', type: 'object', title: 'secret', description: 'a secret' },
      properties: {
        type: { type: 'string', title: 'secret', description: 'secret', format: 'email', default: 'secret' },
        format: { type: 'string', enum: ['secret', 'open'], enumNames: ['A secret', 'Open'] },
        count: { type: 'integer', title: 'How many secrets', minimum: 1 },
      },
      required: ['type'],
    },
    values: { type: 'secret', format: 'secret', count: 2 },
    errors: { type: 'No secret.' },
  }),
  file({ name: 'secret.pdf', mediaType: 'application/pdf', url: 'https://files.example.com/secret' }),
  custom('secret-part', { type: 'secret', format: ['secret'], nested: { deep: 'a secret', 'secret key': 1 } }),
]
const rich = () => reply('A secret for you.').withParts(secrets)
const Shop = flow('Shop', [
  step('Ask', (turn) =>
    turn.message === 'secrets' || turn.entered ? rich() : reply(JSON.stringify(turn.choice ?? null)),
  ),
])

/** A value with another text in place of each of its texts, its keys kept. */
const shape = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shape)
  if (typeof value !== 'object' || value === null) return typeof value
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key.replaceAll('secret', '<reply>'), shape(one)]),
  )
}

describe('mask', () => {
  test('is asked about each text of each part in the history; the reply of the turn keeps them', async () => {
    const { say, last, now } = talk(Shop, { mask })
    await say('hello')
    expect(last().parts).toEqual(secrets)
    const { history } = await now()
    const stored = history[0]?.parts ?? []
    expect(JSON.stringify(stored)).not.toContain('secret')
    expect(shape(stored)).toEqual(shape(secrets))
    expect(stored.map(({ type }) => type)).toEqual(secrets.map(({ type }) => type))
    expect(Object.isFrozen(stored) && Object.isFrozen(stored[1])).toBe(true)
  })

  test('keeps what a form is made of: types, formats, numbers, and required fields that exist', async () => {
    const { say, now } = talk(Shop, { mask })
    await say('hello')
    const [, , stored] = (await now()).history[0]?.parts ?? []
    expect(stored).toMatchObject({
      type: 'form',
      schema: {
        type: 'object',
        properties: {
          type: { type: 'string', title: '<reply>', format: 'email', default: '<reply>' },
          format: { type: 'string', enum: ['<reply>', 'open'], enumNames: ['A <reply>', 'Open'] },
          count: { type: 'integer', title: 'How many <reply>s', minimum: 1 },
        },
        required: ['type'],
      },
      values: { type: '<reply>', format: '<reply>', count: 2 },
      errors: { type: 'No <reply>.' },
    })
  })

  test('that changes all texts leaves a form that a page can show', async () => {
    const { say, now } = talk(Shop, { mask: (text) => `*${text}` })
    await say('hello')
    const [list, , stored, sent, data] = (await now()).history[0]?.parts ?? []
    expect(stored).toMatchObject({
      type: 'form',
      schema: {
        ...{ $schema: '*https://example.com/secret', type: 'object', title: '*secret' },
        properties: {
          '*type': { type: 'string', title: '*secret', format: 'email', default: '*secret' },
          '*format': { type: 'string', enum: ['*secret', '*open'] },
          '*count': { type: 'integer' },
        },
        required: ['*type'],
      },
      values: { '*type': '*secret', '*format': '*secret' },
      errors: { '*type': '*No secret.' },
    })
    expect([list?.type, sent?.type]).toEqual(['choices', 'file'])
    expect(data).toMatchObject({ type: 'custom', data: { '*type': '*secret', '*format': ['*secret'] } })
  })

  test('does not change what it is not asked to change', async () => {
    const { say, now } = talk(Shop, { mask: (text) => text })
    await say('hello')
    expect((await now()).history[0]?.parts).toEqual(secrets)
  })

  test('hides the labels of the open choices, and not their values, which the step must find', async () => {
    const { say, now } = talk(Shop, { mask })
    await say('hello')
    expect((await now()).flow.steps.Ask?.choices?.options).toEqual([
      { value: 'secret-1', label: 'The first <reply>' },
      { value: '2', label: 'The second <reply>' },
    ])
    const pressed = { choice: { turn: 1, name: 'secret list', value: 'secret-1' } }
    const chosen = '{"name":"secret list","value":"secret-1"}'
    expect(await say('The first secret', pressed)).toBe(chosen)
    expect(await say('1')).toBe(chosen)
    expect(await say('secret-1')).toBe(chosen)
  })

  test('may leave nothing of a label: the session goes on', async () => {
    const { say } = talk(Shop, { mask: (text) => (text.includes('secret') ? '' : text) })
    await say('hello')
    expect(await say('1')).toBe('{"name":"secret list","value":"secret-1"}')
    expect(await say('')).toBe('null')
  })

  test('gives masked parts to a repeat under a key, as it does with the text', async () => {
    const { say, last } = talk(Shop, { mask })
    await say('hello')
    const more = { idempotencyKey: 'a-key-of-16-characters' }
    await say('secrets', more)
    await say('secrets', more)
    expect(last()).toMatchObject({ replayed: true, turn: 2 })
    expect(JSON.stringify(last().parts)).not.toContain('secret')
  })

  test.each<[string, Mask]>([
    [
      'throws',
      (text) => {
        if (text === 'A secret') throw new Error(`cannot hide ${text}`)
        return text
      },
    ],
    ['returns no text', (text) => (text === 'A secret' ? (7 as never) : text)],
  ])('that %s for a text of a part fails the turn, which stores nothing of it', async (_what, broken) => {
    const { say, last, backing, now } = talk(Shop, { mask: broken })
    expect(await say('hello')).toMatch(/^FLOW_ERROR: FlowEngine: mask must return a string for a 'reply'; /)
    expect(last().parts).toBeUndefined()
    expect(JSON.stringify([...backing.values()])).not.toContain('secret')
    if (backing.size > 0) expect((await now()).history).toEqual([])
  })

  test('is asked about the parts of the last reply, too', async () => {
    const { say, now } = talk(flow('Shop', [step('Ask', () => finish('Bye.').withParts(secrets))]), { mask })
    await say('hello')
    expect(JSON.stringify(await now())).not.toContain('secret')
  })
})
