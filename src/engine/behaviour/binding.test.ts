import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, finish, reply } from '../../index.js'

afterEach(expectNothingLeft)

const talk = (): FlowConstructor => flowOf('Talk')

/** Finishes when the test says so. */
const untilDone = (): FlowConstructor =>
  flowOf('Talk', (turn) => (turn.message === 'done' ? finish('Goodbye.') : reply(`You said: ${turn.message}`)))

describe('which flow a session belongs to', () => {
  const other = (): FlowConstructor => flowOf('Other')

  test('[2.1-3 2.1-4 2.6-2 3-4 7.2-2 7.3-2] another flow fails and leaves the document as it was', async () => {
    const restored: string[] = []
    const curious = flowOf('Other', undefined, { onRestore: () => void restored.push('restored') })
    const { engine, start, stored, backing } = harness({ flows: [talk(), curious] })
    const session = await start('Talk')
    const before = await stored(session)
    const { response, error } = await engine.execute({ flowName: 'Other', userMessage: 'hello', sessionId: session })
    expect(response).toEqual({
      success: false,
      completed: true,
      message: `Session '${session}' belongs to flow 'Talk' and cannot run flow 'Other'.`,
      session,
      contentType: 'text/plain',
    })
    expect(error).toMatchObject({ code: 'SESSION_FLOW_MISMATCH', statusCode: 409 })
    expect(await stored(session)).toBe(before)
    expect(backing.size).toBe(1)
    expect(restored).toEqual([])
  })

  test('[2.1-4] so does a session that has ended', async () => {
    const { engine } = harness({ flows: [untilDone(), other()] })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'done' })
    const { response, error } = await engine.execute({ flowName: 'Other', userMessage: 'hello', sessionId: session })
    expect(error?.code).toBe('SESSION_FLOW_MISMATCH')
    expect(response.session).toBe(session)
  })

  test('[4.7-6 2.6-1] a former name of the flow is accepted, and stays in the document', async () => {
    const first = harness({ flows: [talk()] })
    const session = await first.start('Talk')
    const { engine, document } = harness({
      flows: [flowOf('Chat', undefined, { aliases: ['Talk'] })],
      backing: first.backing,
    })
    const response = await engine.run({ flowName: 'Chat', userMessage: 'hello', sessionId: session })
    expect(response).toMatchObject({ success: true, session })
    expect((await document(session)).flow.name).toBe('Talk')
  })

  test('[7.2-3 3-4] another version of the flow fails and leaves the document as it was', async () => {
    const first = harness({ flows: [talk()] })
    const session = await first.start('Talk')
    const { engine, stored } = harness({
      flows: [flowOf('Talk', undefined, { version: 2 })],
      backing: first.backing,
    })
    const before = await stored(session)
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    expect(response.message).toBe(
      `Session '${session}' is malformed: it was stored by version 1 of flow 'Talk', and this is version 2.`,
    )
    expect(response.session).toBe(session)
    expect(error).toMatchObject({ code: 'SESSION_FLOW_INVARIANT', statusCode: 409 })
    expect(await stored(session)).toBe(before)
  })

  test('another version does not matter to a session that has ended', async () => {
    const first = harness({ flows: [untilDone()] })
    const { session } = await first.engine.run({ flowName: 'Talk', userMessage: 'done' })
    const { engine } = harness({ flows: [flowOf('Talk', undefined, { version: 2 })], backing: first.backing })
    const response = await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    expect(response.success).toBe(true)
    expect(response.session).not.toBe(session)
  })

  test.each<readonly [string, Record<string, unknown>, Record<string, unknown>, string]>([
    ['an unknown layout', { version: 0 }, {}, 'its layout version is 0, and this release reads 2 and 3'],
    ['no flow name', {}, { name: undefined }, 'flow.name is missing and not a string'],
    ['an unknown status', { runStatus: 'asleep' }, {}, "runStatus is 'asleep'"],
    ['no error list', { error: 3 }, {}, 'error is 3 and not a list'],
    [
      'an unknown step',
      {},
      { currentStep: 'Gone' },
      "its current step is 'Gone', and the steps of its flow are Only, End (former IDs belong into static aliases)",
    ],
  ])('[7.2-3 7.3-2 3-4] a document with %s is malformed and stays as it was', async (_what, head, flow, problem) => {
    const { engine, start, rewrite, stored, backing } = harness({ flows: [talk()] })
    const session = await start('Talk')
    await rewrite(session, (document) => {
      Object.assign(document, head)
      Object.assign(document.flow, flow)
    })
    const before = await stored(session)
    const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    expect(response).toEqual({
      success: false,
      completed: true,
      message: `Session '${session}' is malformed: ${problem}.`,
      session,
      contentType: 'text/plain',
    })
    expect(error).toMatchObject({ code: 'SESSION_FLOW_INVARIANT', statusCode: 409 })
    expect(await stored(session)).toBe(before)
    expect(backing.size).toBe(1)
  })
})

test('the shape is looked at first, then the name, then whether it ended, then the version', async () => {
  const first = harness({ flows: [talk()] })
  const session = await first.start('Talk')
  const { engine, rewrite } = harness({
    flows: [flowOf('Talk', undefined, { version: 2 }), flowOf('Other', undefined, { version: 3 })],
    backing: first.backing,
  })
  const codeOf = async (flowName: string): Promise<string | undefined> =>
    (await engine.execute({ flowName, userMessage: 'hello', sessionId: session })).error?.code
  expect(await codeOf('Other')).toBe('SESSION_FLOW_MISMATCH')
  expect(await codeOf('Talk')).toBe('SESSION_FLOW_INVARIANT')
  await rewrite(session, (document) => Object.assign(document, { runStatus: 'completed' }))
  expect(await codeOf('Other')).toBe('SESSION_FLOW_MISMATCH')
  expect(await codeOf('Talk')).toBeUndefined()
  await rewrite(session, (document) => Object.assign(document, { runStatus: 'asleep' }))
  expect(await codeOf('Other')).toBe('SESSION_FLOW_INVARIANT')
})

test('[7.2-3] a document that a store returned under another ID is malformed', async () => {
  const { engine, start, store, document } = harness({ flows: [talk()] })
  const session = await start('Talk')
  const other = await document(await start('Talk'))
  store.answerNext(other)
  const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
  expect(response.message).toBe(`Session '${session}' is malformed: its id is '${other.id}'.`)
  expect(error?.code).toBe('SESSION_FLOW_INVARIANT')
})
