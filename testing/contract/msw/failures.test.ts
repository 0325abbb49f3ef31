// Failures in a front end's tests: on purpose, as the script says, and because test and page do not fit.
import { describe, expect, test } from 'vitest'
import { LimitExceededError } from '../../../src/errors/engine-errors.js'
import type { Clock, FlowErrorCode } from '../../../src/index.js'
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
    'session-2',
  ],
  SESSION_ENDED: [409, "Session 'session-1' has ended. Leave the session ID out to start a new one.", 'session-2'],
  EVENT_NOT_TAKEN: [409, "Session 'session-1' does not take the event 'scripted' now.", 'session-1'],
  SCHEDULE_ERROR: [500, 'The engine option schedule failed.', 'session-1'],
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
  TURN_SUPERSEDED: [409, 'A newer message took the place of this one.', 'session-1'],
  SESSION_BUSY: [
    409,
    'The session is busy with another message. Send this one again when that is answered.',
    'session-1',
  ],
  IDEMPOTENCY_MISMATCH: [
    422,
    'The idempotency key was used for another request. Use a new key for each new message.',
    'session-1',
  ],
  ENGINE_BUSY: [
    503,
    'The engine has as many turns under way as the limit maxConcurrentTurns allows (10000). Send the message again in a moment.',
    'session-1',
  ],
  ENGINE_CLOSED: [503, 'The engine is closed.', 'session-1'],
}

/** Those after which the session does not simply go on. */
const states: Partial<Record<FlowErrorCode, string>> = {
  SESSION_FLOW_INVARIANT: 'unknown',
  SESSION_STORE_ERROR: 'unknown',
  ENGINE_BUSY: 'unknown',
  ENGINE_CLOSED: 'unknown',
  SESSION_NOT_FOUND: 'none',
  SESSION_ENDED: 'completed',
  FLOW_ERROR: 'aborted',
  BUDGET_EXCEEDED: 'aborted',
  MODEL_ERROR: 'aborted',
  MODEL_BLOCKED: 'aborted',
  TOOL_ERROR: 'aborted',
  TURN_TIMEOUT: 'aborted',
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
        expect(answer.headers.get('Chat-Error')).toBe(failure)
        expect(answer.headers.get('Chat-Session-State')).toBe(states[failure] ?? 'running')
        expect(await answer.json()).toEqual({
          success: false,
          completed: true,
          message,
          session: 'session-1',
          contentType: 'text/plain',
        })
        // A session that the engine would keep as aborted, or does not find, is replaced by a new one.
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

describe('what the service says of the session', () => {
  /**
   * Sends messages in the session that each reply leaves; state, reason of a new session, code,
   * and the ID of each reply.
   */
  async function outcomesOf(script: FlowServiceScript, ids: readonly string[]): Promise<(string | null)[][]> {
    const service = listen(flowServiceHandlers(script))
    const outcomes: (string | null)[][] = []
    for (const id of ids) {
      const { headers } = await run('', id)
      const names = ['Chat-Session-State', 'Chat-Session-Restarted', 'Chat-Error', 'CHAT_SESSION_ID']
      outcomes.push(names.map((name) => headers.get(name)))
    }
    service.assertDone()
    return outcomes
  }

  test.each([
    ['running', 'session-1', null],
    ['unknown', 'session-1', null],
    ['none', 'session-2', 'unknown'],
    ['completed', 'session-2', 'completed'],
    ['aborted', 'session-2', 'aborted'],
  ] as const)('a failure may leave it %s, and the next turn finds it so', async (sessionState, next, restarted) => {
    const script: FlowServiceScript = ['a', { failure: 'MODEL_ERROR', sessionState }, 'b']
    expect(await outcomesOf(script, ['', 'session-1', 'session-1'])).toEqual([
      ['running', null, null, 'session-1'],
      [sessionState, null, 'MODEL_ERROR', 'session-1'],
      ['running', restarted, null, next],
    ])
  })

  test('a first turn that fails leaves a session if the script says so', async () => {
    const script: FlowServiceScript = [
      { failure: 'MODEL_ERROR', sessionState: 'running' },
      { failure: 'ENGINE_CLOSED' },
      { failure: 'ENGINE_CLOSED', sessionState: 'unknown' },
      'b',
    ]
    expect(await outcomesOf(script, ['', '', '', 'session-1'])).toEqual([
      ['running', null, 'MODEL_ERROR', 'session-1'],
      ['none', null, 'ENGINE_CLOSED', null],
      ['unknown', null, 'ENGINE_CLOSED', null],
      ['running', null, null, 'session-1'],
    ])
  })

  test('a new session in place of another says why: as the script does, or as that one ended', async () => {
    const script: FlowServiceScript = [
      'a',
      { reply: 'b', restarted: 'outdated' },
      { reply: 'c', newSession: true },
      { reply: 'd', completed: true },
      'e',
      { failure: 'TOOL_ERROR' },
      { failure: 'TOOL_ERROR' },
    ]
    const ids = ['', 'session-1', 'session-2', 'session-3', 'session-3', 'session-4', 'session-4']
    expect(await outcomesOf(script, ids)).toEqual([
      ['running', null, null, 'session-1'],
      ['running', 'outdated', null, 'session-2'],
      ['running', 'unknown', null, 'session-3'],
      ['completed', null, null, 'session-3'],
      ['running', 'completed', null, 'session-4'],
      ['aborted', null, 'TOOL_ERROR', 'session-4'],
      ['aborted', 'aborted', 'TOOL_ERROR', 'session-5'],
    ])
  })

  test('a refused message in a session that has ended says so', async () => {
    const script: FlowServiceScript = [{ reply: 'a', completed: true }, { failure: 'LIMIT_EXCEEDED' }]
    expect((await outcomesOf(script, ['', 'session-1']))[1]).toEqual(['completed', null, 'LIMIT_EXCEEDED', 'session-1'])
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

  test('a function returns a failure without such a code', async () => {
    expect(await endOf(() => ({ failure: 'SESSION_CONFLCT' }) as never, ['Hi'])).toContain(
      'The failure is a code, or a FlowError: there is no error code "SESSION_CONFLCT".',
    )
  })

  test.each([
    [{ replay: 'Hello' }, 'A turn is a text, { reply }, { failure }, { networkError: true } or { body }.'],
    [{ reply: 'a', failure: 'TOOL_ERROR' }, 'A turn is a text, { reply }, { failure },'],
    [
      { failure: 'SESSION_CONFLCT' },
      /there is no error code "SESSION_CONFLCT"\. .* Did you mean 'SESSION_CONFLICT'\?$/,
    ],
    [{ reply: 'a', complete: true }, "A turn with reply has no 'complete'. It may have reply, takenBack, completed,"],
    [undefined, 'turn 2 of the script is undefined. A turn is a text,'],
  ])('an entry is not a turn, which is refused before any request: %j', (turn, problem) => {
    const make = () => flowServiceHandlers(['Hello', turn as never])
    expect(make).toThrow(/^flowServiceHandlers: turn 2 of the script is /)
    expect(make).toThrow(problem)
  })
})
