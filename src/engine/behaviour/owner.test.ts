import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { type FlowConstructor, reply } from '../../index.js'

afterEach(expectNothingLeft)

const talk = (): FlowConstructor => flowOf('Talk', (turn) => reply(turn.session.owner ?? 'nobody'))

/** A session of Ada's, and one of nobody's. */
async function twoSessions(unknownSession: 'new' | 'reject' = 'new') {
  const made = harness({ flows: [talk(), flowOf('Other')], unknownSession })
  const ada = await made.engine.run({ flowName: 'Talk', userMessage: 'hello', owner: 'ada' })
  return { ...made, ada: ada.session, nobody: await made.start('Talk') }
}

/** Everybody who is not the owner of the session. */
const strangers = [
  ['ada', 'bob'],
  ['ada', undefined],
  ['nobody', 'ada'],
] as const

describe('the owner of a session', () => {
  test('is stored with its first turn, and seen by the flow', async () => {
    const { document, ada, nobody } = await twoSessions()
    expect(await document(ada)).toMatchObject({ owner: 'ada', history: [{ reply: 'ada' }] })
    expect(await document(nobody)).toMatchObject({ history: [{ reply: 'nobody' }] })
    expect('owner' in (await document(nobody))).toBe(false)
  })

  test('continues it, and so does nobody where it has none', async () => {
    const { engine, ada, nobody } = await twoSessions()
    const owned = await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: ada, owner: 'ada' })
    expect(owned).toMatchObject({ success: true, session: ada, message: 'ada' })
    const free = await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: nobody })
    expect(free).toMatchObject({ success: true, session: nobody })
  })

  test.each(strangers)("of %s's session, %s gets a new one, and the session stays as it was", async (whose, owner) => {
    const made = await twoSessions()
    const sessionId = made[whose]
    const before = await made.stored(sessionId)
    const input = { flowName: 'Talk', userMessage: 'hello', sessionId }
    const response = await made.engine.run(owner === undefined ? input : { ...input, owner })
    expect(response.success).toBe(true)
    expect(response.session).not.toBe(sessionId)
    expect((await made.document(response.session)).owner).toBe(owner)
    expect(await made.stored(sessionId)).toBe(before)
  })

  test.each(strangers)(
    "of %s's session, %s gets the answer that there is none, with unknownSession: 'reject'",
    async (whose, owner) => {
      const made = await twoSessions('reject')
      const sessionId = made[whose]
      const before = await made.stored(sessionId)
      const input = { flowName: 'Talk', userMessage: 'hello', sessionId }
      const { response, error } = await made.engine.execute(owner === undefined ? input : { ...input, owner })
      const unknown = await made.engine.execute({
        ...input,
        sessionId: 'unknown',
        ...(owner === undefined ? {} : { owner }),
      })
      expect(error?.code).toBe('SESSION_NOT_FOUND')
      // Word for word what an unknown ID gets: nobody learns that the session exists.
      expect(response.message.replace(sessionId, 'unknown')).toBe(unknown.response.message)
      expect(await made.stored(sessionId)).toBe(before)
      expect(made.backing.size).toBe(2)
    },
  )

  test('another flow shows a stranger nothing either', async () => {
    const { engine, ada } = await twoSessions()
    const response = await engine.run({ flowName: 'Other', userMessage: 'hello', sessionId: ada, owner: 'bob' })
    expect(response.success).toBe(true)
    expect(response.session).not.toBe(ada)
  })

  test('a session that ended belongs to its owner as well', async () => {
    const { engine, ada, rewrite, stored } = await twoSessions()
    await rewrite(ada, (document) => Object.assign(document, { runStatus: 'completed' }))
    const before = await stored(ada)
    const response = await engine.run({ flowName: 'Other', userMessage: 'hello', sessionId: ada, owner: 'bob' })
    expect(response.success).toBe(true)
    expect(await stored(ada)).toBe(before)
  })

  test.each(['', 5, null, {}, ['ada']])('%j is not an owner', async (owner) => {
    const { engine, store } = harness({ flows: [talk()] })
    const { response, error } = await engine.execute({
      flowName: 'Talk',
      userMessage: 'hello',
      owner: owner as unknown as string,
    })
    expect(response.message).toBe('owner must be a string that is not empty.')
    expect(error?.code).toBe('INVALID_INPUT')
    expect(store.journal).toEqual([])
  })
})

describe('deleting as somebody', () => {
  test('the owner deletes; nobody deletes what has no owner', async () => {
    const { engine, backing, ada, nobody } = await twoSessions()
    expect(await engine.deleteSession(ada, { owner: 'ada' })).toEqual({ success: true, session: ada })
    expect(await engine.deleteSession(nobody, {})).toEqual({ success: true, session: nobody })
    expect(backing.size).toBe(0)
  })

  test.each(strangers)("of %s's session, %s deletes nothing, and success is reported", async (whose, owner) => {
    const made = await twoSessions()
    const session = made[whose]
    const before = await made.stored(session)
    const { result, error } = await made.engine.executeDelete(session, owner === undefined ? {} : { owner })
    expect(result).toEqual({ success: true, session })
    expect(error).toBeUndefined()
    expect(await made.stored(session)).toBe(before)
    expect(await made.store.isDeleted?.(session)).toBe(false)
  })

  test('without options any session is deleted', async () => {
    const { engine, backing, ada, nobody } = await twoSessions()
    await engine.deleteSession(ada)
    await engine.deleteSession(nobody)
    expect(backing.size).toBe(0)
  })

  test('a document that names no owner because it cannot be read is left to a delete without options', async () => {
    const { engine, store, ada, stored } = await twoSessions()
    const before = await stored(ada)
    store.answerNext('not a document')
    expect(await engine.deleteSession(ada, { owner: 'ada' })).toEqual({ success: true, session: ada })
    expect(await stored(ada)).toBe(before)
  })
})
