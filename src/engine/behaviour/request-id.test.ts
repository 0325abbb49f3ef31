// The ID of a request: in every event of its turn and of a delete, and in what is logged. And the flow
// that a caller may not see.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, harness } from '../../../testing/contract/engine-harness.js'
import { recordEvents } from '../../../testing/contract/event-recorder.js'
import { type EngineEventMap, type FlowConstructor, type FlowLogger, type FlowRunInput, reply } from '../../index.js'

afterEach(expectNothingLeft)

const requestId = 'edge-7.a_b:C'
const key = '5f0c2c8e-5c0e-4a3f-9f0b-4e0a6a8f6c11'

const talk = (): FlowConstructor =>
  flowOf('Talk', (turn) => {
    turn.log.info('a line')
    if (turn.message === 'fail') throw new Error('It broke.')
    return reply(`You said: ${turn.message}`)
  })

function setUp(errorText: 'full' | 'flow' = 'full') {
  const lines: Record<string, unknown>[] = []
  const write = (_text: string, fields?: Record<string, unknown>): void => void lines.push(fields ?? {})
  const logger: FlowLogger = { debug: write, info: write, warn: write, error: write }
  const made = harness({ flows: [talk()], logger, errorText })
  return { ...made, lines, events: recordEvents(made.engine) }
}

describe('the ID of a request', () => {
  test('is in every event of its turn, and in what the flow logs', async () => {
    const { engine, events, lines } = setUp()
    for (const userMessage of ['hello', 'fail']) await engine.run({ flowName: 'Talk', userMessage, requestId })
    expect(events.length).toBeGreaterThan(6)
    expect(events.filter(([, payload]) => (payload as { requestId?: string }).requestId !== requestId)).toEqual([])
    expect(lines.map((fields) => fields.requestId)).toEqual([requestId, requestId])
  })

  test('is in the log of a failure whose text is not sent: of a turn, of refused input and of a delete', async () => {
    const { engine, lines } = setUp('flow')
    await engine.run({ flowName: 'Nobody', userMessage: 'hello', requestId })
    await engine.run({ flowName: 'Talk', userMessage: 'x'.repeat(300_000), requestId })
    await engine.close()
    await engine.deleteSession('given', { requestId })
    expect(lines.map(({ code, requestId: id }) => [code, id])).toEqual([
      ['FLOW_NOT_FOUND', requestId],
      ['LIMIT_EXCEEDED', requestId],
      ['ENGINE_CLOSED', requestId],
    ])
  })

  test('of a repeat is in turn:replayed', async () => {
    const { engine, events } = setUp()
    const input = { flowName: 'Talk', userMessage: 'hello', idempotencyKey: key }
    const first = engine.run({ ...input, requestId: 'first' })
    await engine.run({ ...input, requestId: 'joins' })
    await first
    await engine.run({ ...input, requestId: 'later' })
    const replays = events.filter(([name]) => name === 'turn:replayed')
    expect(replays.map(([, payload]) => payload as unknown as EngineEventMap['turn:replayed'])).toMatchObject([
      { requestId: 'joins', joined: true },
      { requestId: 'later', joined: false },
    ])
  })

  test('of a delete is in session:deleted, and names no owner', async () => {
    const { engine, events, start } = setUp()
    const sessionId = await start('Talk')
    events.length = 0
    await engine.deleteSession(sessionId, { requestId })
    expect(events).toEqual([['session:deleted', { sessionId, requestId, at: expect.any(Number) }]])
  })

  test('is nowhere if there is none', async () => {
    const { engine, events, lines, start } = setUp()
    await engine.deleteSession(await start('Talk'))
    expect(JSON.stringify([events, lines])).not.toContain('requestId')
  })

  test.each<[string, unknown]>([
    ['empty', ''],
    ['with a line break', 'a\nb'],
    ['too long', 'a'.repeat(129)],
    ['a number', 7],
  ])('that is %s is refused, and logged nowhere', async (_name, wrong) => {
    const { engine, lines, start } = setUp('flow')
    const message = 'requestId must be 1 to 128 characters of A-Z, a-z, 0-9, ".", "_", ":" and "-".'
    const sessionId = await start('Talk')
    lines.length = 0
    const input = { flowName: 'Talk', userMessage: 'hello', requestId: wrong } as FlowRunInput
    expect((await engine.run(input)).message).toBe(message)
    expect(await engine.deleteSession(sessionId, { requestId: wrong as string })).toMatchObject({ message })
    expect(await engine.getSession(sessionId)).toBeDefined()
    expect(JSON.stringify(lines)).not.toContain('requestId"')
  })
})

describe('hideFlow', () => {
  test('runs nothing of a registered flow: its name is as unknown as any other', async () => {
    const { engine, events, start } = setUp()
    const sessionId = await start('Talk')
    for (const given of [{}, { sessionId }, { sessionId, idempotencyKey: key }]) {
      events.length = 0
      const hidden = await engine.execute({ flowName: 'Talk', userMessage: 'hello', ...given, hideFlow: true })
      expect(hidden).toEqual({
        response: {
          success: false,
          completed: true,
          message: "Flow class 'Talk' not registered.",
          session: 'sessionId' in given ? sessionId : '',
          contentType: 'text/plain',
        },
        sessionState: 'sessionId' in given ? 'running' : 'none',
        error: expect.objectContaining({ code: 'FLOW_NOT_FOUND', flowName: 'Talk' }),
      })
      expect(events.filter(([, payload]) => (payload as { flowName?: string }).flowName === 'Talk')).toEqual([])
    }
  })

  test('does not join a turn under way with the same key', async () => {
    const open = gate()
    const engine = harness({ flows: [flowOf('Slow', () => open.opened.then(() => reply('Done.')))] }).engine
    const input = { flowName: 'Slow', userMessage: 'hello', idempotencyKey: key }
    const running = engine.execute(input)
    const hidden = await engine.execute({ ...input, hideFlow: true })
    expect([hidden.error?.code, hidden.replayed]).toEqual(['FLOW_NOT_FOUND', undefined])
    open.open()
    expect((await running).response.message).toBe('Done.')
  })

  test('is true or false', async () => {
    const { engine } = setUp()
    const input = { flowName: 'Talk', userMessage: 'hello' }
    expect((await engine.run({ ...input, hideFlow: false })).success).toBe(true)
    expect((await engine.run({ ...input, hideFlow: 'yes' as never })).message).toBe('hideFlow must be true or false.')
  })
})

test('a refusal that is reported has a time, and only what it was given', () => {
  const { engine, clock } = setUp()
  const received: EngineEventMap['auth:refused'][] = []
  const refusal = { requestId, route: 'end', reason: 'principal', status: 400 } as const
  engine.reportRefused(refusal)
  engine.on('auth:refused', (payload) => received.push(payload))
  engine.reportRefused(refusal)
  expect(received).toEqual([{ ...refusal, at: clock.now() }])
})
