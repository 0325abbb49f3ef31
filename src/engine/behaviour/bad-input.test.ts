import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, type Harness, harness, never } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, type FlowErrorCode, type FlowRunInput, reply } from '../../index.js'

afterEach(expectNothingLeft)

const shape = 'sessionId must be 1 to 256 visible ASCII characters without a comma.'

/** An engine that has one session and counts what runs. */
async function started(): Promise<Harness & { readonly session: string; readonly ran: () => number }> {
  let ran = 0
  const flow: FlowConstructor = flowOf(
    'Talk',
    (turn) => {
      ran++
      return reply(JSON.stringify(turn.context))
    },
    { construct: () => void ran++ },
  )
  const made = harness({ flows: [flow] })
  const session = await made.start('Talk')
  ran = 0
  return { ...made, session, ran: () => ran }
}

/** `count` arrays within each other. */
function nestedArrays(count: number): unknown {
  let value: unknown = []
  for (let index = 1; index < count; index++) value = [value]
  return value
}

const cyclic: Record<string, unknown> = { name: 'cycle' }
cyclic.self = cyclic

class Money {
  readonly amount = 3
}

function unknownField(name: string, meant?: string): string {
  return (
    `There is no field '${name}' in the input of a turn. The fields are flowName, userMessage, event, choice, whenEnded, attachments, sessionId, ` +
    `config, idempotencyKey, requestId, hideFlow, signal, owner, serverContext, waitUntil.${meant === undefined ? '' : ` Did you mean '${meant}'?`}`
  )
}

function codeOf(message: string): FlowErrorCode {
  if (message.startsWith('Flow class')) return 'FLOW_NOT_FOUND'
  return message.includes('exceeds the limit') ? 'LIMIT_EXCEEDED' : 'INVALID_INPUT'
}

type Bad = readonly [what: string, change: Record<string, unknown>, message: string]

const bad: readonly Bad[] = [
  ['no flowName', { flowName: undefined }, 'flowName must be a string that is not empty.'],
  ['an empty flowName', { flowName: '' }, 'flowName must be a string that is not empty.'],
  ['a flowName that is a number', { flowName: 5 }, 'flowName must be a string that is not empty.'],
  ['a flowName that is a class', { flowName: Money }, 'flowName must be a string that is not empty.'],
  ['a flowName that is a list', { flowName: ['Talk'] }, 'flowName must be a string that is not empty.'],
  ['the flowName __proto__', { flowName: '__proto__' }, "Flow class '__proto__' not registered."],
  ['the flowName constructor', { flowName: 'constructor' }, "Flow class 'constructor' not registered."],
  ['the flowName toString', { flowName: 'toString' }, "Flow class 'toString' not registered."],
  ['no userMessage', { userMessage: undefined }, 'userMessage must be a string.'],
  ['a userMessage that is null', { userMessage: null }, 'userMessage must be a string.'],
  ['a userMessage that is an object', { userMessage: { text: 'hello' } }, 'userMessage must be a string.'],
  ['the name of the field in HTTP bodies', { message: 'hello' }, unknownField('message', 'userMessage')],
  ['a field with a letter wrong', { sessionID: 'some-id' }, unknownField('sessionID', 'sessionId')],
  ['an unknown field that is undefined', { context: undefined }, unknownField('context', 'serverContext')],
  ['a field that every object inherits', { toString: () => 'Talk' }, unknownField('toString')],
  ['a config that is null', { config: null }, 'config must be a plain object.'],
  ['a config that is a list', { config: [1] }, 'config must be a plain object.'],
  ['a config that is a text', { config: 'red' }, 'config must be a plain object.'],
  ['a config that is a class instance', { config: new Money() }, 'config must be a plain object.'],
  ['a config that is a Map', { config: new Map([['a', 1]]) }, 'config must be a plain object.'],
  ['a config that is a Date', { config: new Date(0) }, 'config must be a plain object.'],
  ['a config that is a promise', { config: Promise.resolve({}) }, 'config must be a plain object.'],
  ['a config that is a function', { config: () => ({}) }, 'config must be a plain object.'],
  [
    'a config with an own __proto__',
    { config: JSON.parse('{"__proto__":{"admin":true}}') },
    'config has a key named __proto__, which is reserved.',
  ],
  [
    'a config with an own __proto__ further down',
    { config: JSON.parse('{"a":[{"__proto__":1}]}') },
    'config.a[0] has a key named __proto__, which is reserved.',
  ],
  [
    'a config with a Date',
    { config: { at: new Date(0) } },
    'config.at is an instance of Date, which JSON cannot carry: use date.toISOString().',
  ],
  ['a config with NaN', { config: { list: [1, Number.NaN] } }, 'config.list[1] is NaN, which JSON cannot carry.'],
  [
    'a config with an infinity',
    { config: { 'a-b': Number.POSITIVE_INFINITY } },
    'config["a-b"] is Infinity, which JSON cannot carry.',
  ],
  ['a config with a BigInt', { config: { big: 1n } }, 'config.big is a bigint, which JSON cannot carry.'],
  ['a config with a symbol', { config: { mark: Symbol('x') } }, 'config.mark is a symbol, which JSON cannot carry.'],
  [
    'a config with a toJSON function',
    { config: { toJSON: () => 'hacked' } },
    'config.toJSON is a function, which JSON cannot carry.',
  ],
  [
    'a config with a then function',
    { config: Object.fromEntries([['then', () => never()]]) },
    'config.then is a function, which JSON cannot carry.',
  ],
  [
    'a config with a valueOf function',
    { config: { valueOf: () => 1 } },
    'config.valueOf is a function, which JSON cannot carry.',
  ],
  ['a config that contains itself', { config: cyclic }, 'config.self is part of itself.'],
  [
    'a config of 50 000 nested arrays',
    { config: { deep: nestedArrays(50_000) } },
    `The nesting of config.deep${'[0]'.repeat(63)} exceeds the limit maxJsonDepth (64).`,
  ],
  ['a serverContext that is null', { serverContext: null }, 'serverContext must be a plain object.'],
  [
    'a serverContext with a Date',
    { serverContext: { at: new Date(0) } },
    'serverContext.at is an instance of Date, which JSON cannot carry: use date.toISOString().',
  ],
  ['a serverContext with a config', { serverContext: { config: {} } }, "serverContext may not have the key 'config'."],
  ['an owner that is empty', { owner: '' }, 'owner must be a string that is not empty.'],
  ['something that is not a signal', { signal: {} }, 'signal must be an AbortSignal.'],
]

describe('bad input', () => {
  test.each(bad)(
    '[4.5-4 4.5-5] %s: its error is returned, nothing is run, nothing is lost',
    async (_what, change, message) => {
      const { engine, session, stored, ran, store, backing } = await started()
      const before = await stored(session)
      const calls = store.journal.length
      const input = { flowName: 'Talk', userMessage: 'hello', sessionId: session, ...change } as unknown as FlowRunInput
      const { response, sessionState, error } = await engine.execute(input)
      expect(response).toEqual({ success: false, completed: true, message, session, contentType: 'text/plain' })
      expect(error?.code).toBe(codeOf(message))
      // The store is asked once, for the state of the session.
      expect([sessionState, store.journal.length]).toEqual(
        'owner' in change ? ['unknown', calls] : ['running', calls + 1],
      )
      const { sessionId: _sessionId, ...first } = input
      expect(await engine.run(first)).toEqual({ ...response, session: '' })
      expect(await stored(session)).toBe(before)
      expect([ran(), store.journal.length, backing.size]).toEqual([0, calls + ('owner' in change ? 0 : 1), 1])
    },
  )

  test.each([
    ['a carriage return', 'abc\rdef'],
    ['a line feed', 'abc\ndef'],
    ['both', 'abc\r\nSet-Cookie: a=b'],
    ['a comma', 'abc,def'],
    ['a space', 'abc def'],
    ['a zero byte', 'abc\u0000'],
    ['a delete character', 'abc\u007f'],
    ['a letter beyond ASCII', 'sitzung-ä'],
    ['16 KB', 'x'.repeat(16_384)],
    ['257 characters', 'x'.repeat(257)],
    ['a space alone', ' '],
  ])('[4.5-5] a session ID with %s: no ID in the envelope, nothing is run', async (_what, sessionId) => {
    const { engine, ran, store, backing } = await started()
    const calls = store.journal.length
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId })
    expect(response).toEqual({
      success: false,
      completed: true,
      message: shape,
      session: '',
      contentType: 'text/plain',
    })
    expect(error?.code).toBe('INVALID_INPUT')
    expect(await engine.runFlow('Talk', 'hello', sessionId)).toEqual(response)
    expect([ran(), store.journal.length, backing.size]).toEqual([0, calls, 1])
  })

  test.each([[null], [5], [true], [{}], [['id']], [{ toString: () => 'id' }]])(
    'a session ID that is %j and no string',
    async (sessionId) => {
      const { engine, ran } = await started()
      const input = { flowName: 'Talk', userMessage: 'hello', sessionId } as unknown as FlowRunInput
      expect(await engine.run(input)).toMatchObject({ success: false, message: shape, session: '' })
      expect(ran()).toBe(0)
    },
  )

  test.each(['!', '~', "abc.def-ghi_jkl:mno/pqr=+(*)'", 'x'.repeat(256)])(
    'the session ID %j is one',
    async (sessionId) => {
      const { engine } = await started()
      expect((await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId })).success).toBe(true)
    },
  )

  test.each([[undefined], [null], [5], ['Talk'], [[]], [() => 'Talk']])('%s in place of the input', async (input) => {
    const { engine, ran } = await started()
    const response = await engine.run(input as unknown as FlowRunInput)
    const message = 'The input of a turn must be an object.'
    expect(response).toEqual({ success: false, completed: true, message, session: '', contentType: 'text/plain' })
    expect(ran()).toBe(0)
  })

  test.each([
    ['flowName', [undefined, 'hello'], 'flowName must be a string that is not empty.'],
    ['userMessage', ['Talk', 7], 'userMessage must be a string.'],
    ['context null', ['Talk', 'hello', undefined, null], 'context must be a plain object.'],
    [
      'context with a function',
      ['Talk', 'hello', undefined, { a: () => 1 }],
      'context.a is a function, which JSON cannot carry.',
    ],
  ])('[4.5-4] runFlow refuses the same: %s', async (_what, args, message) => {
    const { engine, ran } = await started()
    const runFlow = engine.runFlow.bind(engine) as (...given: readonly unknown[]) => ReturnType<typeof engine.runFlow>
    expect(await runFlow(...args)).toMatchObject({ success: false, message, session: '' })
    expect(ran()).toBe(0)
  })
})
