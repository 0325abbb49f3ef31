// The channel between a turn and its reader, without an engine: order, readers of all kinds, and which side waits.
import { describe, expect, test, vi } from 'vitest'
import { gate, never } from '../../../testing/contract/engine-harness.js'
import { readAll, shortly } from '../../../testing/contract/stream-harness.js'
import { FlowCodeError } from '../../errors/engine-errors.js'
import type { ExecuteResult } from '../core/engine-options.js'
import { TurnStream } from './turn-stream.js'

function success(message: string): ExecuteResult {
  return {
    response: { success: true, completed: false, message, session: 's', contentType: 'text/plain' },
    sessionState: 'running',
  }
}

const failure: ExecuteResult = {
  response: { success: false, completed: true, message: 'Broken.', session: 's', contentType: 'text/plain' },
  sessionState: 'aborted',
  error: new FlowCodeError({ message: 'Broken.' }),
}

/** A stream whose turn writes what `write` does, and replies with what it returns. */
function streamOf(write: (stream: TurnStream) => string | Promise<string>): TurnStream {
  return new TurnStream(async (stream) => success(await write(stream)))
}

/** Lets settled promises run. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

describe('the pieces', () => {
  test('come in the order in which they were sent, the result last', async () => {
    const stream = streamOf(async (turn) => {
      turn.send({ type: 'session', session: 's' })
      turn.send({ type: 'step', step: 'Talk' })
      await turn.sendText('Hel')
      await turn.sendText('')
      await turn.sendText('lo.')
      return 'Hello.'
    })
    expect(await readAll(stream)).toEqual([
      { type: 'session', session: 's' },
      { type: 'step', step: 'Talk' },
      { type: 'text-delta', text: 'Hel' },
      { type: 'text-delta', text: 'lo.' },
      { type: 'result', ...success('Hello.') },
    ])
  })

  test('of a reply in bytes tell its encoding', async () => {
    const stream = new TurnStream(async () => ({ ...success('AAAA'), encoding: 'base64' }))
    expect(await readAll(stream)).toEqual([{ type: 'result', ...success('AAAA'), encoding: 'base64' }])
  })

  test('of a turn that failed end with the error and the envelope', async () => {
    const stream = new TurnStream(async (turn) => {
      void turn.sendText('Hel')
      return failure
    })
    expect((await readAll(stream)).slice(1)).toEqual([{ type: 'error', ...failure }])
  })

  test.each([
    ['is the reply', ['One', ' two.'], 'One two.', ['"One"', '" two."', 'result One two.']],
    ['is another', ['One'], 'Two.', ['"One"', 'reset reply', 'result Two.']],
    ['is the beginning of it', ['One'], 'One two.', ['"One"', 'reset reply', 'result One two.']],
    ['was not sent', [], 'Two.', ['result Two.']],
    ['is empty, and so is what was sent', [''], '', ['result ']],
  ])('where the text %s', async (_name, texts, reply, expected) => {
    const stream = streamOf((turn) => {
      for (const text of texts) void turn.sendText(text)
      return reply
    })
    expect(shortly(await readAll(stream))).toEqual(expected)
  })

  test('a reset is sent only where there is text to forget', async () => {
    const stream = streamOf((turn) => {
      turn.reset('retry')
      void turn.sendText('One')
      turn.reset('retry')
      turn.reset('fallback')
      void turn.sendText('Two')
      return 'Two'
    })
    expect(shortly(await readAll(stream))).toEqual(['"One"', 'reset retry', '"Two"', 'result Two'])
  })
})

describe('the turn', () => {
  test('begins with the first next(), at once, and only once', async () => {
    const start = vi.fn(async () => success('Hello.'))
    const stream = new TurnStream(start)
    expect(stream[Symbol.asyncIterator]()).toBe(stream)
    await settle()
    expect(start).not.toHaveBeenCalled()
    const reads = [stream.next(), stream.next()]
    expect(start).toHaveBeenCalledTimes(1)
    expect(await Promise.all(reads)).toMatchObject([{ value: { type: 'result' } }, { done: true }])
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    expect(start).toHaveBeenCalledTimes(1)
  })

  test('never begins where the reader left before', async () => {
    const start = vi.fn(async () => success('Hello.'))
    const stream = new TurnStream(start)
    expect(await stream.return()).toEqual({ done: true, value: undefined })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    expect(start).not.toHaveBeenCalled()
  })

  test('whose own code reads on is not begun a second time', async () => {
    let starts = 0
    let second: Promise<unknown> | undefined
    const stream = new TurnStream(async (turn) => {
      if (++starts === 1) second = turn.next()
      void turn.sendText('Hello.')
      return success('Hello.')
    })
    expect(shortly([(await stream.next()).value as never])).toEqual(['result Hello.'])
    expect(await second).toEqual({ done: false, value: { type: 'text-delta', text: 'Hello.' } })
    expect(starts).toBe(1)
  })

  test('whose own code leaves is waited for all the same', async () => {
    const settled = gate()
    let isLeft = false
    const stream = new TurnStream(async (turn) => {
      void turn.return().then(() => {
        isLeft = true
      })
      await settled.opened
      return success('Hello.')
    })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    await settle()
    expect([isLeft, stream.signal.aborted]).toEqual([false, true])
    settled.open()
    await settle()
    expect(isLeft).toBe(true)
  })
})

describe('readers', () => {
  test('several get one piece each, in the order in which they asked, and then the end', async () => {
    const begin = gate()
    const stream = streamOf(async (turn) => {
      await begin.opened
      void turn.sendText('One')
      return 'One'
    })
    const reads = [stream.next(), stream.next(), stream.next(), stream.next()]
    begin.open()
    expect((await Promise.all(reads)).map(({ done, value }) => done === true || value.type)).toEqual([
      'text-delta',
      'result',
      true,
      true,
    ])
  })

  test('in two loops share the pieces, and both end', async () => {
    const stream = streamOf(async (turn) => {
      for (const text of ['a', 'b', 'c', 'd']) {
        await turn.sendText(text)
        await settle()
      }
      return 'abcd'
    })
    const [one, two] = await Promise.all([readAll(stream), readAll(stream)])
    expect(shortly([...one, ...two]).sort()).toEqual(['"a"', '"b"', '"c"', '"d"', 'result abcd'])
  })

  test('that come late find what was sent, in order', async () => {
    const stream = streamOf((turn) => {
      void turn.sendText('a')
      void turn.sendText('b')
      return 'ab'
    })
    await stream.next()
    await settle()
    expect(shortly(await readAll(stream))).toEqual(['"b"', 'result ab'])
  })

  test('that throw into a loop find that there is no throw, and the turn is aborted', async () => {
    const stream = new TurnStream(async (turn) => {
      void turn.sendText('a')
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      return failure
    })
    expect('throw' in stream).toBe(false)
    async function* passOn(): AsyncGenerator<unknown> {
      yield* stream
    }
    const outer = passOn()
    await outer.next()
    await expect(outer.throw(new Error('no more'))).rejects.toBeInstanceOf(TypeError)
    expect(stream.signal.aborted).toBe(true)
  })
})

describe('a reader that is slow', () => {
  /** Sends 100 texts of one letter as fast as it may. */
  function hundred(): { readonly stream: TurnStream; readonly sent: () => number } {
    let sent = 0
    const stream = streamOf(async (turn) => {
      for (; sent < 100; sent++) {
        const room = turn.sendText('x')
        if (room !== undefined) await room
      }
      return 'x'.repeat(100)
    })
    return { stream, sent: () => sent }
  }

  test('holds the turn back: 16 pieces wait, and one more is let in for each that is read', async () => {
    const { stream, sent } = hundred()
    await stream.next()
    await settle()
    // One was read, 16 wait, and with the last of them its sender.
    expect(sent()).toBe(16)
    await stream.next()
    await settle()
    expect(sent()).toBe(17)
    for (let read = 0; read < 5; read++) await stream.next()
    await settle()
    expect(sent()).toBe(22)
    expect(await readAll(stream)).toHaveLength(100 - 7 + 1)
  })

  test('lets it go on when it leaves', async () => {
    const { stream, sent } = hundred()
    await stream.next()
    await settle()
    await stream.return()
    expect(sent()).toBe(100)
  })

  test('and pieces that are not waited for: there is room again when enough of them were read', async () => {
    const stream = streamOf(async (turn) => {
      for (let step = 0; step < 20; step++) turn.send({ type: 'step', step: `${step}` })
      await turn.room()
      return ''
    })
    expect(await readAll(stream)).toHaveLength(21)
  })
})

describe('return()', () => {
  test('aborts, sends nothing more, and resolves when the turn is settled', async () => {
    const settled = gate()
    const stream = new TurnStream(async (turn) => {
      void turn.sendText('One')
      void turn.sendText('Two')
      await settled.opened
      void turn.sendText('Three')
      return failure
    })
    expect(await stream.next()).toMatchObject({ done: false })
    let isLeft = false
    const left = stream.return().then((read) => {
      isLeft = true
      return read
    })
    expect(stream.signal.aborted).toBe(true)
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    await settle()
    expect(isLeft).toBe(false)
    settled.open()
    expect(await left).toEqual({ done: true, value: undefined })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  test('ends readers that wait, and may be called again and again', async () => {
    const settled = gate()
    const stream = new TurnStream(async () => {
      await settled.opened
      return failure
    })
    const waiting = stream.next()
    const left = [stream.return(), stream.return()]
    expect(await waiting).toEqual({ done: true, value: undefined })
    settled.open()
    await Promise.all(left)
    expect(await stream.return()).toEqual({ done: true, value: undefined })
  })

  test('after the end does nothing; what was not read is gone', async () => {
    const stream = streamOf((turn) => {
      void turn.sendText('One')
      return 'One'
    })
    await stream.next()
    await settle()
    await stream.return()
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })
})

describe("the caller's signal", () => {
  test('aborts with its reason, also one that fired before', () => {
    for (const abortFirst of [true, false]) {
      const controller = new AbortController()
      const stream = new TurnStream(() => never())
      if (abortFirst) controller.abort('bored')
      stream.followSignal(controller.signal)
      if (!abortFirst) controller.abort('bored')
      expect([stream.signal.aborted, stream.signal.reason]).toEqual([true, 'bored'])
    }
  })

  test('is not listened to after the turn, and not aborted by the reader', async () => {
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, 'addEventListener')
    const removed = vi.spyOn(signal, 'removeEventListener')
    const stream = streamOf((turn) => {
      turn.followSignal(signal)
      return 'Hello.'
    })
    await readAll(stream)
    expect(removed.mock.calls.map(([, listener]) => listener)).toEqual(added.mock.calls.map(([, listener]) => listener))
    expect(added).toHaveBeenCalledTimes(1)
    await stream.return()
    expect(signal.aborted).toBe(false)
  })

  test('may be absent', () => {
    const stream = new TurnStream(() => never())
    stream.followSignal(undefined)
    expect(stream.signal.aborted).toBe(false)
  })
})
