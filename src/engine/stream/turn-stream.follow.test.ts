// Streams of repeats of a request: they get the pieces of the turn that answers them, from wherever their reader was.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readAll, shortly } from '../../../testing/contract/stream-harness.js'
import { TurnAbortedError } from '../../errors/engine-errors.js'
import type { ExecuteResult } from '../core/engine-options.js'
import type { FlowStreamEvent } from '../core/flow-stream.js'
import { TurnStream } from './turn-stream.js'

function success(message: string, more: Partial<ExecuteResult> = {}): ExecuteResult {
  return {
    response: { success: true, completed: false, message, session: 's', contentType: 'text/plain' },
    sessionState: 'running',
    ...more,
  }
}

const cancelled: ExecuteResult = {
  response: { success: false, completed: true, message: 'Gone.', session: 's', contentType: 'text/plain' },
  sessionState: 'running',
  error: new TurnAbortedError(),
}

/** Lets settled promises run. */
function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** A promise that a test resolves. */
function outcome(): { readonly result: Promise<ExecuteResult>; readonly settle: (result: ExecuteResult) => void } {
  let settle: (result: ExecuteResult) => void = () => {}
  const result = new Promise<ExecuteResult>((resolve) => {
    settle = resolve
  })
  return { result, settle }
}

interface Lead {
  readonly stream: TurnStream
  /** Ends the turn, and all that follow it. */
  readonly settle: (result: ExecuteResult) => void
  /** The stream of a repeat, whose reader has seen `lastEventId`. */
  repeat(lastEventId?: string, onDisconnect?: 'cancel' | 'finish'): TurnStream
}

/** The stream of a request with a key: turn `t1`, open in session `s`, with nobody reading but for its first piece. */
async function lead(begin: (stream: TurnStream) => void = open): Promise<Lead> {
  const { result, settle: end } = outcome()
  const stream = new TurnStream(async (turn) => {
    turn.readOptions(true)
    begin(turn)
    return await result
  })
  void stream.next()
  return {
    stream,
    settle: end,
    repeat(lastEventId, onDisconnect) {
      const options = { ...(lastEventId === undefined ? {} : { lastEventId }), ...(onDisconnect && { onDisconnect }) }
      return new TurnStream(async (turn) => {
        turn.readOptions(true)
        turn.follow(stream)
        return { ...(await result), replayed: true }
      }, options)
    },
  }
}

function open(turn: TurnStream): void {
  turn.turnId = 't1'
  turn.send({ type: 'session', session: 's' })
  turn.send({ type: 'step', step: 'Talk' })
}

interface Seen {
  readonly events: FlowStreamEvent[]
  readonly ids: string[]
}

/** Reads so many pieces, or all. */
async function read(stream: TurnStream, count = Infinity): Promise<Seen> {
  const seen: Seen = { events: [], ids: [] }
  while (seen.events.length < count) {
    const { value } = await stream.next()
    if (value === undefined) break
    seen.events.push(value)
    seen.ids.push(stream.lastEventId)
  }
  return seen
}

const inShort = ({ events, ids }: Seen): string[] => shortly(events).map((event, index) => `${ids[index]} ${event}`)

describe('the IDs', () => {
  test('count the pieces of the turn; there is none before the first, and it stays after the last', async () => {
    const stream = new TurnStream(async (turn) => {
      open(turn)
      await turn.sendText('One')
      return success('One')
    })
    expect(stream.lastEventId).toBe('')
    expect(inShort(await read(stream))).toEqual(['t1:1 session', 't1:2 step Talk', 't1:3 "One"', 't1:4 result One'])
    expect(stream.lastEventId).toBe('t1:4')
  })

  test('are empty where the turn never began', async () => {
    expect(inShort(await read(new TurnStream(async () => cancelled)))).toEqual([' error TURN_ABORTED'])
  })
})

describe('a reader that joins', () => {
  test('gets the session, the step and the text so far, what comes, and the result of its own request', async () => {
    const { stream, settle, repeat } = await lead()
    void stream.sendText('Hel')
    const joined = repeat()
    const begin = await read(joined, 4)
    expect(inShort(begin)).toEqual(['t1:0 session', 't1:0 step Talk', 't1:0 reset resume', 't1:3 "Hel"'])
    expect(begin.events[0]).toEqual({ type: 'session', session: 's', replayed: true })
    void stream.sendText('lo.')
    settle(success('Hello.'))
    const end = await read(joined)
    expect(inShort(end)).toEqual(['t1:4 "lo."', 't1:5 result Hello.'])
    expect(end.events.at(-1)).toMatchObject({ replayed: true })
  })

  test('that has missed nothing gets no text again', async () => {
    const { stream, settle, repeat } = await lead()
    void stream.sendText('Hel')
    const joined = repeat('t1:3')
    expect(inShort(await read(joined, 2))).toEqual(['t1:3 session', 't1:3 step Talk'])
    void stream.sendText('lo.')
    settle(success('Hello.'))
    expect(inShort(await read(joined))).toEqual(['t1:4 "lo."', 't1:5 result Hello.'])
  })

  test.each(['t1:2', 't1:4', 't2:3', 't1:0', 't1', 'x', '3'])('with the ID %s has missed something', async (id) => {
    const { stream, repeat } = await lead()
    void stream.sendText('Hel')
    expect(shortly((await read(repeat(id), 4)).events).slice(2)).toEqual(['reset resume', '"Hel"'])
  })

  test('where all text was taken back forgets its own', async () => {
    const { stream, repeat } = await lead()
    void stream.sendText('Hel')
    stream.reset('retry')
    expect(inShort(await read(repeat('t1:3'), 3))).toEqual(['t1:0 session', 't1:0 step Talk', 't1:4 reset resume'])
    expect(inShort(await read(repeat('t1:4'), 2))).toEqual(['t1:4 session', 't1:4 step Talk'])
  })

  test('and is cut off before the text has come is sent the text the next time', async () => {
    const { stream, repeat } = await lead()
    void stream.sendText('Hel')
    for (const count of [1, 2, 3]) {
      const joined = repeat()
      await read(joined, count)
      expect(shortly((await read(repeat(joined.lastEventId), 4)).events).slice(2)).toEqual(['reset resume', '"Hel"'])
    }
  })

  test('before the turn has begun gets its pieces when they come', async () => {
    const { stream, settle, repeat } = await lead(() => {})
    const joined = repeat('t0:9')
    const reading = read(joined, 4)
    await new Promise(setImmediate)
    open(stream)
    void stream.sendText('Hello.')
    settle(success('Hello.'))
    expect(inShort(await reading)).toEqual(['t1:0 session', 't1:1 reset resume', 't1:2 step Talk', 't1:3 "Hello."'])
    expect(inShort(await read(joined))).toEqual(['t1:4 result Hello.'])
  })

  test('a turn that fails gets the error alone', async () => {
    const { settle, repeat } = await lead(() => {})
    const joined = repeat('t0:9')
    const reading = read(joined)
    settle(cancelled)
    expect(shortly((await reading).events)).toEqual(['error TURN_ABORTED'])
  })

  test('follows one that follows', async () => {
    const { stream, settle, repeat } = await lead()
    const second = repeat()
    await read(second, 1)
    const { result, settle: end } = outcome()
    const third = new TurnStream(async (turn) => {
      turn.readOptions(true)
      turn.follow(second)
      return await result
    })
    void stream.sendText('One')
    await read(third, 1)
    // The second has a reader that leaves; the third gets all the same what comes.
    await second.return()
    void stream.sendText(' two.')
    settle(success('One two.'))
    await new Promise(setImmediate)
    end(success('One two.'))
    expect(textOf((await read(third)).events)).toBe('One two.')
  })

  test('is one of several, each at its own place', async () => {
    const { stream, settle, repeat } = await lead()
    const streams: TurnStream[] = []
    for (const text of ['a', 'b', 'c']) {
      void stream.sendText(text)
      const joined = repeat()
      await read(joined, 1)
      streams.push(joined)
    }
    settle(success('abc'))
    for (const joined of streams) expect(textOf((await read(joined)).events)).toBe('abc')
  })
})

/** The text that a page shows after these pieces, if it has shown `shown`. */
function textOf(events: readonly FlowStreamEvent[], shown = ''): string {
  let text = shown
  for (const event of events) {
    if (event.type === 'text-delta') text += event.text
    if (event.type === 'reset') text = ''
  }
  return text
}

describe('a reader that has joined and leaves', () => {
  test.each(['cancel', 'finish'] as const)('only stops reading: %s', async (onDisconnect) => {
    const { stream, settle, repeat } = await lead()
    const joined = repeat(undefined, onDisconnect)
    await read(joined, 1)
    const waiting = read(joined)
    // Resolves although the turn goes on.
    expect(await joined.return()).toEqual({ done: true, value: undefined })
    await waiting
    expect(await joined.return()).toEqual({ done: true, value: undefined })
    expect([stream.signal.aborted, joined.signal.aborted]).toEqual([false, onDisconnect === 'cancel'])
    void stream.sendText('Hello.')
    settle(success('Hello.'))
    expect(shortly(await readAll(stream)).at(-1)).toBe('result Hello.')
  })
})

describe('a turn that runs anew in the stream of a repeat', () => {
  test('has numbers of its own, and the text of the cancelled one is taken back', async () => {
    const { stream } = await lead()
    void stream.sendText('Hel')
    const { result, settle: end } = outcome()
    let own: TurnStream | undefined
    const joined = new TurnStream(async (turn) => {
      own = turn
      turn.readOptions(true)
      turn.follow(stream)
      return await result
    })
    await read(joined, 4)
    expect(joined.turnId).toBe('t1')
    const turn = own as TurnStream
    turn.turnId = 't2'
    expect(joined.turnId).toBe('t1')
    turn.send({ type: 'session', session: 's' })
    // What the cancelled turn still says goes nowhere.
    void stream.sendText('lost')
    expect(joined.turnId).toBe('t2')
    void turn.sendText('Again.')
    end(success('Again.'))
    const seen = await read(joined)
    expect(inShort(seen)).toEqual(['t2:0 session', 't2:1 reset resume', 't2:2 "Again."', 't2:3 result Again.'])
    expect(seen.events[0]).toEqual({ type: 'session', session: 's' })
  })

  test('has nothing to take back where no text was sent', async () => {
    const { stream } = await lead()
    const joined = new TurnStream(async (turn) => {
      turn.follow(stream)
      turn.turnId = 't2'
      turn.send({ type: 'session', session: 's' })
      return success('Again.')
    })
    const ids = inShort(await read(joined))
    expect(ids.slice(3)).toEqual(['t2:1 session', 't2:2 result Again.'])
  })

  test('may be followed by the next repeat, which has followed the first', async () => {
    const { stream } = await lead()
    void stream.sendText('Hel')
    const second = await lead(() => {})
    const joined = new TurnStream(async (turn) => {
      turn.follow(stream)
      turn.follow(second.stream)
      return success('Again.')
    })
    const first = await read(joined, 4)
    second.stream.turnId = 't2'
    second.stream.send({ type: 'session', session: 's' })
    expect(textOf((await read(joined)).events, textOf(first.events))).toBe('')
  })

  test('is aborted where its reader has left and cancels', async () => {
    const { stream } = await lead()
    const { result, settle: end } = outcome()
    let own: TurnStream | undefined
    const joined = new TurnStream(
      async (turn) => {
        own = turn
        turn.readOptions(true)
        turn.follow(stream)
        return await result
      },
      { onDisconnect: 'cancel' },
    )
    await read(joined, 1)
    ;(own as TurnStream).send({ type: 'session', session: 's' })
    let hasLeft = false
    const leaving = joined.return().then(() => {
      hasLeft = true
    })
    await settle()
    expect([joined.signal.aborted, hasLeft]).toEqual([true, false])
    end(cancelled)
    await leaving
  })
})

describe('a request that was answered before', () => {
  const replayed = (more: Partial<ExecuteResult> = {}, options: { lastEventId?: string } = {}): TurnStream =>
    new TurnStream(async (turn) => {
      turn.readOptions(true)
      return success('Hello.', { replayed: true, ...more })
    }, options)

  test('has a session and a result', async () => {
    const events = await readAll(replayed())
    expect(events[0]).toEqual({ type: 'session', session: 's', replayed: true })
    expect(events.slice(1)).toEqual([{ type: 'result', ...success('Hello.'), replayed: true }])
  })

  test('says that the session was a new one', async () => {
    const [first] = await readAll(replayed({ restarted: 'completed' }))
    expect(first).toEqual({ type: 'session', session: 's', replayed: true, restarted: 'completed' })
  })

  test('takes back the text that its reader has from then', async () => {
    expect(shortly(await readAll(replayed({}, { lastEventId: 't1:3' })))).toEqual([
      'session',
      'reset resume',
      'result Hello.',
    ])
  })

  test('and had failed has the error alone', async () => {
    const events = await readAll(replayed({ ...cancelled, replayed: true }, { lastEventId: 't1:3' }))
    expect(events).toEqual([{ type: 'error', ...cancelled, replayed: true }])
  })

  test('but ran in this stream has its own session only', async () => {
    const stream = new TurnStream(async (turn) => {
      open(turn)
      return success('Hello.', { replayed: true })
    })
    expect(shortly(await readAll(stream))).toEqual(['session', 'step Talk', 'result Hello.'])
  })
})

describe('a turn that runs for a reader that was here before', () => {
  const run = (hasKey: boolean): TurnStream =>
    new TurnStream(
      async (turn) => {
        turn.readOptions(hasKey)
        open(turn)
        void turn.sendText('Hello.')
        return success('Hello.')
      },
      { lastEventId: 't0:3' },
    )

  test('takes back the text from then', async () => {
    expect(inShort(await read(run(true)))).toEqual([
      't1:0 session',
      't1:1 reset resume',
      't1:2 step Talk',
      't1:3 "Hello."',
      't1:4 result Hello.',
    ])
  })

  test('has nothing to do with it where the request has no key', async () => {
    expect(shortly(await readAll(run(false)))).not.toContain('reset resume')
  })
})

/** What a turn does, in a row; what else happens between two pieces. */
type Act =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reset' | 'step' | 'tool' }
  /** A client reads on, so many pieces; leaves; or comes back with the last ID that it has, or one that it makes up. */
  | { readonly type: 'read' | 'leave' | 'come back'; readonly client: number; readonly count: number }
  | { readonly type: 'made-up'; readonly client: number; readonly id: string }

const clientNumber = fc.nat(2)
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant('text' as const), text: fc.string({ maxLength: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('reset' as const, 'step' as const, 'tool' as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      type: fc.constantFrom('read' as const, 'leave' as const, 'come back' as const, 'come back' as const),
      client: clientNumber,
      count: fc.nat(6),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('made-up' as const),
      client: clientNumber,
      id: fc.constantFrom('', 't1', 't1:0', 't0:3', 't0:0', 'x'),
    }),
  },
)

/** A client: it shows text, and knows the ID of the last piece that it has. */
class Client {
  text = ''
  lastEventId = ''
  result: string | undefined
  stream: TurnStream | undefined

  async read(count: number): Promise<void> {
    const { stream } = this
    for (let index = 0; stream !== undefined && index < count; index++) {
      const piece = await Promise.race([stream.next(), settle()])
      if (piece === undefined) {
        // Nothing is there to read, and the question stays with the stream: this client has gone meanwhile.
        this.leave()
        return
      }
      if (piece.value === undefined) return
      this.lastEventId = stream.lastEventId
      this.text = textOf([piece.value], this.text)
      if (piece.value.type === 'result') this.result = piece.value.response.message
    }
  }

  leave(): void {
    void this.stream?.return()
    this.stream = undefined
  }
}

test('whatever a turn sends, and whenever clients come, read and leave, the text that one shows at the result is the reply', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 40 }), fc.boolean(), async (acts, isEarly) => {
      const { stream, settle: end, repeat } = await lead(isEarly ? open : () => {})
      const clients = [new Client(), new Client(), new Client()]
      let text = ''
      if (!isEarly) {
        const [first] = clients as [Client]
        first.stream = repeat()
        await first.read(1)
        open(stream)
      }
      for (const next of acts) {
        if (next.type === 'text') {
          void stream.sendText(next.text)
          text += next.text
        } else if (next.type === 'reset') {
          stream.reset('retry')
          text = ''
        } else if (next.type === 'step') stream.send({ type: 'step', step: 'Next' })
        else if (next.type === 'tool') stream.send({ type: 'tool-start', tool: 't', toolCallId: '1' })
        else if ('client' in next) {
          const client = clients[next.client] as Client
          if (next.type === 'read') await client.read(next.count)
          else client.leave()
          if (next.type === 'come back' || next.type === 'made-up') {
            client.stream = repeat(next.type === 'made-up' ? next.id : client.lastEventId)
            await client.read(next.type === 'made-up' ? 1 : next.count)
          }
        }
      }
      end(success(text))
      await settle()
      for (const client of clients) {
        client.stream ??= repeat(client.lastEventId)
        await client.read(Number.POSITIVE_INFINITY)
        expect(client.result).toBe(text)
        expect(client.text).toBe(text)
      }
    }),
    { numRuns: 300 },
  )
})
