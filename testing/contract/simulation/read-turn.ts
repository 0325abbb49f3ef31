/** A turn that is streamed, as one that is executed: its last event is the answer, and the earlier events must fit. */
import { expect } from 'vitest'
import type { ExecuteResult, FlowStream, FlowStreamEvent } from '../../../src/index.js'

/**
 * Reads a turn to its end.
 *
 * @param beforeRead - Awaited before each event is read, with those before it; returns whether
 * the reader stops instead.
 * @returns The answer; `undefined` if the reader stopped.
 */
export async function readTurn(
  stream: FlowStream,
  beforeRead: (events: readonly FlowStreamEvent[]) => Promise<boolean> | boolean = () => false,
): Promise<ExecuteResult | undefined> {
  const events: FlowStreamEvent[] = []
  for (;;) {
    if (await beforeRead(events)) {
      await stream.return()
      expect(await stream.next()).toEqual({ done: true, value: undefined })
      return undefined
    }
    const { done, value } = await stream.next()
    if (done === true) break
    events.push(value)
  }
  const last = events.at(-1)
  // Stopped from outside: it gets no more events.
  if (last?.type !== 'result' && last?.type !== 'error') return undefined
  const { type, ...result } = last
  expect(events.findIndex((event) => event.type === 'result' || event.type === 'error')).toBe(events.length - 1)
  if (type === 'error') return result
  const { response, restarted } = result
  expect(events[0]).toEqual({ type: 'session', session: response.session, restarted })
  expect(['', result.response.message]).toContain(textOf(events))
  return result
}

/** The texts since the last reset. */
function textOf(events: readonly FlowStreamEvent[]): string {
  const from = events.findLastIndex(({ type }) => type === 'reset') + 1
  return events
    .slice(from)
    .map((event) => (event.type === 'text-delta' ? event.text : ''))
    .join('')
}
