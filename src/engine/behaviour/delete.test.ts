import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, gate, harness } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, SessionFlowInvariantError } from '../../index.js'
import type { DeleteOptions } from '../core/engine-options.js'

afterEach(expectNothingLeft)

const talk = (): FlowConstructor => flowOf('Talk')

describe('what can be deleted', () => {
  test('[3-6 4.4-12 4.6-1 2.5-7 3-8] a session, for good, by its current revision', async () => {
    const { engine, store, backing, start } = harness({ flows: [talk()] })
    const session = await start('Talk')
    const { revision } = store.journal[0] ?? {}
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
    const deletion = store.journal.filter(({ operation }) => operation === 'delete')
    expect(deletion).toEqual([{ operation: 'delete', sessionId: session, expectedRevision: revision, outcome: 'done' }])
    expect(await engine.getSession(session)).toBeUndefined()
  })

  test('[4.4-13] endChat is deleteSession by its old name', async () => {
    const { engine, backing, start } = harness({ flows: [talk()] })
    const session = await start('Talk')
    expect(await engine.endChat(session)).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
    expect(await engine.endChat('')).toEqual({ success: true, session: '' })
    expect(await engine.endChat('a b')).toMatchObject({ success: false, session: '' })
  })

  test('[3-7 4.6-2] a missing session is a success, and only keeps its ID from being used', async () => {
    const { engine, store, backing } = harness()
    expect(await engine.deleteSession('nobody')).toEqual({ success: true, session: 'nobody' })
    expect(store.operations).toEqual(['load', 'delete'])
    expect(backing.size).toBe(0)
    expect(await store.isDeleted?.('nobody')).toBe(true)
  })

  test('a session twice', async () => {
    const { engine, start } = harness({ flows: [talk()] })
    const session = await start('Talk')
    expect(await Promise.all([engine.deleteSession(session), engine.deleteSession(session)])).toEqual([
      { success: true, session },
      { success: true, session },
    ])
  })

  test('[4.6-3] an empty ID is a success, and the store is not asked', async () => {
    const { engine, store } = harness()
    const { result, error } = await engine.executeDelete('')
    expect(result).toEqual({ success: true, session: '' })
    expect(error).toBeUndefined()
    expect(store.journal).toEqual([])
  })

  test.each(['running', 'completed', 'aborted', 'asleep'])('a session that is %s', async (runStatus) => {
    const { engine, backing, start, rewrite } = harness({ flows: [talk()] })
    const session = await start('Talk')
    await rewrite(session, (document) => Object.assign(document, { runStatus }))
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
  })

  test('a malformed document, by its revision', async () => {
    const { engine, store, backing, start, rewrite } = harness({ flows: [talk()] })
    const session = await start('Talk')
    await rewrite(session, (document) => Object.assign(document, { version: 'nine', error: null, usage: 3 }))
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(store.journal.at(-1)?.expectedRevision).toMatch(/^1-/)
    expect(backing.size).toBe(0)
  })

  test.each([
    ['an empty one', ''],
    ['a number', 7],
    ['none', undefined],
  ])('a document whose revision cannot be read (%s), whatever is stored', async (_what, revision) => {
    const { engine, store, backing, start } = harness({ flows: [talk()] })
    const session = await start('Talk')
    store.answerNext({ revision })
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(Object.keys(store.journal.at(-1) ?? {})).toEqual(['operation', 'sessionId', 'outcome'])
    expect(backing.size).toBe(0)
  })

  test('what the store calls unreadable', async () => {
    const { engine, store, backing, start } = harness({ flows: [talk()] })
    const session = await start('Talk')
    const error = new SessionFlowInvariantError({ sessionId: session, problem: 'it is not valid JSON' })
    store.failNext('load', { error })
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
  })

  test('a text where a document should be', async () => {
    const { engine, store, backing, start } = harness({ flows: [talk()] })
    const session = await start('Talk')
    store.answerNext('not a document')
    expect(await engine.deleteSession(session)).toEqual({ success: true, session })
    expect(backing.size).toBe(0)
  })
})

describe('what is refused', () => {
  const shape = 'sessionId must be 1 to 256 visible ASCII characters without a comma.'

  test.each([[undefined], [null], [0], [5], [true], [{}], [['id']], [Symbol('id')], [() => 'id']])(
    '%s, which is not a string',
    async (sessionId) => {
      const { engine, store } = harness()
      const { result, error } = await engine.executeDelete(sessionId as unknown as string)
      expect(result).toEqual({ success: false, session: '', message: shape })
      expect(error?.code).toBe('INVALID_INPUT')
      expect(store.journal).toEqual([])
    },
  )

  test.each(['a b', 'a,b', 'a\r\nb', 'ä', '\u0000', ' ', 'x'.repeat(257), 'x'.repeat(16_384)])(
    '[4.6-4] the ID %j',
    async (sessionId) => {
      const { engine, store } = harness()
      expect(await engine.deleteSession(sessionId)).toEqual({ success: false, session: '', message: shape })
      expect(store.journal).toEqual([])
    },
  )

  test('options that throw where they are read, and the document stays', async () => {
    const { engine, start, stored } = harness({ flows: [talk()] })
    const session = await start('Talk')
    const before = await stored(session)
    const options: DeleteOptions = {
      get owner(): string {
        throw new Error('no owner today')
      },
    }
    expect(await engine.deleteSession(session, options)).toEqual({
      success: false,
      session,
      message: 'no owner today',
    })
    expect(await stored(session)).toBe(before)
  })

  test('[4.6-1 4.6-4 7.2-1] a session that changed since it was read', async () => {
    const first = harness({ flows: [talk()] })
    const second = harness({ flows: [talk()], backing: first.backing })
    const session = await first.start('Talk')
    first.store.delayNext('delete', 100)
    const deleting = first.engine.executeDelete(session)
    await first.clock.settle()
    await second.engine.run({ flowName: 'Talk', userMessage: 'faster', sessionId: session })
    const winner = await first.stored(session)
    await first.clock.advance(100)
    const { result, error } = await deleting
    expect(result).toEqual({
      success: false,
      session,
      message: `Session '${session}' was changed or deleted by another request.`,
    })
    expect(error).toMatchObject({ code: 'SESSION_CONFLICT', statusCode: 409 })
    expect(await first.stored(session)).toBe(winner)
  })
})

describe('a closed engine', () => {
  test('refuses a delete, and the document stays', async () => {
    const { engine, start, stored } = harness({ flows: [talk()] })
    const session = await start('Talk')
    const before = await stored(session)
    await engine.close()
    const { result, error } = await engine.executeDelete(session)
    expect(result).toEqual({ success: false, session, message: 'The engine is closed.' })
    expect(error?.code).toBe('ENGINE_CLOSED')
    expect(await stored(session)).toBe(before)
  })

  test('[4.6-3] still skips an empty ID', async () => {
    const { engine } = harness()
    await engine.close()
    expect(await engine.deleteSession('')).toEqual({ success: true, session: '' })
  })

  test('reports a bad ID before it reports that it is closed', async () => {
    const { engine } = harness()
    await engine.close()
    expect((await engine.executeDelete('a b')).error?.code).toBe('INVALID_INPUT')
    expect((await engine.executeDelete(5 as never)).error?.code).toBe('INVALID_INPUT')
  })
})

test('[4.6-1] waiters of a deleted session are not forgotten', async () => {
  const { engine, start } = harness({ flows: [talk()] })
  const session = await start('Talk')
  const held = gate()
  const holding = engine.getFlowSession().withSessionLock(session, () => held.opened)
  const results = [engine.deleteSession(session), engine.deleteSession(session), engine.endChat(session)]
  held.open()
  await holding
  expect(await Promise.all(results)).toEqual(Array(3).fill({ success: true, session }))
})
