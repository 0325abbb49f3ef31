// The options of `engine.stream`: what becomes of a turn whose reader leaves, stalls or comes back.
import { afterEach, expect, test } from 'vitest'
import { expectNothingLeft, gate, harness } from '../../../testing/contract/engine-harness.js'
import {
  delta,
  finish,
  modelStep,
  pieces,
  readAll,
  shortly,
  streaming,
} from '../../../testing/contract/stream-harness.js'
import { flowOf } from '../../../testing/contract/test-flows.js'
import type { FlowStream, ModelStreamPart } from '../../index.js'

afterEach(expectNothingLeft)

const input = { flowName: 'Test', userMessage: 'Hi' }

/** An engine whose model says `Hel`, waits for the gate, and says `lo.` */
function begin() {
  const held = gate()
  async function* answer(): AsyncGenerator<ModelStreamPart> {
    yield delta('Hel')
    await held.opened
    yield* pieces(delta('lo.'), finish('Hello.'))
  }
  const made = harness({ flows: [flowOf(modelStep())], providers: [streaming(answer)] })
  const replies: string[] = []
  made.engine.on('turn:end', ({ success }) => replies.push(success ? 'committed' : 'failed'))
  return { ...made, open: held.open, replies }
}

/** Reads up to the first text, and leaves. */
async function leaveEarly(stream: FlowStream): Promise<void> {
  for await (const { type } of stream) if (type === 'text-delta') return
}

test("under 'finish' a reader that leaves leaves the turn running", async () => {
  const { engine, clock, open, replies } = begin()
  await leaveEarly(engine.stream(input, { onDisconnect: 'finish' }))
  expect([replies, engine.getFlowSession().locked]).toEqual([[], 1])
  open()
  await clock.settle()
  expect([replies, engine.getFlowSession().locked]).toEqual([['committed'], 0])
})

test("under 'cancel' it aborts the turn", async () => {
  const { engine, replies, open } = begin()
  await leaveEarly(engine.stream(input, { onDisconnect: 'cancel' }))
  expect([replies, engine.getFlowSession().locked]).toEqual([['failed'], 0])
  open()
})

test('without options an idempotency key lets the turn go on', async () => {
  for (const [idempotencyKey, expected] of [
    ['a-key-of-some-length', 'committed'],
    [undefined, 'failed'],
  ] as const) {
    const { engine, clock, open, replies } = begin()
    await leaveEarly(engine.stream(idempotencyKey === undefined ? input : { ...input, idempotencyKey }))
    open()
    await clock.settle()
    expect(replies).toEqual([expected])
  }
})

test("under 'finish' the signal of the caller still aborts the turn", async () => {
  const { engine, clock, replies, open } = begin()
  const { signal, abort } = ((controller) => ({ signal: controller.signal, abort: () => controller.abort() }))(
    new AbortController(),
  )
  await leaveEarly(engine.stream({ ...input, signal }, { onDisconnect: 'finish' }))
  abort()
  await clock.settle()
  expect(replies).toEqual(['failed'])
  open()
})

test("under 'finish' waitUntil receives the turn when it begins, and resolves when it is settled", async () => {
  const { engine, replies, open } = begin()
  const works: Promise<unknown>[] = []
  const stream = engine.stream({ ...input, waitUntil: (work) => works.push(work) }, { onDisconnect: 'finish' })
  expect(works).toEqual([])
  await leaveEarly(stream)
  expect([works.length, replies]).toEqual([1, []])
  open()
  await Promise.all(works)
  expect([replies, engine.getFlowSession().locked]).toEqual([['committed'], 0])
  // If the turn ends with its reader, there is nothing to wait for.
  const other = begin()
  await leaveEarly(other.engine.stream({ ...input, waitUntil: (work) => works.push(work) }))
  expect(works).toHaveLength(1)
  other.open()
})

test("what waitUntil throws under 'finish' is passed to onListenerError, and the turn runs", async () => {
  const errors: unknown[] = []
  const held = harness({
    flows: [flowOf(modelStep())],
    providers: [streaming(() => pieces(delta('Hello.'), finish('Hello.')))],
    onListenerError: (...given) => errors.push(given),
  })
  const waitUntil = (): void => {
    throw new Error('too late')
  }
  const events = await readAll(held.engine.stream({ ...input, waitUntil }, { onDisconnect: 'finish' }))
  expect(shortly(events).at(-1)).toBe('result Hello.')
  expect(errors).toEqual([[new Error('too late'), 'waitUntil']])
})

test('the IDs of pieces begin with the ID of the turn', async () => {
  const { engine, open } = begin()
  open()
  let turnId = ''
  engine.on('turn:start', (event) => {
    turnId = event.turnId
  })
  const stream = engine.stream(input)
  expect(stream.lastEventId).toBe('')
  const ids: string[] = []
  for await (const _event of stream) ids.push(stream.lastEventId)
  expect(ids).toEqual([1, 2, 3, 4, 5].map((number) => `${turnId}:${number}`))
})

test('a reader that has a piece of an earlier connection forgets its text, whoever runs the turn now', async () => {
  const { engine, open } = begin()
  open()
  const stream = engine.stream({ ...input, idempotencyKey: 'a-key-of-some-length' }, { lastEventId: 'elsewhere:7' })
  expect(shortly(await readAll(stream)).slice(0, 2)).toEqual(['session', 'reset resume'])
})

test.each<[unknown, string]>([
  [{ onDisconnect: 'stop' }, "stream: onDisconnect must be 'cancel' or 'finish'."],
  [{ lastEventId: 7 }, 'stream: lastEventId must be a string.'],
  [
    { lastEventID: 'x' },
    "stream: there is no option 'lastEventID'. The options are lastEventId, onDisconnect. Did you mean 'lastEventId'?",
  ],
  [null, 'stream: the options must be an object.'],
])('the options %j are refused in the first and only piece, and nothing is run', async (options, message) => {
  const { engine, store } = begin()
  const events = await readAll(engine.stream(input, options as never))
  expect(events).toMatchObject([{ type: 'error', response: { message }, error: { code: 'INVALID_INPUT' } }])
  expect(store.journal).toEqual([])
})

test('a repeat whose first call is cancelled by its own caller runs anew in the same stream', async () => {
  const { engine, clock, open } = begin()
  const keyed = { ...input, idempotencyKey: 'a-key-of-some-length' }
  const caller = new AbortController()
  const first = engine.stream({ ...keyed, signal: caller.signal })
  await first.next()
  const second = engine.stream(keyed)
  const seen: string[] = []
  const reading = (async () => {
    for await (const event of second) seen.push(...shortly([event]))
  })()
  await clock.settle()
  expect(seen).toEqual(['session', 'step Talk', 'reset resume', '"Hel"'])
  caller.abort()
  await clock.settle()
  open()
  await reading
  expect(seen.slice(4)).toEqual(['session', 'reset resume', 'step Talk', '"Hel"', '"lo."', 'result Hello.'])
  await readAll(first)
})
