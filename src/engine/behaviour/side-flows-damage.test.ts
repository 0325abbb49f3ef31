/** Stored calls that a flow cannot go on with are refused, and the document stays as it is. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { flow, step, type Talk, talk } from '../../../testing/contract/side-flows/talk.js'
import { back, call, event, type FlowConstructor, finish, reply, type SessionDocument } from '../../index.js'

afterEach(expectNothingLeft)

const hour = 3_600_000
const remind = event({ name: 'remind', after: hour, execute: () => reply('Do not forget.') })
const Order = step('Order', ({ entered, returned }) =>
  entered ? reply(`Order? ${returned?.from ?? ''}`) : call('Address'),
)
const street = (aliases: readonly string[] = []) =>
  step(
    'Street',
    ({ entered, message }) => (entered ? reply('Street?') : finish(`To ${message}.`)),
    { events: () => [remind] },
    aliases,
  )
const Shop = flow('Shop', [Order, flow('Address', [street()])])

/** In Address/Street, called by Order. */
async function inAddress(): Promise<Talk> {
  const spoken = talk(Shop)
  for (const message of ['hello', 'go on']) await spoken.say(message)
  expect(await spoken.open()).toBe('Order > Address/Street')
  return spoken
}

async function expectRefused(spoken: Talk, next: Talk, problem: string): Promise<void> {
  const before = await spoken.stored(spoken.id())
  for (const said of [await next.say('Mill Lane'), await next.send('remind')]) {
    expect(said).toMatch(/^SESSION_FLOW_INVARIANT: /)
    expect(said).toContain(problem)
  }
  expect(await spoken.stored(spoken.id())).toBe(before)
}

describe('a called flow that a deploy removed', () => {
  const listed = [Order, street(['Address/Street'])]

  test('is missed although its open step goes on by an alias', async () => {
    const spoken = await inAddress()
    await expectRefused(spoken, spoken.deploy(flow('Shop', listed)), "'Address' is open in it")
    expect(await spoken.say('Mill Lane')).toBe('To Mill Lane.\n\nOrder? Address')
  })

  test('may become a step by its alias', async () => {
    const spoken = await inAddress()
    const Renamed = step(
      'Place',
      ({ message, returned }) => (returned ? reply('?') : back().withLead(`To ${message}.`)),
      {},
      ['Address', 'Address/Street'],
    )
    expect(await spoken.deploy(flow('Shop', [Order, Renamed])).say('Mill Lane')).toBe('To Mill Lane.\n\nOrder? Place')
  })
})

describe('a timer whose time cannot be read', () => {
  const problem = "the time of its timer 'remind' cannot be read"
  const damaged = (document: SessionDocument, at: string): SessionDocument => ({
    ...document,
    flow: {
      ...document.flow,
      frames: document.flow.frames?.map((frame) => ({ ...frame, timers: [{ name: 'remind', at }] })) ?? [],
    },
  })

  test.each(['soon', '2026-13-45T00:00:00.000Z', 'NaN'])('from a store: %s', async (at) => {
    const spoken = await inAddress()
    await spoken.rewrite(spoken.id(), (document) => {
      Object.assign(document, damaged(document as never, at))
    })
    await expectRefused(spoken, spoken, problem)
  })

  test('from migrate', async () => {
    const spoken = await inAddress()
    const migrate: FlowConstructor['migrate'] = (document) => damaged(document, 'soon')
    const next = flow('Shop', [Order, flow('Address', [street()])], {}, { version: 2, migrate })
    await expectRefused(spoken, spoken.deploy(next), problem)
  })
})
