import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { onAbort } from './on-abort.js'

test('calls the listener when the signal aborts', () => {
  const controller = new AbortController()
  let calls = 0
  onAbort(controller.signal, () => calls++)
  expect(calls).toBe(0)
  controller.abort()
  expect(calls).toBe(1)
})

test('the returned function removes the listener', () => {
  const controller = new AbortController()
  let calls = 0
  const stop = onAbort(controller.signal, () => calls++)
  stop()
  stop()
  expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  controller.abort()
  expect(calls).toBe(0)
})

test('without a signal, does nothing', () => {
  expect(onAbort(undefined, () => undefined)).not.toThrow()
})

test('removing the listener never throws, even if the signal does', () => {
  const signal = Object.assign(new EventTarget(), {
    removeEventListener: () => {
      throw new Error('stumbled')
    },
  }) as unknown as AbortSignal
  expect(onAbort(signal, () => undefined)).not.toThrow()
})
