/** Open calls that another release of the flow goes on with: removed and renamed steps and flows, migrate, onRestore. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { flow, step, talk } from '../../../testing/contract/side-flows/talk.js'
import {
  back,
  call,
  type FlowConstructor,
  finish,
  go,
  reply,
  type SessionDocument,
  type StepConstructor,
} from '../../index.js'

afterEach(expectNothingLeft)

const ask = (id: string, aliases: readonly string[] = []): StepConstructor =>
  step(
    id,
    ({ message, returned }) =>
      message === 'done' && returned === undefined ? finish(`${id} done.`) : reply(`${id}? ${returned?.from ?? ''}`),
    {},
    aliases,
  )
const Side = step('Side', ({ message, entered }) => (entered || message !== 'done' ? reply('Side?') : back()))
const Chat = step('Chat', ({ message, entered, returned }) =>
  entered ? reply(`Chat? ${returned?.from ?? ''}`) : call(message),
)
const Address = flow('Address', [ask('Street'), Side])
type Statics = Parameters<typeof flow>[3]
const shop = (listed: Parameters<typeof flow>[1], statics: Statics = {}, members = {}) =>
  flow('Shop', listed, members, statics)

/** In Address/Street, called by Chat. */
async function inAddress(listed: Parameters<typeof flow>[1] = [Chat, Address, Side]) {
  const spoken = talk(shop(listed))
  await spoken.say('hello')
  expect(await spoken.say('Address')).toBe('Street? ')
  return spoken
}

describe('a step that a deploy removed', () => {
  test.each<readonly [string, Parameters<typeof flow>[1], string]>([
    ['the current one', [Chat, flow('Address', [Side])], "its current step is 'Address/Street'"],
    ['the called flow', [Chat, Side], "its current step is 'Address/Street'"],
    ['the one that called', [ask('Other'), Address], "'Chat' is open in it"],
  ])('%s: refused, and untouched byte for byte', async (_what, listed, problem) => {
    const spoken = await inAddress()
    const before = await spoken.stored(spoken.id())
    const next = spoken.deploy(shop(listed))
    const said = await next.say('Main Street')
    expect(said).toMatch(/^SESSION_FLOW_INVARIANT/)
    expect(said).toContain(problem)
    expect(await next.stored(spoken.id())).toBe(before)
    expect(await next.send('anything')).toMatch(/^SESSION_FLOW_INVARIANT/)
    expect(await next.stored(spoken.id())).toBe(before)
    // The former release goes on.
    expect(await spoken.say('done')).toBe('Street done.\n\nChat? Address')
  })

  test('is mended by migrate, which may move the session and drop the call', async () => {
    const spoken = await inAddress()
    const migrate: FlowConstructor['migrate'] = ({ flow: { frames: _frames, ...stored }, ...document }) => ({
      ...document,
      flow: { ...stored, currentStep: 'Chat' },
    })
    const next = spoken.deploy(shop([Chat, Side], { version: 2, migrate }))
    expect(await next.say('hello')).toBe('Chat? ')
    expect([await next.open(), (await next.now()).version]).toEqual(['Chat', 2])
  })

  test('is mended by migrate, which may give the call another caller', async () => {
    const spoken = await inAddress()
    const migrate: FlowConstructor['migrate'] = (document) => ({
      ...document,
      flow: {
        ...document.flow,
        frames: (document.flow.frames ?? []).map((frame) =>
          frame.step === 'Chat' ? { ...frame, step: 'Talk' } : frame,
        ),
      },
    })
    const next = spoken.deploy(shop([ask('Talk'), Address], { version: 2, migrate }))
    expect([await next.say('done'), await next.open()]).toEqual(['Street done.\n\nTalk? Address', 'Talk'])
  })
})

describe('a renamed step or flow goes on by its alias', () => {
  test.each<readonly [string, Parameters<typeof flow>[1]]>([
    ['the current step', [Chat, flow('Address', [ask('Road', ['Street'])])]],
    ['the called flow', [Chat, flow('Delivery', [ask('Street')], {}, { aliases: ['Address'] })]],
    ['both', [Chat, flow('Delivery', [ask('Road', ['Street'])], {}, { aliases: ['Address'] })]],
  ])('%s', async (_what, listed) => {
    const spoken = await inAddress()
    const next = spoken.deploy(shop(listed))
    expect(await next.say('hello')).toMatch(/^(Street|Road)\? $/)
    expect(await next.say('done')).toMatch(/^(Street|Road) done.\n\nChat\? (Address|Delivery)$/)
    expect(await next.open()).toBe('Chat')
  })

  test('the one that called, and a side step', async () => {
    const before = talk(shop([Chat, Side]))
    await before.say('hello')
    await before.say('Side')
    const Talk = step('Talk', ({ returned }) => reply(`Talk? ${returned?.from ?? ''}`), {}, ['Chat'])
    const Aside = step('Aside', ({ message }) => (message === 'done' ? back() : reply('Aside?')), {}, ['Side'])
    const next = before.deploy(shop([Talk, Aside]))
    expect([await next.say('hello'), await next.open()]).toEqual(['Aside?', 'Talk > Aside'])
    expect([await next.say('done'), await next.open()]).toEqual(['Talk? Aside', 'Talk'])
  })

  test('with the state and the memory that belong to it', async () => {
    const said = step('Street', ({ message }, self) => {
      self.state.said = [self.state.said ?? [], message].flat()
      return reply(JSON.stringify(self.state))
    })
    const spoken = talk(shop([Chat, flow('Address', [said])]))
    for (const message of ['hello', 'Address', 'one']) await spoken.say(message)
    const next = spoken.deploy(shop([Chat, flow('Delivery', [said], {}, { aliases: ['Address'] })]))
    expect(await next.say('two')).toBe('{"said":["Address","one","two"]}')
    expect(Object.keys((await next.now()).flow.steps)).toEqual(['Delivery/Street', 'Chat'])
  })
})

describe('a hook that moves the session, and not what it waits for', () => {
  const entered = vi.fn()
  const Next = step('Next', ({ message }) => (message === 'back' ? back() : reply('Next?')), {
    onEnter: () => entered(),
  })
  const moved = (document: SessionDocument): SessionDocument => ({
    ...document,
    flow: { ...document.flow, currentStep: 'Next' },
  })

  test.each<readonly [string, Statics, object]>([
    ['migrate', { version: 2, migrate: moved }, {}],
    [
      'onRestore',
      {},
      {
        onRestore: (document: SessionDocument) => (document.flow.currentStep === 'Next' ? undefined : moved(document)),
      },
    ],
  ])('%s: the calls are gone, and the step counts as entered now', async (_hook, statics, members) => {
    entered.mockClear()
    const spoken = await inAddress()
    const next = spoken.deploy(shop([Chat, Address, Side, Next], statics, members), { onTurnError: 'rollback' })
    expect([await next.say('hello'), entered.mock.calls.length]).toEqual(['Next?', 1])
    expect([await next.open(), (await next.now()).version]).toEqual(['Next', 2])
    expect(await next.say('back')).toMatch(/^FLOW_ERROR: Step 'Next' returned back\(\)/)
    expect(entered).toHaveBeenCalledOnce()
  })

  test('onError goes on from there, too', async () => {
    const Failing = step('Next', () => {
      throw new Error('It broke.')
    })
    const spoken = await inAddress()
    const of = shop([Chat, Address, Side, Failing], { version: 2, migrate: moved }, { onError: () => reply('Sorry.') })
    const next = spoken.deploy(of)
    expect(await next.say('hello')).toBe('Sorry.')
    expect((await next.now()).flow.frames).toBeUndefined()
  })
})

test('a hook that changes neither keeps the calls', async () => {
  const spoken = await inAddress()
  const migrate: FlowConstructor['migrate'] = (document) => document
  const next = spoken.deploy(
    shop([Chat, Address, Side], { version: 2, migrate }, { onRestore: (document: SessionDocument) => document }),
  )
  expect(await next.open()).toBe('Chat > Address/Street')
  expect(await next.say('done')).toBe('Street done.\n\nChat? Address')
})

test('a called flow that a deploy removed is missed even if a step outside was entered from it', async () => {
  const Leaving = flow('Address', [step('Street', () => go('Side'))])
  const spoken = talk(shop([Chat, Leaving, Side]))
  await spoken.say('hello')
  expect([await spoken.say('Address'), await spoken.open()]).toEqual(['Side?', 'Chat > Side'])
  const before = await spoken.stored(spoken.id())
  const next = spoken.deploy(shop([Chat, Side]))
  expect(await next.say('done')).toMatch(/^SESSION_FLOW_INVARIANT: .*'Address' is open in it/)
  expect(await next.stored(spoken.id())).toBe(before)
})

test('a deploy that makes a step a flow of the same name does not take it for one', async () => {
  const spoken = talk(shop([Chat, ask('Address'), Side]))
  await spoken.say('hello')
  await spoken.say('Address')
  const before = await spoken.stored(spoken.id())
  const next = spoken.deploy(shop([Chat, Address, Side]))
  expect(await next.say('hello')).toMatch(/^SESSION_FLOW_INVARIANT: .*'Address'/)
  expect(await next.stored(spoken.id())).toBe(before)
})
