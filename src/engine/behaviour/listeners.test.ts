import { afterEach, describe, expect, test, vi } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { type EngineEventMap, type FlowConstructor, reply } from '../../index.js'

afterEach(() => {
  vi.restoreAllMocks()
  expectNothingLeft()
})

const talk = (): FlowConstructor => flowOf('Talk', (turn) => reply(`You said: ${turn.message}`))
const run = { flowName: 'Talk', userMessage: 'hello' }

describe('listeners', () => {
  test('on, once and off return the engine', () => {
    const { engine } = harness()
    const listener = (): void => undefined
    expect(engine.on('turn:start', listener)).toBe(engine)
    expect(engine.once('turn:end', listener)).toBe(engine)
    expect(engine.off('turn:start', listener)).toBe(engine)
    expect(engine.off('session:saved', listener)).toBe(engine)
  })

  test('on receives every event until it is removed', async () => {
    const { engine } = harness({ flows: [talk()] })
    const listener = vi.fn()
    engine.on('turn:start', listener)
    await engine.run(run)
    await engine.run(run)
    engine.off('turn:start', listener)
    await engine.run(run)
    expect(listener).toHaveBeenCalledTimes(2)
  })

  test('once receives one, and can be removed before', async () => {
    const { engine } = harness({ flows: [talk()] })
    const [received, removed] = [vi.fn(), vi.fn()]
    engine.once('turn:start', received).once('turn:start', removed).off('turn:start', removed)
    await engine.run(run)
    await engine.run(run)
    expect(received).toHaveBeenCalledTimes(1)
    expect(removed).not.toHaveBeenCalled()
  })

  test('are called in the order in which they were added, each for its own event', async () => {
    const { engine } = harness({ flows: [talk()] })
    const journal: string[] = []
    engine.on('turn:end', () => journal.push('end'))
    engine.on('turn:start', () => journal.push('first'))
    engine.on('turn:start', () => journal.push('second'))
    await engine.run(run)
    expect(journal).toEqual(['first', 'second', 'end'])
  })

  test('two engines share none', async () => {
    const [one, two] = [harness({ flows: [talk()] }), harness({ flows: [talk()] })]
    const listener = vi.fn()
    one.engine.on('turn:start', listener)
    await two.engine.run(run)
    expect(listener).not.toHaveBeenCalled()
  })
})

describe('a listener that fails', () => {
  const failing: readonly (readonly [string, () => unknown])[] = [
    [
      'throws',
      () => {
        throw new Error('bad listener')
      },
    ],
    ['rejects', () => Promise.reject(new Error('bad listener'))],
    ['rejects later', () => Promise.resolve().then(() => Promise.reject(new Error('bad listener')))],
  ]

  test.each(failing)(
    'that %s touches neither the turn nor another listener, and is reported',
    async (_how, listener) => {
      const told: (readonly [unknown, string])[] = []
      const onListenerError = (error: unknown, event: string): void => {
        told.push([error, event])
      }
      const { engine, clock, document } = harness({ flows: [talk()], onListenerError })
      const other = vi.fn()
      const names: (keyof EngineEventMap)[] = ['turn:start', 'step:enter', 'session:created', 'turn:end']
      for (const name of names) engine.on(name, listener).on(name, other)
      const response = await engine.run(run)
      expect(response).toMatchObject({ success: true, message: 'You said: hello' })
      await clock.settle()
      expect(other).toHaveBeenCalledTimes(4)
      expect(told.map(([, event]) => event)).toEqual(names)
      for (const [error] of told) expect(error).toMatchObject({ message: 'bad listener' })
      expect(await document(response.session)).toMatchObject({ runStatus: 'running', error: [] })
    },
  )

  test.each(failing)('that %s once is not asked again', async (_how, listener) => {
    const onListenerError = vi.fn()
    const { engine, clock } = harness({ flows: [talk()], onListenerError })
    engine.once('turn:start', listener)
    await engine.run(run)
    await engine.run(run)
    await clock.settle()
    expect(onListenerError).toHaveBeenCalledTimes(1)
  })

  test('at a delete touches neither the delete nor its result', async () => {
    const onListenerError = vi.fn()
    const { engine, start } = harness({ flows: [talk()], onListenerError })
    const session = await start('Talk')
    engine.on('session:deleted', () => {
      throw new Error('bad listener')
    })
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(onListenerError).toHaveBeenCalledWith(expect.any(Error), 'session:deleted')
  })

  test('goes to console.error unless said otherwise', async () => {
    const spy = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const { engine } = harness({ flows: [talk()] })
    const error = new Error('bad listener')
    engine.on('turn:start', () => {
      throw error
    })
    expect((await engine.run(run)).success).toBe(true)
    expect(spy.mock.calls).toEqual([["A listener of 'turn:start' failed.", error]])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('worse')
      },
    ],
    ['rejects', () => Promise.reject(new Error('worse'))],
  ])('and an onListenerError that %s: the turn goes on', async (_how, onListenerError) => {
    const { engine, clock } = harness({ flows: [talk()], onListenerError: onListenerError as () => void })
    engine.on('turn:start', () => {
      throw new Error('bad listener')
    })
    engine.on('turn:end', () => Promise.reject(new Error('bad listener')))
    expect((await engine.run(run)).success).toBe(true)
    await clock.settle()
  })
})

describe('a listener that acts on the engine', () => {
  test('may start a turn of the same session: it waits its turn', async () => {
    const { engine, start, document } = harness({ flows: [talk()] })
    const session = await start('Talk')
    let second: Promise<unknown> | undefined
    engine.once('turn:start', () => {
      second = engine.run({ flowName: 'Talk', userMessage: 'second', sessionId: session })
    })
    expect(await engine.run({ flowName: 'Talk', userMessage: 'first', sessionId: session })).toMatchObject({ session })
    expect(await second).toMatchObject({ success: true, session })
    expect((await document(session)).history.map(({ message }) => message)).toEqual(['start', 'first', 'second'])
  })

  test('may take others back, and add some, without a change to this round', async () => {
    const { engine } = harness({ flows: [talk()] })
    const journal: string[] = []
    const late = (): number => journal.push('late')
    engine.on('turn:start', () => {
      journal.push('first')
      engine.off('turn:start', second)
      engine.on('turn:start', late)
    })
    const second = (): number => journal.push('second')
    engine.on('turn:start', second)
    await engine.run(run)
    expect(journal).toEqual(['first', 'second'])
    await engine.run(run)
    expect(journal).toEqual(['first', 'second', 'first', 'late'])
  })
})

test('a listener that is not a function is refused at once', () => {
  const { engine } = harness()
  for (const listener of [undefined, null, {}, 'log']) {
    expect(() => engine.on('turn:start', listener as never)).toThrow("A listener of 'turn:start' must be a function.")
  }
})
