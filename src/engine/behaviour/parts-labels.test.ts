/** Labels, names and values that the option `mask` changes: what the user can still choose, live and after a reload. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { flow, step, talk } from '../../../testing/contract/side-flows/talk.js'
import { type FlowEngineOptions, type ReplyPart, reply } from '../../index.js'
import { choices } from '../../parts/index.js'

afterEach(expectNothingLeft)

type Mask = NonNullable<FlowEngineOptions['mask']>
type List = Extract<ReplyPart, { readonly type: 'choices' }>

/** A conversation that offers a list in its first turn. */
async function offered(list: List, mask: Mask) {
  const spoken = talk(
    flow('Shop', [
      step('Ask', ({ entered, choice }) =>
        entered ? reply('Which one?').withParts([list]) : reply(choice?.value ?? 'no choice'),
      ),
    ]),
    { mask },
  )
  await spoken.say('hello')
  const { history, flow: stored } = await spoken.now()
  return { ...spoken, part: history[0]?.parts?.[0] as List, open: stored.steps.Ask?.choices }
}

const accounts = choices('account', [
  { value: 'acc-1', label: 'Account DE89111' },
  { value: 'acc-2', label: 'Account DE89222' },
  { value: 'acc-3', label: 'Savings DE89333' },
])
const hideNumbers: Mask = (text) => text.replace(/\bDE\d+/g, '***')

describe('a label that a mask changes', () => {
  test.each<[string, string]>([
    // The user reads it in the reply.
    ['Savings DE89333', 'acc-3'],
    ['savings  de89333', 'acc-3'],
    // The user reads it after a reload.
    ['Savings ***', 'acc-3'],
    ['Account ***', 'no choice'],
    ['Account DE89222', 'no choice'],
    ['2', 'acc-2'],
    ['acc-2', 'acc-2'],
  ])('%j chooses: %s', async (message, expected) => {
    const { say } = await offered(accounts, (text) => hideNumbers(text.replace(/\bde89/g, 'DE89'), 'reply'))
    expect(await say(message)).toBe(expected)
  })

  test('and has nothing left: the session goes on, and each turn of it', async () => {
    const people = choices('person', [
      { value: 'a', label: 'ada@example.com' },
      { value: 'b', label: 'Somebody else' },
    ])
    const { say, open, engine, id, deploy } = await offered(people, (text) => text.replace(/\S+@\S+/g, ''))
    expect(open?.options.map(({ label }) => label)).toEqual(['', 'Somebody else'])
    expect([await say('1'), await say(''), await say('ada@example.com')]).toEqual(['a', 'no choice', 'no choice'])
    expect((await engine.getSession(id()))?.turns).toBe(4)
    // Another release may have no mask.
    const next = deploy(flow('Shop', [step('Ask', ({ choice }) => reply(choice?.value ?? 'no choice'))]))
    expect([await next.say(''), await next.say('1')]).toEqual(['no choice', 'a'])
  })

  test('is the same in the part and in the open list, if the mask numbers what it hides', async () => {
    let hidden = 0
    const { part, open, say } = await offered(accounts, (text) => text.replace(/\bDE\d+/g, () => `#${++hidden}`))
    const labels = part.options.map(({ label }) => label)
    expect(new Set(labels).size).toBe(3)
    expect(open?.options.map(({ label }) => label)).toEqual(labels)
    const [, second] = part.options
    const choice = { turn: 1, name: part.name, value: second?.value ?? '' }
    expect(await say(second?.label ?? '', { choice })).toBe('acc-2')
  })
})

describe('a button that a page has after a reload, with a name and values that are masked', () => {
  const hideDigits: Mask = (text) => text.replace(/\d/g, '*')
  const orders = choices('order 4711', [
    { value: 'size 10', label: 'Small' },
    { value: 'colour 7', label: 'Blue' },
    { value: 'colour 9', label: 'Red' },
  ])

  test('chooses the option', async () => {
    const { say, part } = await offered(orders, hideDigits)
    expect([part.name, part.options[0]?.value]).toEqual(['order ****', 'size **'])
    const choice = { turn: 1, name: part.name, value: part.options[0]?.value ?? '' }
    expect(await say('I take that', { choice })).toBe('size 10')
  })

  test('chooses by its label if several values look the same', async () => {
    const { say, part } = await offered(orders, hideDigits)
    const choice = { turn: 1, name: part.name, value: 'colour *' }
    expect([await say('Red', { choice }), await say('That one', { choice })]).toEqual(['colour 9', 'no choice'])
  })

  test('of another list chooses nothing', async () => {
    const { say } = await offered(orders, hideDigits)
    expect(await say('Small', { choice: { turn: 1, name: 'order *', value: 'size **' } })).toBe('no choice')
  })
})
