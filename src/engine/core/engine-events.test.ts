import { describe, expect, test, vi } from 'vitest'
import { VirtualClock } from '../../../testing/index.js'
import { type EngineEventMap, EngineEvents } from './engine-events.js'

const payload = (): EngineEventMap['session:deleted'] => ({ sessionId: 'one', at: 5 })

function events() {
  const errors: (readonly [unknown, string])[] = []
  return { errors, events: new EngineEvents((error, event) => errors.push([error, event])) }
}

/** Lets every settled promise run on. */
const settled = (): Promise<void> => new VirtualClock().settle()

describe('EngineEvents', () => {
  test('knows whether an event has listeners', () => {
    const { events: made } = events()
    const listener = (): void => undefined
    expect(made.hasListeners('session:deleted')).toBe(false)
    made.on('session:deleted', listener)
    expect(made.hasListeners('session:deleted')).toBe(true)
    expect(made.hasListeners('session:evicted')).toBe(false)
    made.off('session:deleted', listener)
    expect(made.hasListeners('session:deleted')).toBe(false)
    made.once('session:deleted', listener)
    made.emit('session:deleted', payload())
    expect(made.hasListeners('session:deleted')).toBe(false)
  })

  test('freezes the payload and hands it to each listener, in the order they were added', () => {
    const { events: made } = events()
    const received: unknown[] = []
    made.on('session:deleted', (given) => received.push(['first', given]))
    made.on('session:deleted', (given) => received.push(['second', given]))
    const given = payload()
    made.emit('session:deleted', given)
    expect(received).toEqual([
      ['first', given],
      ['second', given],
    ])
    expect(Object.isFrozen(given)).toBe(true)
  })

  test('an event without listeners goes nowhere', () => {
    const { events: made, errors } = events()
    made.on('session:evicted', () => undefined)
    expect(() => made.emit('session:deleted', payload())).not.toThrow()
    expect(errors).toEqual([])
  })

  test('a listener is added once, and the last word counts', () => {
    const { events: made } = events()
    const listener = vi.fn()
    made.on('session:deleted', listener)
    made.on('session:deleted', listener)
    made.emit('session:deleted', payload())
    expect(listener).toHaveBeenCalledTimes(1)
    made.once('session:deleted', listener)
    made.emit('session:deleted', payload())
    made.emit('session:deleted', payload())
    expect(listener).toHaveBeenCalledTimes(2)
    made.once('session:deleted', listener)
    made.on('session:deleted', listener)
    made.emit('session:deleted', payload())
    made.emit('session:deleted', payload())
    expect(listener).toHaveBeenCalledTimes(4)
  })

  test('one listener may listen to several events, and is removed from one of them', () => {
    const { events: made } = events()
    const listener = vi.fn()
    made.on('session:deleted', listener)
    made.on('session:evicted', listener)
    made.off('session:deleted', listener)
    made.emit('session:deleted', payload())
    made.emit('session:evicted', payload())
    expect(listener).toHaveBeenCalledTimes(1)
  })

  test('removing what was never added does nothing', () => {
    const { events: made } = events()
    const listener = vi.fn()
    made.off('session:deleted', listener)
    made.on('session:deleted', listener)
    made.off('session:deleted', () => undefined)
    made.emit('session:deleted', payload())
    expect(listener).toHaveBeenCalledTimes(1)
  })

  test('a once listener that emits the same event is not called again', () => {
    const { events: made } = events()
    let calls = 0
    made.once('session:deleted', () => {
      calls++
      made.emit('session:deleted', payload())
    })
    made.emit('session:deleted', payload())
    expect(calls).toBe(1)
  })

  test('what is thrown or rejected is reported with the name of the event, and the others are called', async () => {
    const { events: made, errors } = events()
    const thrown = new Error('thrown')
    const rejected = new Error('rejected')
    const other = vi.fn()
    made.on('session:deleted', () => {
      throw thrown
    })
    made.on('session:deleted', () => Promise.reject(rejected))
    made.on('session:deleted', async () => {
      await settled()
      throw 'later'
    })
    made.on('session:deleted', other)
    made.emit('session:deleted', payload())
    expect(other).toHaveBeenCalledTimes(1)
    expect(errors).toEqual([[thrown, 'session:deleted']])
    await settled()
    await settled()
    expect(errors).toEqual([
      [thrown, 'session:deleted'],
      [rejected, 'session:deleted'],
      ['later', 'session:deleted'],
    ])
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('worse')
      },
    ],
    ['rejects', () => Promise.reject(new Error('worse'))],
  ])('a report that %s is the end of it', async (_how, report) => {
    const made = new EngineEvents(report as () => void)
    made.on('session:deleted', () => {
      throw new Error('bad')
    })
    made.on('session:deleted', () => Promise.reject(new Error('bad')))
    expect(() => made.emit('session:deleted', payload())).not.toThrow()
    await settled()
  })

  test('the rejection of any thenable is reported', async () => {
    const reports: unknown[] = []
    const made = new EngineEvents((error) => reports.push(error))
    // biome-ignore lint/suspicious/noThenProperty: a thenable of another library, as a listener may return one
    made.on('session:deleted', () => ({ then: (_done: unknown, failed: (error: string) => void) => failed('bad') }))
    made.emit('session:deleted', payload())
    await settled()
    expect(reports).toEqual(['bad'])
  })

  test('a listener that is not a function is refused', () => {
    const { events: made } = events()
    for (const listener of [undefined, null, 'log', {}]) {
      expect(() => made.on('session:deleted', listener as never)).toThrow(
        "A listener of 'session:deleted' must be a function.",
      )
      expect(() => made.once('session:deleted', listener as never)).toThrow('must be a function')
    }
    expect(made.hasListeners('session:deleted')).toBe(false)
  })
})
