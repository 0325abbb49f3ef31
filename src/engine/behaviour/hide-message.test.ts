/** `turn.hideMessage`: what stands in place of what the user sent, everywhere that a turn leaves something. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft } from '../../../testing/contract/engine-harness.js'
import { canary, hide, hideAnd, watchedTalk, wholeText } from '../../../testing/contract/forms/watched.js'
import { type Acts, fails } from '../../../testing/contract/model-harness.js'
import { flow, modelStep, step } from '../../../testing/contract/side-flows/talk.js'
import {
  back,
  call,
  EndStep,
  type Flow,
  type FlowConstructor,
  go,
  reply,
  type StepConstructor,
  type Turn,
} from '../../index.js'
import { choices } from '../../parts/index.js'

afterEach(expectNothingLeft)

const small = () => ({ provider: 'own', name: 'small' })

/** A conversation whose first message was `hello`. */
async function begun(of: FlowConstructor, acts?: Acts) {
  const made = watchedTalk(of, acts)
  await made.say('hello')
  return made
}

/** A logic step, `First`, that answers the first message, and does `run` for the others. */
const first = (run: NonNullable<Parameters<typeof step>[1]>, members?: Parameters<typeof step>[2]): StepConstructor =>
  step('First', (turn, self) => (turn.number === 1 ? reply('Yes?') : run(turn, self)), members)

describe('a step', () => {
  test('still has the text that it has read, and turn.message is the other one', async () => {
    let after: string | undefined
    const First = first((turn, self) => {
      self.state.pin = turn.message
      hide(turn)
      after = turn.message
      return reply(`You have ${String(self.state.pin).length} characters.`)
    })
    const { say, newest, now, seen } = await begun(flow('Shop', [First]))
    expect(await say(canary)).toBe(`You have ${canary.length} characters.`)
    expect([after, await newest()]).toMatchObject(['[PIN]', { message: '[PIN]', reply: 'You have 11 characters.' }])
    expect((await now()).flow.steps.First?.state).toEqual({ pin: canary })
    // Its own state is the only place.
    expect((await seen()).split(canary)).toHaveLength(2)
  })

  test('hides twice: the last text stands', async () => {
    const First = first((turn) => {
      turn.hideMessage('[one]')
      turn.hideMessage('[two]')
      return go('Chat')
    })
    const { say, newest, memory, seen } = await begun(flow('Shop', [First, modelStep('Chat')], { model: small }), {
      'own/small': ['Hm.'],
    })
    await say(canary)
    expect([(await newest())?.message, await memory('Chat')]).toEqual(['[two]', ['user: [two]', 'assistant: Hm.']])
    expect(await seen()).not.toMatch(/canary|\[one\]/)
  })

  test('hides this turn alone', async () => {
    const First = first((turn) => {
      if (turn.message === canary) hide(turn)
      return reply(turn.message)
    })
    const { say, now, seen } = await begun(flow('Shop', [First]))
    for (const message of ['before', canary, 'after']) await say(message)
    expect((await now()).history.map(({ message }) => message)).toEqual(['hello', 'before', '[PIN]', 'after'])
    expect(await seen()).not.toContain(canary)
  })

  test('may leave nothing of a message', async () => {
    const First = first((turn) => {
      turn.hideMessage('')
      return reply(`<${turn.message}>`)
    })
    const { say, newest } = await begun(flow('Shop', [First]))
    expect([await say(canary), (await newest())?.message]).toEqual(['<>', ''])
  })

  test.each([[undefined], [null], [7], [{}], [['[PIN]']]])('must give a text, not %j', async (text) => {
    const First = first((turn) => {
      turn.hideMessage(text as string)
      return reply('Never.')
    })
    const { say } = await begun(flow('Shop', [First]))
    expect(await say(canary)).toBe('FLOW_ERROR: turn.hideMessage needs a text.')
  })

  test('keeps turn.choice, and what it offers', async () => {
    const pins = choices('pin', [{ value: canary, label: 'The usual one' }])
    const First = first((turn) => {
      if (turn.choice === undefined) return reply('Which?').withParts([pins])
      hide(turn)
      return reply(turn.choice.name)
    })
    const { say, newest } = await begun(flow('Shop', [First]))
    await say('again')
    expect([await say('The usual one'), (await newest())?.message]).toEqual(['pin', '[PIN]'])
  })
})

/** Hides any message but the first. */
function _hideLater(turn: Turn): undefined {
  if (turn.number > 1) hide(turn)
}

/** Where flow code may hide the message, in a flow of these steps. */
interface Place {
  readonly steps: readonly StepConstructor[]
  readonly onMessage?: Flow['onMessage']
  /** Whether the flow goes on to a model. */
  readonly asksModel?: true
}

const moves = first(() => go('Chat'))
const done = () => reply('Ok.')

const places: Readonly<Record<string, Place>> = {
  run: { steps: [first((turn) => hideAnd(turn, done()))] },
  onMessage: { steps: [first(done)], onMessage: hideLater },
  'onMessage that answers': {
    steps: [first(() => reply('Never.'))],
    onMessage: (turn) => (turn.number > 1 ? hideAnd(turn, done()) : undefined),
  },
  onRestore: { steps: [first(done, { onRestore: hide })] },
  onExit: { steps: [first(() => go('Next'), { onExit: hide }), step('Next', done)] },
  onEnter: { steps: [first(() => go('Next')), step('Next', done, { onEnter: hide })] },
  'onEnter of a model step': { steps: [moves, modelStep('Chat', { onEnter: hide })], asksModel: true },
  'an end step': {
    steps: [
      first(() => go('Bye')),
      class extends EndStep {
        static override readonly id = 'Bye'
        override message(turn: Turn) {
          return hideAnd(turn, 'Ok.')
        }
      },
    ],
  },
  'tools()': { steps: [moves, modelStep('Chat', { tools: (turn) => hideAnd(turn, []) })], asksModel: true },
  'prompt()': { steps: [moves, modelStep('Chat', { prompt: (turn) => hideAnd(turn, '') })], asksModel: true },
  'a called step': {
    steps: [first((turn) => (turn.returned ? done() : call('Side'))), step('Side', (turn) => hideAnd(turn, back()))],
  },
}

/** Hides any message but the first. */
function hideLater(turn: Turn): undefined {
  if (turn.number > 1) hide(turn)
}

describe.each(Object.entries(places))('in %s', (_place, { steps, asksModel, ...members }) => {
  test('it is neither stored, nor seen by listeners or models', async () => {
    const acts = { 'own/small': asksModel ? ['Ok.'] : [] }
    const { say, now, memory, seen, made } = await begun(flow('Shop', steps, { model: small, ...members }), acts)
    expect(await say(canary)).toBe('Ok.')
    expect((await now()).history.map(({ message }) => message)).toEqual(['hello', '[PIN]'])
    expect(await seen()).not.toContain(canary)
    expect(wholeText(made.asked.map(({ request }) => request.messages))).not.toContain(canary)
    expect(await memory('Chat')).toEqual(asksModel ? ['user: [PIN]', 'assistant: Ok.'] : [])
  })
})

test.each(Object.entries(places).filter(([, { asksModel }]) => asksModel))(
  'in %s, it is hidden if the model fails after it and the flow answers',
  async (_place, { steps, ...members }) => {
    let message: string | undefined
    const onError = (_error: unknown, turn: Turn) => {
      message = turn.message
      return reply('Sorry.')
    }
    const { say, now, seen } = await begun(flow('Shop', steps, { model: small, onError, ...members }), {
      'own/small': [fails(new Error('down'))],
    })
    expect([await say(canary), message]).toEqual(['Sorry.', '[PIN]'])
    expect((await now()).history.at(-1)?.message).toBe('[PIN]')
    expect(await seen()).not.toContain(canary)
  },
)
