// What a client calls a flow that there is not: nothing of it is in an event, and little of it anywhere.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gatedFlow, harness } from '../../../testing/contract/engine-harness.js'
import { namesOf, recordEvents } from '../../../testing/contract/event-recorder.js'
import type { FlowEngineOptions } from '../../index.js'

afterEach(expectNothingLeft)

const hostile = `Forged\n2026-11-22 ERROR \u001b[2J${'x'.repeat(1_000_000)}`

/** An engine, and all that it emits and logs, as text. */
function listening(options: FlowEngineOptions = {}) {
  const logged: unknown[] = []
  const log = (...line: unknown[]): void => void logged.push(line)
  const made = harness({
    flows: [flowOf('Talk', undefined, { aliases: ['Chat'] })],
    logger: { debug: log, info: log, warn: log, error: log },
    ...options,
  })
  const events = recordEvents(made.engine)
  return { ...made, events, logged }
}

describe('the name of a flow that is not registered', () => {
  test.each([{}, { idempotencyKey: 'key-of-the-first-message' }])('is in no event: %j', async (more) => {
    const { engine, events } = listening()
    const { response } = await engine.execute({ flowName: 'Nobody', userMessage: 'hello', ...more })
    expect(response.message).toBe("Flow class 'Nobody' not registered.")
    expect(namesOf(events)).toEqual(['turn:start', 'turn:error', 'turn:end'])
    for (const [, payload] of events) expect(payload).toMatchObject({ flowName: '' })
  })

  test.each([{ flowName: 'Nobody' }, { flowName: 'Talk', hideFlow: true }])('claims nothing: %j', async (named) => {
    const { engine, store } = listening()
    const input = { userMessage: 'hello', idempotencyKey: 'key-of-the-first-message', ...named }
    const { response, sessionState } = await engine.execute(input)
    const message = `Flow class '${named.flowName}' not registered.`
    expect(response).toEqual({ success: false, completed: true, message, session: '', contentType: 'text/plain' })
    expect([sessionState, store.operations]).toEqual(['none', []])
  })

  test('claims when it runs, where it is registered while the turn waits', async () => {
    const { engine, store } = harness({ flows: [flowOf('Talk')] })
    const input = { flowName: 'Later', userMessage: 'hello', idempotencyKey: 'key-of-the-first-message' }
    const controller = new AbortController()
    const first = engine.execute({ ...input, signal: controller.signal })
    const joined = engine.execute(input)
    controller.abort()
    engine.registerFlow(flowOf('Later'))
    expect((await first).error?.code).toBe('TURN_ABORTED')
    const { response } = await joined
    expect([response.success, store.operations]).toEqual([true, ['claim', 'create']])
    expect((await engine.execute(input)).response).toEqual(response)
  })

  test('is cut and harmless in the reply, the error, the event and the log', async () => {
    const { engine, events, logged } = listening({ errorText: 'flow' })
    const { error } = await engine.execute({ flowName: hostile, userMessage: 'hello' })
    expect(error?.code).toBe('FLOW_NOT_FOUND')
    const { message, flowName } = error as Extract<typeof error, { code: 'FLOW_NOT_FOUND' }>
    expect(flowName).toBe(`Forged\ufffd2026-11-22 ERROR \ufffd[2J${'x'.repeat(200 - 1 - 28)}…`)
    expect(message).toBe(`Flow class '${flowName}' not registered.`)
    expect(logged).toHaveLength(1)
    const seen = JSON.stringify([events, logged])
    expect(seen).not.toMatch(/\\n|\\u001b|x{200}/)
  })

  test('is not handed to errorText, nor logged, where the input is refused before the turn', async () => {
    const told: string[] = []
    const { engine, logged } = listening({
      errorText: (_error, { flowName }) => {
        told.push(flowName)
        return 'No.'
      },
    })
    const refused = { userMessage: 5 as never }
    await engine.run({ ...refused, flowName: hostile })
    await engine.run({ ...refused, flowName: 'Talk' })
    await engine.run({ ...refused, flowName: 'Chat' })
    await engine.run({ ...refused, flowName: 'Talk', hideFlow: true })
    await engine.run({ flowName: 'Talk', userMessage: 'hello', hideFlow: 'yes' as never })
    expect(told).toEqual(['', 'Talk', 'Talk', '', ''])
    expect(JSON.stringify(logged)).not.toContain('Forged')
  })

  test('is looked up again when the turn has the lock: the flow may be registered by then', async () => {
    const { flow, open } = gatedFlow()
    const { engine, events, start } = listening({ flows: [flow] })
    const sessionId = await start('Talk')
    events.length = 0
    const first = engine.run({ flowName: 'Talk', userMessage: 'first', sessionId })
    const second = engine.execute({ flowName: 'Late', userMessage: 'second', sessionId })
    engine.registerFlow(flowOf('Late'))
    open('first')
    await first
    expect((await second).error?.code).toBe('SESSION_FLOW_MISMATCH')
    const names = events.map(([name, { flowName }]) => [name, flowName])
    expect(names.filter(([name]) => name === 'turn:queued' || name === 'turn:start')).toEqual([
      ['turn:start', 'Talk'],
      ['turn:queued', ''],
      ['turn:start', 'Late'],
    ])
  })
})

test('a key of a config is cut and harmless where a message names it', async () => {
  const { engine } = harness({ flows: [flowOf('Talk')], limits: { maxJsonDepth: 2 } })
  const run = async (key: string) =>
    (await engine.run({ flowName: 'Talk', userMessage: 'hello', config: { [key]: { deep: {} } } })).message
  expect(await run('a b')).toBe('The nesting of config["a b"].deep exceeds the limit maxJsonDepth (2).')
  expect(await run(`a\u2028${'b'.repeat(60_000)}`)).toBe(
    `The nesting of config["a\ufffd${'b'.repeat(197)}…"].deep exceeds the limit maxJsonDepth (2).`,
  )
})

test.each<[string, object, RegExp]>([
  ['the input', { [hostile]: 1 }, /^There is no field 'Forged\ufffd[^\n]{193}' in the input of a turn\./],
  [
    'an attachment',
    { attachments: [{ type: 'file', mediaType: 'text/plain', data: '', [hostile]: 1 }] },
    /^attachments\[0\] of type 'file' has an unknown field 'Forged\ufffd[^\n]{193}'\.$/,
  ],
])('so is a field of %s that there is not', async (_what, more, message) => {
  const { engine } = harness({ flows: [flowOf('Talk')] })
  expect((await engine.run({ flowName: 'Talk', userMessage: 'hello', ...more })).message).toMatch(message)
})
