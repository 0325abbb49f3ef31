// What the page shows of a line: the events and buttons that the session takes now, and the turns of a stored session.
import { expect, test } from 'vitest'
import { event, reply } from '../../../src/index.js'
import { choices } from '../../../src/parts/index.js'
import { deskOf, say, useStudios } from '../../contract/studio/line-harness.js'
import { detailOf, viewOf } from './line-view.js'

const studios = useStudios()

test('events depend on the state of their step', async () => {
  const flow = deskOf(
    (turn, step) => {
      step.state.isOpen = turn.message === 'open'
      return reply('')
    },
    ({ state }) => [event({ name: state.isOpen ? 'close' : 'open', execute: () => reply('') })],
  )
  const studio = studios.open(flow)
  const line = studio.begin('Shop')
  const names = (): string[] => viewOf(line, studio.lines).events.map(({ name }) => name)
  await say(line, 'Hello')
  expect(names()).toEqual(['open'])
  await say(line, 'open')
  expect(names()).toEqual(['close'])
})

test('events that cannot be listed, or have no JSON Schema, do no harm', async () => {
  const anything = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as const
  const make = (input: object) => event({ name: 'note', ...input, execute: () => reply('') } as never)
  for (const [events, shown] of [
    [() => [make({ input: anything })], [{ name: 'note', byUser: false }]],
    [() => [make({ byUser: true })], [{ name: 'note', byUser: true }]],
  ] as const) {
    const studio = studios.open(deskOf(() => reply(''), events))
    const line = studio.begin('Shop')
    await say(line, 'Hello')
    expect(viewOf(line, studio.lines).events).toEqual(shown)
  }
  let isRunning = false
  const needsTurn = deskOf(
    () => reply(''),
    () => {
      if (!isRunning) throw new Error('There is no turn.')
      return []
    },
  )
  const studio = studios.open(needsTurn)
  const line = studio.begin('Shop')
  isRunning = true
  await say(line, 'Hello')
  isRunning = false
  expect(viewOf(line, studio.lines)).toMatchObject({ events: [], step: 'Desk' })
})

test('buttons are those of the last turn that offered some, until another turn takes their place', async () => {
  const offer = choices('day', [{ value: 'now', label: 'Now' }])
  const studio = studios.open(
    deskOf(({ message }) => (message === 'offer' ? reply('?').withParts([offer]) : reply('.'))),
  )
  const line = studio.begin('Shop')
  const shown = (): number | undefined => viewOf(line, studio.lines).choices
  await say(line, 'Hello')
  expect(shown()).toBeUndefined()
  await say(line, 'offer')
  expect(shown()).toBe(2)
  await say(line, 'offer')
  expect(shown()).toBe(3)
})

test('a turn that failed has no changes if nothing was stored, and the next one is compared with that before', async () => {
  const studio = studios.open(
    deskOf((turn, step) => {
      if (turn.message === 'stop') void studio.line('shop-1').stop()
      step.state.text = turn.message
      return reply('')
    }),
  )
  const line = studio.begin('Shop')
  await say(line, 'stop', 'one', 'stop', 'two')
  expect(line.turns.map(({ error }) => error?.code)).toEqual(['TURN_ABORTED', undefined, 'TURN_ABORTED', undefined])
  const stateOf = (turn: number) => detailOf(line, turn).changes.find(({ key }) => key === 'state')
  expect(detailOf(line, 1)).toMatchObject({ changes: [], frames: [] })
  expect(stateOf(2)).toEqual({ key: 'state', kind: 'added', after: { Desk: { text: 'one' } } })
  expect(detailOf(line, 3).changes).toEqual([])
  const text = { key: 'text', kind: 'changed', before: 'one', after: 'two' }
  expect(stateOf(4)?.children).toEqual([{ key: 'Desk', kind: 'changed', children: [text] }])
})

test('of a stored session, only the last turn has what the session holds', async () => {
  const studio = studios.open(
    deskOf((turn, step) => {
      step.state.text = turn.message
      return reply('')
    }),
  )
  const line = studio.begin('Shop')
  await say(line, 'one', 'two')
  const opened = studio.open(JSON.parse(JSON.stringify(line.document)))
  expect(detailOf(opened, 1)).toMatchObject({ changes: [], frames: [] })
  expect(detailOf(opened, 2).changes).toContainEqual({ key: 'state', kind: 'added', after: { Desk: { text: 'two' } } })
  expect(detailOf(opened, 2).usage).toEqual(line.document?.usage)
})
