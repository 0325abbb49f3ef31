// The engine of a line: how its scripts go on, what it takes of the set-up, and what it decides itself.
import { describe, expect, test, vi } from 'vitest'
import { rollingSummary } from '../../../src/compaction/index.js'
import { event, reply, Step, tool } from '../../../src/index.js'
import { asked, deskOf, say, Talk, useStudios } from '../../contract/studio/line-harness.js'
import { type ModelScript, scriptedProvider } from '../../scripted-model/scripted-model.js'

const studios = useStudios()

describe('a script', () => {
  let calls = 0
  test.each<[string, ModelScript, string]>([
    ['a list', ['1', '2', '3', '4'], '2'],
    ['lists by step', { Ask: ['1', '2', '3', '4'] }, '2'],
    // They decide by themselves.
    ['a function', () => `${++calls}`, '4'],
    ['functions by step', { Ask: () => `${++calls}` }, '4'],
  ])('goes on in a fork and after a restart: %s', async (_what, script, next) => {
    calls = 0
    const studio = studios.open(Talk, { script })
    const line = studio.begin('Talk')
    expect(await say(line, 'a', 'b')).toEqual(['1', '2'])
    const later = studios.open(Talk, { script })
    const same = later.line(line.id)
    expect(await say(same, 'c')).toEqual(['1', '2', '3'])
    const fork = later.fork(same, 1)
    expect(await say(fork, 'd')).toEqual(['1', next])
  })

  test('that is missing, as the provider is, can be exported', async () => {
    const line = studios.open(Talk).begin('Talk')
    await say(line, 'Hello')
    expect(line.turns[0]?.error?.text).toContain(
      "The set-up has neither a script nor the provider 'any'. Export one from the module of the flows: export default { flow, script: () => 'Hello!' }, or { flow, providers: [...] }.",
    )
  })

  test('answers for the providers that the set-up does not have', async () => {
    class Both extends Talk {
      override model() {
        return [
          { provider: 'real', name: 'small' },
          { provider: 'any', name: 'small' },
        ] as never
      }
    }
    const real = scriptedProvider([new Error('It is down.')], { provider: 'real' })
    const line = studios.open(Both, { script: () => 'Scripted.', providers: [real] }).begin('Talk')
    expect(await say(line, 'Hello')).toEqual(['Scripted.'])
    expect(line.turns[0]?.models.map(({ provider, answer }) => [provider, answer !== undefined])).toEqual([
      ['real', false],
      ['any', true],
    ])
  })

  test('answers for the model of summaries, also in a session that goes on', async () => {
    class Long extends Talk {
      static override readonly compaction = {
        Ask: rollingSummary({ above: 4, keep: 1, model: { provider: 'other', name: 'small' } }),
      }
    }
    const script: ModelScript = ({ origin }) => (origin.stepId === 'Ask' ? 'Yes.' : 'They talk.')
    const line = studios.open(Long, { script }).begin('Talk')
    await say(line, '1')
    const same = studios.open(Long, { script }).line(line.id)
    await say(same, '2', '3')
    expect(JSON.stringify(same.document)).toContain('They talk.')
  })
})

describe('an engine', () => {
  test('waits for as long as a developer thinks about a question', async () => {
    class Slow extends Step {
      static override readonly id = 'Ask'
      override tools() {
        return [tool({ name: 'pay', description: 'Pays.', execute: () => 'paid' })]
      }
    }
    class Paying extends Talk {
      override steps() {
        return [Slow]
      }
    }
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const studio = studios.open(Paying, {
        script: ({ messages }) => (messages.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'pay' }] } : 'Paid.'),
        limits: { turnTimeoutMs: 1000, toolTimeoutMs: 1000 },
      })
      const fork = studio.fork(studio.begin('Talk'), 0)
      const paying = fork.send({ text: 'pay' })
      await asked(studio, fork, 'pay')
      await vi.advanceTimersByTimeAsync(10 ** 7)
      await fork.answer(String(fork.question?.id), 'run')
      await paying
      expect(fork.turns.map(({ reply: said, error }) => [said, error])).toEqual([['Paid.', undefined]])
    } finally {
      vi.useRealTimers()
    }
  })

  test('keeps the other limits, and the other options, of the set-up', async () => {
    const onEngine = vi.fn()
    const log = vi.fn()
    const logger = { debug: log, info: log, warn: log, error: log }
    const setup = { limits: { maxMessageBytes: 5 }, generateId: () => 'my-session', logger, onEngine }
    const line = studios
      .open(
        deskOf(() => reply('Hello.')),
        setup,
      )
      .begin('Shop')
    expect(await line.send({ text: 'longer' })).toContain('5')
    expect(log).toHaveBeenCalled()
    await say(line, 'short')
    expect(line.document?.id).toContain('my-session')
    expect(onEngine).toHaveBeenCalledOnce()
  })

  test('plans no wake: the time moves only if the developer says so', async () => {
    const schedule = vi.fn()
    const reminds = () => [event({ name: 'remind', after: 1000, execute: () => reply('Hm?') })]
    const line = studios
      .open(
        deskOf(() => reply('Hello.'), reminds),
        { schedule },
      )
      .begin('Shop')
    await say(line, 'Hello')
    expect(await line.advance()).toBeUndefined()
    expect(line.turns.map(({ reply: said }) => said)).toEqual(['Hello.', 'Hm?'])
    expect(schedule).not.toHaveBeenCalled()
  })

  test('takes no part of the set-up that a line has of its own', async () => {
    const createStore = vi.fn()
    const setup = { createStore, hangAfterMs: 1, given: { any: 1 }, flow: Talk, judge: undefined as never }
    expect(
      await say(
        studios
          .open(
            deskOf(() => reply('Hello.')),
            setup,
          )
          .begin('Shop'),
        'Hello',
      ),
    ).toEqual(['Hello.'])
    expect(createStore).not.toHaveBeenCalled()
  })
})
