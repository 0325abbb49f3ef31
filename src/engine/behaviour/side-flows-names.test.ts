/** Steps and flows of one name, or of none: what is registered, and which one `call` and `stateOf` mean. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { flow, step, talk } from '../../../testing/contract/side-flows/talk.js'
import { call, finish, go, reply, SessionConflictError, type StepConstructor } from '../../index.js'
import { choices } from '../../parts/index.js'

afterEach(expectNothingLeft)

type Listed = Parameters<typeof flow>[1]

/** Asks, and calls what the user names. */
const Chat = step('Chat', ({ entered, message }) => (entered ? reply('Chat?') : call(message)))
const Street = step('Street', (turn, self) => {
  if (turn.entered) return reply('Street?')
  self.state.street = turn.message
  return go('Town')
})
const Town = step('Town', (turn) =>
  turn.entered ? reply('Town?') : finish(`${turn.stateOf(Street).street}, ${turn.message}.`),
)
const Address = flow('Address', [Street, Town])

/** The replies to these messages. */
async function said(listed: Listed, ...messages: readonly string[]): Promise<readonly string[]> {
  const { say } = talk(flow('Shop', listed), { onTurnError: 'rollback' })
  const replies: string[] = []
  for (const message of messages) replies.push(await say(message))
  return replies
}

describe('refused is', () => {
  const former = (id: string, ...aliases: readonly string[]) => step(id, undefined, {}, aliases)
  test.each<[string, Listed, string]>([
    [
      'a former ID of a step that another step of the called flow has',
      [Chat, flow('A', [former('New', 'Old'), step('Old')])],
      "Flow 'Shop' has two steps with the ID or alias 'A/Old'. Give each a static id.",
    ],
    [
      'a former ID of a flow that a step has',
      [Chat, step('Old'), flow('New', [step('One')], {}, { aliases: ['Old'] })],
      "Flow 'Shop' has two steps with the ID or alias 'Old'. Give each a static id.",
    ],
    [
      'a former ID of a step that is the ID of a flow',
      [Chat, former('New', 'A'), flow('A', [step('One')])],
      "Flow 'Shop' has two steps with the ID or alias 'A'. Give each a static id.",
    ],
    [
      'a step that looks as if a flow had it',
      [Chat, step('A/Other'), flow('A', [step('One')])],
      "Flow 'Shop': only the flow 'A' may have the step 'A/Other'.",
    ],
    [
      'a flow at the beginning',
      [Address, Chat],
      "Flow 'Shop': the first of steps() must be a step, in which a session starts; got flow 'Address'.",
    ],
    [
      'a flow at the beginning of a called flow',
      [Chat, flow('A', [Address, Chat])],
      "Flow 'Shop': the first of steps() must be a step, in which a session starts; got flow 'A/Address'.",
    ],
    [
      'a called flow without steps',
      [Chat, flow('A', [])],
      "Flow 'A' must return at least one step class from steps().",
    ],
    [
      'a called flow of flows alone',
      [Chat, flow('A', [Address])],
      "Flow 'A' must return at least one step class from steps().",
    ],
  ])('%s', async (_what, listed, message) => {
    expect(await said(listed, 'hello')).toEqual([`FLOW_REGISTRATION: ${message}`])
  })

  test('a second argument of call that has more than a state', () => {
    const refusal = expect.objectContaining({
      code: 'FLOW_ERROR',
      message: 'call takes only { state }.',
    })
    for (const wrong of [{ sate: { a: 1 } }, { state: {}, reply: 'Hello.' }, 'Hello.', ['state']]) {
      expect(() => call(Chat, wrong as never)).toThrow(refusal)
    }
    expect(call(Chat, {}).fields).toEqual(call(Chat).fields)
  })

  test.each<[string, Error]>([
    ['its own error', new Error('No address book.')],
    // The engine does not take it for a conflict of this session.
    ['the conflict of another session', new SessionConflictError({ sessionId: 'other' })],
  ])('the init of a called flow that throws, as the error of flow code: %s', async (_what, thrown) => {
    const init = () => {
      throw thrown
    }
    const { say, last } = talk(flow('Shop', [Chat, flow('A', [step('One')], { init })]))
    expect(await say('hello')).toBe(`FLOW_ERROR: ${thrown.message}`)
    expect(last().error?.cause).toBe(thrown)
  })
})

test('a flow may be listed first if the session starts elsewhere', async () => {
  const { say } = talk(flow('Shop', [Address, Chat], { initialStep: () => Chat }))
  expect(await say('hello')).toBe('Chat?')
})

describe('call of a step inside a flow', () => {
  const Two = step('Two', ({ message }) => (message === 'done' ? finish('Two done.') : reply('Two?')))
  const Side = step('Side', ({ entered, message }) => (entered ? reply('Side?') : call(message)))
  const inner = flow('Inner', [
    step('One', ({ entered, message }) => (entered ? reply('One?') : call(message))),
    Two,
    flow('Deep', [Two]),
  ])

  test('is refused from outside, because nothing could return from it', async () => {
    const refused = (target: string, called: string) =>
      `FLOW_ERROR: call('${target}') is not possible: call its flow, '${called}'.`
    const [, ofStep, ofDeep, ofFlow] = await said([Chat, inner], 'hello', 'Inner/Two', 'Inner/Deep/Two', 'Inner/Deep')
    expect([ofStep, ofDeep]).toEqual([refused('Inner/Two', 'Inner'), refused('Inner/Deep/Two', 'Inner')])
    expect(ofFlow).toBe('Two?')
    const [, , inside] = await said([Chat, inner], 'hello', 'Inner', 'Deep/Two')
    expect(inside).toBe(refused('Inner/Deep/Two', 'Inner/Deep'))
  })

  test.each<[string, readonly string[]]>([
    ['from its own flow', ['Inner', 'Two']],
    ['from a side step, while its flow is open', ['Inner', 'Side', 'Inner/Two']],
  ])('opens it %s', async (_from, messages) => {
    const { say, open } = talk(flow('Shop', [Chat, Side, inner]))
    await say('hello')
    for (const message of messages) await say(message)
    expect(await open()).toMatch(/^Chat > Inner\/One > (Side > )?Inner\/Two$/)
    // It returns from the whole flow.
    expect([await say('done'), await open()]).toEqual(['Two done.\n\nChat?', 'Chat'])
  })
})

test('an unknown name is reported with all that call could open, flows as well', async () => {
  const known = 'Chat, End, Address/Street, Address/Town, Address/End, Address'
  const [, unknown] = await said([Chat, Address], 'hello', 'Adress')
  expect(unknown).toBe(`FLOW_ERROR: Flow 'Shop' has no step 'Adress'. Its steps: ${known}. Add it to steps().`)
})

test('a step whose ID every object has, such as constructor, keeps a list from before it was entered', async () => {
  const list = choices('size', [{ value: 's', label: 'Small' }])
  const Odd: StepConstructor = step('constructor', ({ choice }) => reply(`Odd ${choice?.value ?? ''}`), {
    initialState: () => ({ seen: 0 }),
  })
  const { say, now } = talk(
    flow('Shop', [Odd], {
      onMessage: ({ number, choice }) => (number === 1 ? reply('Hello.').withParts([list]) : choice && reply('Small.')),
    }),
  )
  await say('hello')
  expect(Object.entries((await now()).flow.steps)).toEqual([
    ['constructor', { state: { seen: 0 }, choices: { turn: 1, name: 'size', options: list.options } }],
  ])
  expect([await say('small'), await say('hm')]).toEqual(['Small.', 'Odd '])
})

describe('stateOf in a flow that is listed in two places', () => {
  const Checkout = flow('Checkout', [
    step('Pay', (turn) => (turn.entered ? reply(turn.returned ? 'Pay.' : 'Pay?') : call(Address))),
    Address,
  ])
  const Look = step('Look', (turn) => (turn.entered ? reply('Look?') : reply(JSON.stringify(turn.stateOf(Street)))))
  const listed = [Chat, Address, Checkout, Look]

  test('means the sibling in the called flow, in each of them', async () => {
    const replies = await said(listed, 'hello', 'Address', 'Mill', 'Bath', 'Checkout', 'pay', 'High', 'York')
    expect(replies.filter((one) => one.includes(', '))).toEqual(['Mill, Bath.\n\nChat?', 'High, York.\n\nPay.'])
  })

  test('is refused in the outer flow, with both IDs', async () => {
    const [, , refused] = await said(listed, 'hello', 'Look', 'now')
    expect(refused).toBe(
      "FLOW_ERROR: turn.stateOf: the step is in the flow twice, as 'Address/Street' and 'Checkout/Address/Street'. Give one its own class.",
    )
  })
})
