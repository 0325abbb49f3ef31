// What a reader that is slow, sleeps or leaves means to its turn: under `finish` nothing, and it costs little.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { gate } from '../../../testing/contract/engine-harness.js'
import { readAll, shortly } from '../../../testing/contract/stream-harness.js'
import type { ExecuteResult } from '../core/engine-options.js'
import type { FlowStreamEvent, StreamOptions } from '../core/flow-stream.js'
import { TurnStream } from './turn-stream.js'

function success(message: string): ExecuteResult {
  return {
    response: { success: true, completed: false, message, session: 's', contentType: 'text/plain' },
    sessionState: 'running',
  }
}

/** A stream whose turn goes on without its reader. */
function streamOf(write: (turn: TurnStream) => string | Promise<string>, hasKey = true, options?: StreamOptions) {
  return new TurnStream(async (turn) => {
    turn.readOptions(hasKey)
    turn.turnId = 't1'
    return success(await write(turn))
  }, options)
}

function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

describe('leaving', () => {
  test.each<[boolean, StreamOptions | undefined, boolean]>([
    [true, undefined, false],
    [true, { onDisconnect: 'finish' }, false],
    [true, { onDisconnect: 'cancel' }, true],
    [false, undefined, true],
    [false, { onDisconnect: 'finish' }, false],
    [false, { onDisconnect: 'cancel' }, true],
  ])('with a key: %s, options %j: aborts %s', async (hasKey, options, aborts) => {
    const end = gate()
    let isSettled = false
    const stream = streamOf(
      async (turn) => {
        await turn.sendText('Hel')
        await end.opened
        await turn.sendText('lo.')
        isSettled = true
        return 'Hello.'
      },
      hasKey,
      options,
    )
    await stream.next()
    let hasLeft = false
    const left = stream.return().then(() => {
      hasLeft = true
    })
    await settle()
    expect([stream.signal.aborted, hasLeft]).toEqual([aborts, !aborts])
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    end.open()
    await left
    await settle()
    expect(isSettled).toBe(true)
  })

  test('before the first piece was asked for begins nothing', async () => {
    let begun = false
    const stream = streamOf(() => {
      begun = true
      return ''
    })
    await stream.return()
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    expect(begun).toBe(false)
  })

  test('does not keep the signal of the caller from aborting', async () => {
    const caller = new AbortController()
    const stream = streamOf((turn) => {
      turn.followSignal(caller.signal)
      return new Promise<string>((resolve) => {
        turn.signal.addEventListener('abort', () => resolve(''))
      })
    })
    void stream.next()
    await stream.return()
    expect(stream.signal.aborted).toBe(false)
    caller.abort('bored')
    expect([stream.signal.aborted, stream.signal.reason]).toEqual([true, 'bored'])
  })

  test('leaves a promise of the end of the turn, where it goes on', async () => {
    const end = gate()
    const stream = streamOf(async () => {
      await end.opened
      return ''
    })
    void stream.next()
    let isSettled = false
    const settled = stream.goingOn?.then(() => {
      isSettled = true
    })
    await stream.return()
    await settle()
    expect(isSettled).toBe(false)
    end.open()
    await settled
    expect(isSettled).toBe(true)
    const other = streamOf(() => '', false)
    await readAll(other)
    expect(other.goingOn).toBeUndefined()
  })
})

describe('a wrong option', () => {
  test.each<[unknown, string]>([
    [{ onDisconnect: 'stop' }, "stream: onDisconnect must be 'cancel' or 'finish'."],
    [{ lastEventId: 7 }, 'stream: lastEventId must be a string.'],
    [{ lastEventID: 't1:3' }, "stream: there is no option 'lastEventID'. The options are lastEventId, onDisconnect."],
    [null, 'stream: the options must be an object.'],
  ])('%j is refused', (options, problem) => {
    const stream = new TurnStream(() => Promise.resolve(success('')), options as StreamOptions)
    expect(() => stream.readOptions(true)).toThrow(problem)
  })
})

describe('a slow reader', () => {
  test('gets all text that has come meanwhile as one piece, which has the number of its last', async () => {
    const stream = streamOf((turn) => {
      turn.send({ type: 'step', step: 'Talk' })
      for (const text of ['a', 'b', 'c']) void turn.sendText(text)
      turn.send({ type: 'tool-start', tool: 'look', toolCallId: '1' })
      for (const text of ['d', 'e']) void turn.sendText(text)
      return 'abcde'
    })
    await stream.next()
    await settle()
    const ids: string[] = []
    const events: FlowStreamEvent[] = []
    for await (const event of stream) {
      events.push(event)
      ids.push(stream.lastEventId)
    }
    expect(shortly(events)).toEqual(['"abc"', 'tool look', '"de"', 'result abcde'])
    expect(ids).toEqual(['t1:4', 't1:5', 't1:7', 't1:8'])
  })

  test('is spared text that was taken back before it was read', async () => {
    const stream = streamOf((turn) => {
      void turn.sendText('a')
      for (const text of ['b', 'c']) {
        void turn.sendText(text)
        turn.send({ type: 'tool-end', tool: 'look', toolCallId: '1', success: true })
        turn.reset('retry')
      }
      void turn.sendText('d')
      return 'd'
    })
    expect(await stream.next()).toMatchObject({ value: { type: 'tool-end' } })
    await settle()
    expect(shortly(await readAll(stream))).toEqual(['tool look ok', 'reset retry', '"d"', 'result d'])
  })

  test.each([
    ['sleeps', async (_stream: TurnStream) => {}],
    ['has left', (stream: TurnStream) => stream.return()],
  ])('that %s never makes the turn wait, and at most the text so far waits for it', async (_name, behave) => {
    const act = fc.oneof(fc.string({ minLength: 1 }), fc.constant(null))
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 40 }), fc.nat(40), async (acts, tools) => {
        const stream = streamOf((turn) => {
          let text = ''
          for (const act of acts) {
            if (act === null) {
              turn.reset('retry')
              text = ''
            } else {
              expect(turn.sendText(act)).toBeUndefined()
              text += act
            }
          }
          for (let tool = 0; tool < tools; tool++) {
            turn.send({ type: 'tool-start', tool: 'look', toolCallId: `${tool}` })
            expect(turn.room()).toBeUndefined()
          }
          return text
        })
        void stream.next()
        await behave(stream)
        await settle()
        const waiting = await readAll(stream)
        expect(waiting.filter(({ type }) => type !== 'tool-start').length).toBeLessThanOrEqual(3)
      }),
    )
  })
})
