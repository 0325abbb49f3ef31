/** `turn.choice`: which lists are open, and until when. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { flow, step, talk } from '../../../testing/contract/side-flows/talk.js'
import { back, call, event, type FlowRunInput, finish, go, reply, type Turn } from '../../index.js'
import { choices } from '../../parts/index.js'

afterEach(expectNothingLeft)

const sizes = choices('size', [
  { value: 's', label: 'Small' },
  { value: 'l', label: 'Large' },
])
const colours = choices('colour', [
  { value: 's', label: 'Small' },
  { value: 'b', label: 'Blue' },
])
const seen = ({ choice }: Turn) => (choice === undefined ? 'no choice' : `${choice.name}=${choice.value}`)
const offer = (turn: Turn, list = sizes) => reply(`${seen(turn)}?`).withParts([list])
const button = (turn: number, name = 'size', value = 's') => ({ choice: { turn, name, value } })

/** Offers sizes when it is entered, and what the user names. */
const Ask = step('Ask', (turn) => {
  if (turn.entered || turn.message === 'sizes') return offer(turn)
  if (turn.message === 'colours') return offer(turn, colours)
  if (turn.message === 'fail') throw new Error('no')
  if (turn.message === 'side') return call('Side')
  if (turn.message === 'again') return go('Ask').withReply('Again.')
  if (turn.message === 'leave') return go('Other')
  return reply(seen(turn))
})
const Side = step('Side', (turn) => {
  if (turn.entered) return reply(`Side: ${seen(turn)}`)
  return turn.message === 'back' ? back().withReply('Back.') : reply(`Side: ${seen(turn)}`)
})
const Other = step('Other', (turn) =>
  turn.message === 'back' ? go('Ask').withReply('Ask.') : reply(`Other: ${seen(turn)}`),
)
const made = flow('Shop', [Ask, Side, Other])

/** What was said, and the button that was pressed with it. */
type Line = string | readonly [text: string, pressed: Partial<FlowRunInput>]

describe('the step sees the choice', () => {
  test.each<[string, readonly Line[], string]>([
    ['of a button', [['Small', button(1)]], 'size=s'],
    ['of a button whose label was changed by the client', [['I take that', button(1)]], 'size=s'],
    ['of a value', ['l'], 'size=l'],
    ['of a label', [' sMALL '], 'size=s'],
    ['of a number', ['2'], 'size=l'],
    ['of no option', ['0'], 'no choice'],
    ['of no option, by a number beyond the list', ['99'], 'no choice'],
    ['of another list in place of the first', ['colours', '2'], 'colour=b'],
    ['of the new list by its button', ['colours', ['Small', button(2, 'colour')]], 'colour=s'],
    ['never of a button of the older list, also by its label', ['colours', ['Small', button(1)]], 'no choice'],
    ['never of a button of the same list of an older turn', ['sizes', ['Small', button(1)]], 'no choice'],
    ['after a plain reply', ['hm', 'hm', ['Small', button(1)]], 'size=s'],
    ['twice', ['2', '2'], 'size=l'],
    ['after a turn that failed', ['fail', '2'], 'size=l'],
    ['after a side question', ['side', 'back', ['Small', button(1)]], 'size=s'],
    ['not in a side step, whose list it is not', ['side', ['Small', button(1)]], 'Side: no choice'],
    ['not in a step that the turn entered', ['leave'], 'Other: no choice'],
    ['not after the step was left and entered again', ['leave', 'back', ['Small', button(1)]], 'no choice'],
    ['not by text either, after the step was left and entered again', ['leave', 'back', '2'], 'no choice'],
    ['not after the step entered itself', ['again', '2'], 'no choice'],
  ])('%s', async (_what, lines, expected) => {
    const { say } = talk(flow('Shop', [Ask, Side, Other], {}, { onTurnError: 'rollback' }))
    await say('hello')
    let said = ''
    for (const line of lines) said = typeof line === 'string' ? await say(line) : await say(...line)
    expect(said).toBe(expected)
  })

  test('after a turn that changed the state of the step', async () => {
    const Counting = step('Ask', (turn, self) => {
      self.state.turn = turn.number
      return turn.entered ? offer(turn) : reply(seen(turn))
    })
    const { say, now } = talk(flow('Shop', [Counting]))
    await say('hello')
    await say('hm')
    expect(await say('2')).toBe('size=l')
    expect((await now()).flow.steps.Ask).toMatchObject({ state: { turn: 3 }, choices: { turn: 1 } })
  })

  test('over a restart between the turns', async () => {
    const first = talk(made)
    await first.say('hello')
    expect(await first.deploy(made).say('Small', button(1))).toBe('size=s')
  })

  test('under the new ID of a step that was renamed', async () => {
    const first = talk(made)
    await first.say('hello')
    const Renamed = step('Named', (turn) => reply(seen(turn)), {}, ['Ask'])
    expect(await first.deploy(flow('Shop', [Renamed])).say('2')).toBe('size=l')
  })

  test('not after an abort: the next message begins a new session', async () => {
    const { say, last } = talk(made)
    await say('hello')
    await say('fail')
    expect(last().sessionState).toBe('aborted')
    expect(await say('2', button(1))).toBe('no choice?')
  })

  test('not in a step that is entered again by go, after a flow that was changed left it without leaving it', async () => {
    const first = talk(made)
    await first.say('hello')
    const Elsewhere = step('Elsewhere', () => go('Ask').withReply('Ask.'))
    const moved = flow(
      'Shop',
      [Ask, Elsewhere],
      {},
      {
        version: 2,
        migrate: (document) => ({ ...document, flow: { ...document.flow, currentStep: 'Elsewhere' } }),
      },
    )
    const next = first.deploy(moved)
    await next.say('hm')
    expect(await next.open()).toBe('Ask')
    expect(await next.say('2')).toBe('no choice')
  })
})

describe('a list', () => {
  const press = event({ name: 'press', execute: () => reply('Pressed.') })
  const news = event({ name: 'news', execute: (_, turn) => offer(turn, colours) })
  const quiet = event({ name: 'quiet', execute: () => undefined })
  const away = event({ name: 'away', execute: () => go('Ask').withReply('Ask.') })
  const eventful = flow('Shop', [step('Ask', Ask.prototype.run as never, { events: () => [press, news, quiet, away] })])

  test.each([
    ['press', 'Pressed.', 'size=l'],
    ['quiet', '', 'size=l'],
    ['news', 'no choice?', 'colour=b'],
    ['away', 'Ask.', 'no choice'],
  ])('after the event %s', async (name, said, expected) => {
    const { say, send } = talk(eventful)
    await say('hello')
    expect(await send(name)).toBe(said)
    expect(await say('2')).toBe(expected)
  })

  test('is not stored for any other step, and goes with the end', async () => {
    const { say, now } = talk(made)
    await say('hello')
    expect((await now()).flow.steps.Ask?.choices).toEqual({ turn: 1, name: 'size', options: sizes.options })
    await say('leave')
    expect(JSON.stringify((await now()).flow.steps)).not.toContain('choices')
    expect((await now()).version).toBe(2)
  })

  test('that go gives belongs to the step that is entered; that back gives, to the step that called', async () => {
    const Start = step('Start', (turn) => {
      if (turn.message === 'side') return call('Side')
      return turn.entered ? go('Next').withReply('?').withParts([sizes]) : reply(seen(turn))
    })
    const Next = step('Next', (turn) => (turn.message === 'side' ? call('Side') : reply(`Next: ${seen(turn)}`)))
    const Returning = step('Side', () => back().withReply('?').withParts([colours]))
    const { say, open } = talk(flow('Shop', [Start, Next, Returning]))
    await say('hello')
    expect([await open(), await say('2')]).toEqual(['Next', 'Next: size=l'])
    await say('side')
    expect([await open(), await say('2')]).toEqual(['Next', 'Next: colour=b'])
  })

  test('of onMessage in the first turn is open for onMessage, before any step is entered', async () => {
    const heard: string[] = []
    const { say } = talk(
      flow('Shop', [Ask], {
        onMessage(turn) {
          heard.push(seen(turn))
          return turn.number < 3 ? offer(turn) : undefined
        },
      }),
    )
    expect(await say('hello')).toBe('no choice?')
    expect(await say('Large', button(1, 'size', 'l'))).toBe('size=l?')
    // The step is entered now, and has not offered anything.
    expect(await say('2')).toBe('no choice?')
    expect(heard).toEqual(['no choice', 'size=l', 'size=l'])
  })

  test('of a called flow is open in it, and closed when it is called again', async () => {
    const Deep = step('Deep', (turn) => {
      if (turn.number === 2) return offer(turn)
      return turn.message === 'end' ? finish('Bye.') : reply(`Deep: ${seen(turn)}`)
    })
    const inner = flow('Inner', [Deep])
    const Chat = step('Chat', (turn) => (turn.message === 'in' && !turn.entered ? call(inner) : reply('Chat?')))
    const { say } = talk(flow('Shop', [Chat, inner]))
    await say('hello')
    expect([await say('in'), await say('2')]).toEqual(['no choice?', 'Deep: size=l'])
    await say('end')
    expect([await say('in'), await say('2')]).toEqual(['Deep: no choice', 'Deep: no choice'])
  })

  test('that an event of a caller gives belongs to the caller, which is asked again later', async () => {
    const { say, send, open } = talk(
      flow('Shop', [
        step('Ask', (turn) => (turn.message === 'side' && !turn.entered ? call('Side') : reply(seen(turn))), {
          events: () => [news],
        }),
        Side,
      ]),
    )
    await say('hello')
    await say('side')
    expect([await send('news'), await open()]).toEqual(['no choice?', 'Ask > Side'])
    expect(await say('2')).toBe('Side: no choice')
    await say('back')
    expect(await say('2')).toBe('colour=b')
  })

  test('of a caller stays open while another step is called from onMessage, which sees the choice', async () => {
    const { say } = talk(
      flow('Shop', [Ask, Side], { onMessage: (turn) => (turn.choice?.value === 'l' ? call('Side') : undefined) }),
    )
    await say('hello')
    expect(await say('Large', button(1, 'size', 'l'))).toBe('Side: no choice')
    await say('back')
    expect(await say('1')).toBe('size=s')
  })
})

describe('the input choice', () => {
  test.each<[string, unknown]>([
    ['null', null],
    ['a text', 's'],
    ['a list', [1, 'size', 's']],
    ['without a turn', { name: 'size', value: 's' }],
    ['a text as a turn', { turn: '1', name: 'size', value: 's' }],
    ['half a turn', { turn: 1.5, name: 'size', value: 's' }],
    ['no name', { turn: 1, value: 's' }],
    ['a number as a value', { turn: 1, name: 'size', value: 1 }],
    ['no value', { turn: 1, name: 'size' }],
  ])('of a wrong shape is invalid, and changes nothing: %s', async (_what, choice) => {
    const { say, stored, id } = talk(made)
    await say('hello')
    const before = await stored(id())
    expect(await say('Small', { choice: choice as never })).toBe(
      'INVALID_INPUT: choice must be { turn, name, value }, without an event.',
    )
    expect(await stored(id())).toBe(before)
  })

  test('is invalid with an event, whatever it is', async () => {
    const run = vi.fn(() => reply('Pressed.'))
    const press = event({ name: 'press', byUser: true, execute: run })
    const { say, stored, id } = talk(flow('Shop', [step('Ask', (turn) => offer(turn), { events: () => [press] })]))
    await say('hello')
    const before = await stored(id())
    expect(await say('', { event: { name: 'press' }, ...button(1) })).toMatch(/^INVALID_INPUT: choice must be/)
    expect([run.mock.calls.length, await stored(id())]).toEqual([0, before])
  })

  test('means nothing in a new session, nor if no list is open', async () => {
    const { say, last } = talk(flow('Shop', [step('Ask', (turn) => reply(seen(turn)))]))
    expect([await say('Small', button(1)), await say('Small', button(1))]).toEqual(['no choice', 'no choice'])
    expect(last().response.success).toBe(true)
  })
})
