import { expect, test } from 'vitest'
import { ReadingGate } from './reading-gate.js'

const never = new AbortController().signal

/** Who waits at a gate, and who got through. */
function waiterAt(gate: ReadingGate, signal: AbortSignal = never): { passed: unknown } {
  const waiter = { passed: false as unknown }
  gate.pass(signal).then(
    () => {
      waiter.passed = true
    },
    (reason: unknown) => {
      waiter.passed = reason
    },
  )
  return waiter
}

/** A piece that comes when the test says so. */
function laterPiece(): { promise: Promise<string>; resolve(piece: string): void; reject(error: Error): void } {
  let resolve: (piece: string) => void = () => undefined
  let reject: (error: Error) => void = () => undefined
  const promise = new Promise<string>((...settlers) => {
    ;[resolve, reject] = settlers
  })
  return { promise, resolve, reject }
}

const settle = () => new Promise<void>((resolve) => setTimeout(resolve, 0))

test('is open, unless a turn is read event by event', async () => {
  const gate = new ReadingGate()
  gate.shut()
  expect(gate.isOpen).toBe(true)
  gate.begin()
  expect(gate.isOpen).toBe(false)
  const waiter = waiterAt(gate)
  await settle()
  expect(waiter.passed).toBe(false)
  gate.end()
  await settle()
  expect([waiter.passed, gate.isOpen]).toEqual([true, true])
})

test('is open while a piece is waited for, until somebody answers', async () => {
  const gate = new ReadingGate()
  gate.begin()
  const first = waiterAt(gate)
  const piece = laterPiece()
  const reading = gate.read(piece.promise)
  await settle()
  expect([first.passed, gate.isOpen]).toEqual([true, true])
  gate.shut()
  const second = waiterAt(gate)
  piece.resolve('a')
  expect(await reading).toBe('a')
  await settle()
  expect([second.passed, gate.isOpen]).toEqual([false, false])
})

test('closes when the event is there, whatever made it, even a failure', async () => {
  const gate = new ReadingGate()
  gate.begin()
  const piece = laterPiece()
  const reading = gate.read(piece.promise)
  await settle()
  piece.reject(new Error('no'))
  await expect(reading).rejects.toThrow('no')
  expect(gate.isOpen).toBe(false)
})

test('stays closed for a piece that is there already', async () => {
  const gate = new ReadingGate()
  gate.begin()
  const waiter = waiterAt(gate)
  expect(await gate.read(Promise.resolve('a'))).toBe('a')
  await settle()
  expect(waiter.passed).toBe(false)
})

test('rejects if the signal fires', async () => {
  const gate = new ReadingGate()
  gate.begin()
  const controller = new AbortController()
  const waiter = waiterAt(gate, controller.signal)
  await settle()
  controller.abort('too late')
  await settle()
  expect([waiter.passed, waiterAt(gate, controller.signal).passed]).toEqual(['too late', false])
  await settle()
  gate.end()
})
