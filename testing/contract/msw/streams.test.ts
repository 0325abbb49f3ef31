// What a page reads that asks for server-sent events: over a script, and over an engine.
import { describe, expect, test, vi } from 'vitest'
import { FlowEngine } from '../../../src/index.js'
import { scriptedProvider, VirtualClock } from '../../index.js'
import { type FlowServiceScript, flowServiceHandlers, type ScriptedFlowServiceOptions } from '../../msw/index.js'
import { Onboarding } from '../onboarding.js'
import { listen, type RunInit, run, say } from './service.js'

/** Requests a turn as a stream. */
function stream(message: string, sessionId = '', init: RunInit = {}): Promise<Response> {
  const headers = {
    'Content-Type': 'application/json',
    Accept: 'text/event-stream',
    ...(sessionId === '' ? {} : { CHAT_SESSION_ID: sessionId }),
  }
  return run(message, sessionId, { headers, ...init })
}

/** The events of a body: a delta as its text, the others as their name and what they say. */
function eventsIn(body: string): unknown[] {
  return body
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => {
      const [name = '', , data = ''] = event.split('\n').map((line) => line.slice(line.indexOf(': ') + 2))
      const value = JSON.parse(data) as Record<string, unknown>
      if (name === 'text-delta') return value.text
      return name === 'result' || name === 'error' ? [name, value.message] : [name, ...Object.values(value)]
    })
}

/** Reads an answer into `events` until it ends or breaks. */
async function read(answer: Response, events: unknown[] = []): Promise<unknown[]> {
  const decoder = new TextDecoder()
  for await (const chunk of answer.body ?? []) events.push(...eventsIn(decoder.decode(chunk as Uint8Array)))
  return events
}

function scripted(script: FlowServiceScript, options?: ScriptedFlowServiceOptions) {
  return listen(flowServiceHandlers(script, options))
}

describe('a scripted turn that is streamed', () => {
  test('has the headers and the events of a real one, and goes on in its session', async () => {
    const service = scripted(['What is your name?', { reply: ['Hel', 'lo.'], completed: true }])
    const first = await stream('Hi')
    expect([first.status, first.headers.get('Content-Type'), first.headers.get('CHAT_SESSION_ID')]).toEqual([
      200,
      'text/event-stream',
      'session-1',
    ])
    expect(await read(first)).toEqual([
      ['session', 'session-1'],
      ...['What', ' is', ' your', ' name?'],
      ['result', 'What is your name?'],
    ])
    const second = await stream('Ada', 'session-1')
    expect(await second.clone().text()).toContain('\nid: turn-2:1\n')
    expect(await read(second)).toEqual([['session', 'session-1'], ...['Hel', 'lo.'], ['result', 'Hello.']])
    expect(service.runs).toEqual([
      { number: 1, flowName: 'Words', message: 'Hi', sessionId: '', streamed: true },
      { number: 2, flowName: 'Words', message: 'Ada', sessionId: 'session-1', streamed: true },
    ])
    service.assertDone()
  })

  test('is whole if the page does not ask for a stream', async () => {
    const service = scripted([{ reply: ['Hel', 'lo.'], takenBack: 'Hm.', chunkDelayMs: Number.POSITIVE_INFINITY }])
    expect((await say('Hi')).message).toBe('Hello.')
    expect(service.runs[0]).not.toHaveProperty('streamed')
  })

  test('may take text back, and sends a raw reply at its end', async () => {
    scripted([
      { reply: 'Hello.', takenBack: 'Hm no.' },
      { reply: 'a,b', contentType: 'text/csv' },
    ])
    expect(await read(await stream('Hi'))).toEqual([
      ['session', 'session-1'],
      ...['Hm', ' no.'],
      ['reset', 'retry'],
      'Hello.',
      ['result', 'Hello.'],
    ])
    expect(await read(await stream('Hi', 'session-1'))).toEqual([
      ['session', 'session-1'],
      ['result', 'a,b'],
    ])
  })

  test('comes in time: first the session, then piece by piece', async () => {
    const clock = new VirtualClock()
    scripted([{ reply: ['a', 'b'], delayMs: 1000, chunkDelayMs: 100 }], { clock })
    const reader = (await stream('Hi')).body?.getReader()
    const decoder = new TextDecoder()
    const next = async (): Promise<unknown[]> => eventsIn(decoder.decode((await reader?.read())?.value))
    /** The next piece, which is there after `ms` and not before. */
    const nextAfter = async (ms: number): Promise<unknown[]> => {
      let seen: unknown[] | undefined
      const piece = next().then((events) => {
        seen = events
        return events
      })
      await vi.waitFor(() => expect(clock.pending).toBe(1))
      await clock.advance(ms - 1)
      expect(seen).toBeUndefined()
      await clock.advance(1)
      return piece
    }
    expect(await next()).toEqual([['session', 'session-1']])
    expect(await nextAfter(1000)).toEqual(['a'])
    expect(await nextAfter(100)).toEqual(['b'])
    expect(await next()).toEqual([['result', 'ab']])
    expect(clock.pending).toBe(0)
  })

  test('fails in the middle with an event, and before its session is open with a status', async () => {
    scripted(
      [
        'One.',
        { failure: 'MODEL_ERROR', after: ['Wh', 'at'] },
        { failure: 'TOOL_ERROR' },
        { failure: 'FLOW_NOT_FOUND' },
        { failure: 'ENGINE_CLOSED', after: 'One' },
      ],
      {
        statuses: 'precise',
      },
    )
    await say('Hi')
    expect(await read(await stream('Hi', 'session-1'))).toEqual([
      ['session', 'session-1'],
      ...['Wh', 'at'],
      ['error', "Model 'scripted' of provider 'scripted' failed."],
    ])
    // The session ended with the failure.
    expect(await read(await stream('Hi', 'session-1'))).toEqual([
      ['session', 'session-2', 'aborted'],
      ['error', 'The tool failed.'],
    ])
    expect((await stream('Hi')).status).toBe(404)
    expect(await read(await stream('Hi'))).toEqual([
      ['session', 'session-3'],
      'One',
      ['error', 'The engine is closed.'],
    ])
  })

  test('says in its headers why a new session answers, and in its last event whether it goes on', async () => {
    scripted([{ reply: 'One.', restarted: 'flow' }, { failure: 'MODEL_ERROR', sessionState: 'running' }, 'Two.'])
    const first = await stream('Hi', 'session-0')
    expect([first.headers.get('Chat-Session-Restarted'), first.headers.get('Chat-Session-State')]).toEqual([
      'flow',
      null,
    ])
    expect(await first.text()).toContain('"sessionState":"running","restarted":"flow"}\n')
    const failed = await (await stream('Hi', 'session-1')).text()
    expect(failed).toContain('event: session\nid: turn-2:1\ndata: {"session":"session-1"}\n')
    expect(failed).toContain('"sessionState":"running","code":"MODEL_ERROR"}\n')
    expect(await say('Hi', 'session-1')).toMatchObject({ message: 'Two.', session: 'session-1' })
  })

  test.each([
    [1, ['a']],
    [true, ['a', 'b']],
    [9, ['a', 'b', 'c']],
    [0, []],
  ])('breaks in the middle: cutOff %s', async (cutOff, pieces) => {
    const service = scripted(['One.', { reply: ['a', 'b', 'c'], completed: true, cutOff }, 'Two.'])
    await say('Hi')
    const events: unknown[] = []
    await expect(read(await stream('Hi', 'session-1'), events)).rejects.toThrow()
    expect(events).toEqual([['session', 'session-1'], ...pieces])
    expect(await say('Hi', 'session-1')).toMatchObject({ message: 'Two.', session: 'session-1' })
    service.assertDone()
  })

  test('may not arrive, or be answered by somebody else', async () => {
    scripted([{ networkError: true }, { body: '<h1>502</h1>', status: 502, contentType: 'text/html' }])
    await expect(stream('Hi')).rejects.toThrow(TypeError)
    const answer = await stream('Hi')
    expect([answer.status, await answer.text()]).toEqual([502, '<h1>502</h1>'])
  })

  test('a page that leaves one is free for the next', async () => {
    const service = scripted(['One.', { reply: ['a', 'b'], chunkDelayMs: Number.POSITIVE_INFINITY }, 'Two.'])
    await say('Hi')
    const controller = new AbortController()
    const answer = await stream('Hi', 'session-1', { signal: controller.signal })
    const reader = answer.body?.getReader()
    await reader?.read()
    await reader?.read()
    controller.abort()
    expect(await say('Hi', 'session-1')).toMatchObject({ message: 'Two.', session: 'session-1' })
    service.assertDone()
  })

  test('that the script does not have is reported like a whole one', async () => {
    const told: unknown[] = []
    const service = scripted([], { onError: (error) => void told.push(error) })
    const answer = await stream('Hi')
    expect([answer.status, told.length]).toEqual([400, 1])
    expect(() => service.assertDone()).toThrow('asked once more than its script says')
  })
})

describe('over an engine', () => {
  const engine = (): FlowEngine =>
    new FlowEngine({
      flows: [Onboarding],
      providers: [scriptedProvider(() => ({ chunks: ['What is ', 'your name?'] }), { provider: 'openai' })],
      generateId: (kind) => `${kind}-1`,
    })

  test('its own stream arrives', async () => {
    const service = listen(flowServiceHandlers(engine(), { streamDetails: true }))
    expect(await read(await stream('Hi', '', { flowName: 'Onboarding' }))).toEqual([
      ['session', 'session-1'],
      ['step', 'AskName'],
      ...['What is ', 'your name?'],
      ['result', 'What is your name?'],
    ])
    expect(service.runs).toMatchObject([{ flowName: 'Onboarding', streamed: true }])
  })

  test('the key of a page and its last event arrive, and the IDs are those of the turn', async () => {
    const service = listen(flowServiceHandlers(engine()))
    const headers = {
      'Content-Type': 'application/json',
      Accept: 'text/event-stream',
      'Idempotency-Key': 'a-key-of-some-length',
      'Last-Event-ID': 'turn-0:3',
    }
    const answer = await run('Hi', '', { flowName: 'Onboarding', headers })
    const body = await answer.text()
    expect(eventsIn(body).slice(0, 2)).toEqual([
      ['session', 'session-1'],
      ['reset', 'resume'],
    ])
    expect(body).toContain('\nid: turn-1:1\n')
    expect(service.runs).toMatchObject([{ idempotencyKey: 'a-key-of-some-length' }])
  })

  test('an object in front of one, that has no stream, answers whole', async () => {
    const inner = engine()
    const service = listen(
      flowServiceHandlers({
        limits: inner.limits,
        execute: (input) => inner.execute(input),
        executeDelete: (sessionId, options) => inner.executeDelete(sessionId, options),
        getFlowNames: () => inner.getFlowNames(),
      }),
    )
    const answer = await stream('Hi', '', { flowName: 'Onboarding' })
    expect(await answer.json()).toMatchObject({ message: 'What is your name?' })
    expect(service.runs[0]).not.toHaveProperty('streamed')
  })
})
