// Failures in a front end's tests: on purpose, as the script says, and because test and page do not fit.
import { describe, expect, test } from 'vitest'
import { type Clock, type FlowErrorCode, LimitExceededError } from '../../../src/index.js'
import { VirtualClock } from '../../index.js'
import { type FlowServiceScript, flowServiceHandlers } from '../../msw/index.js'
import { listen, run, say } from './service.js'

const codes: Readonly<Record<FlowErrorCode, readonly [status: number, message: string, session: string]>> = {
  SESSION_CONFLICT: [409, "Session 'session-1' was changed or deleted by another request.", 'session-1'],
  SESSION_FLOW_MISMATCH: [
    409,
    "Session 'session-1' belongs to flow 'Another' and cannot run flow 'Words'.",
    'session-1',
  ],
  SESSION_FLOW_INVARIANT: [409, "Session 'session-1' is malformed: a script says so.", 'session-1'],
  SESSION_STORE_ERROR: [500, "Session store failed to load session 'session-1'.", 'session-1'],
  SESSION_NOT_FOUND: [
    404,
    "Session 'session-1' does not exist or has ended. Leave the session ID out to start a new one.",
    'session-1',
  ],
  FLOW_NOT_FOUND: [404, "Flow class 'Words' not registered.", 'session-1'],
  FLOW_REGISTRATION: [500, 'The flow is not registered as it should be.', 'session-1'],
  FLOW_ERROR: [500, 'The flow failed.', 'session-2'],
  INVALID_INPUT: [400, 'The input was refused.', 'session-1'],
  LIMIT_EXCEEDED: [422, 'The message exceeds the limit maxMessageBytes (262144).', 'session-1'],
  BUDGET_EXCEEDED: [422, "The turn's budget modelCalls (5) is used up: 5 spent.", 'session-2'],
  MODEL_ERROR: [502, "Model 'scripted' of provider 'scripted' failed.", 'session-2'],
  MODEL_BLOCKED: [502, "Model 'scripted' of provider 'scripted' blocked its answer.", 'session-2'],
  TOOL_ERROR: [500, 'The tool failed.', 'session-2'],
  TURN_TIMEOUT: [504, 'The turn took longer than the limit turnTimeoutMs (120000 ms).', 'session-2'],
  TURN_ABORTED: [499, 'The turn was cancelled by its caller.', 'session-1'],
  ENGINE_CLOSED: [503, 'The engine is closed.', 'session-1'],
}

describe('a turn that is meant to fail', () => {
  test.each(Object.entries(codes) as [FlowErrorCode, readonly [number, string, string]][])(
    '%s',
    async (failure, [status, message, nextSession]) => {
      for (const statuses of ['contract', 'precise'] as const) {
        const origin = `https://${statuses}.example`
        const url = `${origin}/ai/run`
        listen(flowServiceHandlers(['a', { failure }, 'b'], { statuses, origin }))
        await say('', '', { url })
        const answer = await run('', 'session-1', { url })
        expect(answer.status).toBe(statuses === 'contract' ? 400 : status)
        expect(answer.headers.get('CHAT_SESSION_ID')).toBe('session-1')
        expect(answer.headers.get('Chat-Completed')).toBe('true')
        expect(await answer.json()).toEqual({
          success: false,
          completed: true,
          message,
          session: 'session-1',
          contentType: 'text/plain',
        })
        // A session that the engine would keep as aborted is replaced by a new one.
        expect((await say('', 'session-1', { url })).session).toBe(nextSession)
      }
    },
  )

  test('may have another text, or be any error', async () => {
    const full = new LimitExceededError({ limit: 'maxQueuedTurnsPerSession', value: 32, problem: 'The queue' })
    const script: FlowServiceScript = [{ failure: 'TOOL_ERROR', message: 'No seat left.' }, { failure: full }]
    listen(flowServiceHandlers(script, { statuses: 'precise' }))
    expect(await say('')).toMatchObject({ message: 'No seat left.', session: 'session-1' })
    expect((await run('')).status).toBe(429)
  })
})

describe('a connection that is bad', () => {
  test('an address that does not answer, and the session stays', async () => {
    const service = listen(flowServiceHandlers(['a', { networkError: true }, 'b']))
    await say('')
    await expect(run('', 'session-1')).rejects.toThrow(TypeError)
    expect(await say('', 'session-1')).toMatchObject({ message: 'b', session: 'session-1' })
    service.assertDone()
  })

  test('an answer that breaks off: the headers are there, and the turn was run', async () => {
    listen(flowServiceHandlers([{ reply: 'a', cutOff: true }, 'b']))
    const answer = await run('')
    expect(answer.status).toBe(200)
    expect(answer.headers.get('CHAT_SESSION_ID')).toBe('session-1')
    await expect(answer.text()).rejects.toThrow('cut off')
    expect(await say('', 'session-1')).toMatchObject({ session: 'session-1' })
  })

  test('an answer of somebody else', async () => {
    const proxy = { body: '<h1>Bad Gateway</h1>', status: 502, contentType: 'text/html' }
    listen(flowServiceHandlers([proxy, { body: '{"success":tr' }]))
    const answer = await run('')
    expect([answer.status, ...answer.headers]).toEqual([502, ['content-type', 'text/html']])
    expect(await answer.text()).toBe('<h1>Bad Gateway</h1>')
    await expect(say('')).rejects.toThrow(SyntaxError)
  })
})

/** A clock that reports when a first timer is set. */
function watchedClock(): { clock: Clock; waiting: Promise<void>; advance: (ms: number) => Promise<void> } {
  const virtual = new VirtualClock()
  let begin = (): void => undefined
  const waiting = new Promise<void>((resolve) => {
    begin = resolve
  })
  const clock: Clock = {
    now: () => virtual.now(),
    setTimer(callback, ms) {
      begin()
      return virtual.setTimer(callback, ms)
    },
  }
  return { clock, waiting, advance: (ms) => virtual.advance(ms) }
}

describe('a service that takes its time', () => {
  test('answers when the clock says so', async () => {
    const { clock, waiting, advance } = watchedClock()
    listen(flowServiceHandlers([{ reply: 'a', delayMs: 3000 }], { clock }))
    let answered = false
    const answer = say('').then((envelope) => {
      answered = true
      return envelope
    })
    await waiting
    await advance(2999)
    expect(answered).toBe(false)
    await advance(1)
    expect(await answer).toMatchObject({ message: 'a' })
  })

  test('never answers, and the page stops waiting: the session stays, and the next turn is run', async () => {
    listen(flowServiceHandlers(['a', { reply: 'never', delayMs: Number.POSITIVE_INFINITY }, 'b']))
    await say('')
    const controller = new AbortController()
    const service = run('', 'session-1', { signal: controller.signal })
    const next = say('', 'session-1')
    controller.abort()
    await expect(service).rejects.toThrow('abort')
    expect(await next).toMatchObject({ message: 'b', session: 'session-1' })
  })

  test('runs the turns of a session in order, and those of others meanwhile', async () => {
    const { clock, waiting, advance } = watchedClock()
    listen(
      flowServiceHandlers(({ message }) => ({ reply: message, delayMs: message === 'slow' ? 1000 : 0 }), { clock }),
    )
    await say('one')
    const order: string[] = []
    const note = async (answer: Promise<{ message: string }>): Promise<void> => void order.push((await answer).message)
    const slow = note(say('slow', 'session-1'))
    await waiting
    const quick = note(say('quick', 'session-1'))
    await note(say('other'))
    await advance(1000)
    await Promise.all([slow, quick])
    expect(order).toEqual(['other', 'slow', 'quick'])
  })
})

describe('a test and a page that do not fit', () => {
  /** What the page gets, what the application's log gets, and what the test gets at its end. */
  async function endOf(script: FlowServiceScript, messages: readonly string[]): Promise<string> {
    const errors: unknown[] = []
    const service = listen(flowServiceHandlers(script, { onError: (error) => errors.push(error) }))
    for (const message of messages) {
      const { success, message: text } = await say(message)
      if (!success) expect(String(errors[0])).toBe(`ExpectationError: ${text}`)
    }
    try {
      service.assertDone()
    } catch (error) {
      return (error as Error).message
    }
    return 'nothing'
  }

  test('more turns are requested than the script has', async () => {
    expect(await endOf(['Hello', { reply: 'Bye', completed: true }], ['Hi', 'Ada', 'More'])).toMatchInlineSnapshot(`
      "The flow service was asked once more than its script says: request 3, flow 'Words', a new session, message "More".
        script: 1. "Hello" (used)  2. {"reply":"Bye","completed":true} (used)
      Add a turn to the script, or find out why the page asks again."
    `)
  })

  test('nothing is in the script', async () => {
    expect(await endOf([], ['Hi'])).toMatchInlineSnapshot(`
      "The flow service was asked once more than its script says: request 1, flow 'Words', a new session, message "Hi".
        script: empty
      Add a turn to the script, or find out why the page asks again."
    `)
  })

  test('fewer turns are requested than the script has', async () => {
    const script = ['a', 'b', 'c', { failure: 'TOOL_ERROR' as const }, () => 'e', 'f', 'g', 'h']
    expect(await endOf(script, ['Hi', 'Ada', 'More'])).toMatchInlineSnapshot(`
      "The script of the flow service was not used up: 5 turns of 8 left.
        script: (1 before) 2. "b" (used)  3. "c" (used)  4. {"failure":"TOOL_ERROR"}  5. a function  6. "f" (2 more)
        requests: 1. Words "Hi"  2. Words "Ada"  3. Words "More"
      Take out what is not needed, or find out why the page does not ask."
    `)
  })

  test('no turn is requested', async () => {
    expect(await endOf(['Hello'], [])).toMatchInlineSnapshot(`
      "The script of the flow service was not used up: 1 turn of 1 left.
        script: 1. "Hello"
        requests: none
      Take out what is not needed, or find out why the page does not ask."
    `)
  })

  test('a function has no answer, or throws', async () => {
    expect(await endOf(() => undefined, ['Hi'])).toMatchInlineSnapshot(`
      "The script of the flow service has no turn for request 1, flow 'Words', a new session, message "Hi": its function returned undefined.
      A turn is a text, { reply }, { failure }, { networkError: true } or { body }."
    `)
    const broken = (): never => {
      throw new RangeError('no such word')
    }
    expect(await endOf([broken], ['Hi'])).toMatchInlineSnapshot(`
      "The script of the flow service threw for request 1, flow 'Words', a new session, message "Hi": RangeError: no such word
      A turn that is meant to fail is { failure: 'FLOW_ERROR' }."
    `)
  })

  test('an entry is not a turn', async () => {
    expect(await endOf([{ replay: 'Hello' } as never], ['Hi'])).toMatchInlineSnapshot(`
      "The script of the flow service has no turn for request 1, flow 'Words', a new session, message "Hi": it says {"replay":"Hello"}.
      A turn is a text, { reply }, { failure }, { networkError: true } or { body }."
    `)
    expect(await endOf([{ reply: 'a', failure: 'TOOL_ERROR' } as never], ['Hi'])).toMatchInlineSnapshot(`
      "The script of the flow service has no turn for request 1, flow 'Words', a new session, message "Hi": it says {"reply":"a","failure":"TOOL_ERROR"}.
      A turn is a text, { reply }, { failure }, { networkError: true } or { body }."
    `)
  })
})
