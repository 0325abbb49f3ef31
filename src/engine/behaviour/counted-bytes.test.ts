// The count of bytes of a document that is wrong, because a flow changed the lists. Nothing is removed or refused for
// it, and the next turn stores the true one.
import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import { reply, type SessionDocument } from '../../index.js'
import { bytesOfLists } from '../../session/document-bytes.js'

afterEach(expectNothingLeft)

const Talk = flowOf('Talk', ({ message }) => reply(message))

/** The flow with this `onRestore`. */
function restoring(onRestore: (document: SessionDocument) => SessionDocument): typeof Talk {
  const Restoring = flowOf('Talk', ({ message }) => reply(message))
  Restoring.prototype.onRestore = onRestore
  return Restoring
}

/** The document as it is stored, with its lists counted anew. */
function counted(document: SessionDocument): readonly [stored: number, counted: number] {
  const copy = JSON.parse(JSON.stringify(document)) as SessionDocument
  return [copy.bytes, bytesOfLists(copy)]
}

describe('a count of bytes', () => {
  test('that is too high removes nothing, and is true after the next turn', async () => {
    const { engine, start, rewrite, document } = harness({ flows: [Talk] })
    const sessionId = await start('Talk')
    await rewrite(sessionId, (stored) => Object.assign(stored, { bytes: 9_000_000 }))
    const trimmed: unknown[] = []
    engine.on('session:trimmed', (payload) => trimmed.push(payload))
    const { response } = await engine.execute({ flowName: 'Talk', userMessage: 'Hi', sessionId })
    expect([response.success, trimmed]).toEqual([true, []])
    const [stored, true_] = counted(await document(sessionId))
    expect(stored).toBe(true_)
  })

  test('that is too low is true after a turn that removes more bytes than were counted', async () => {
    const { engine, start, rewrite, document } = harness({ flows: [Talk], limits: { maxHistoryTurns: 2 } })
    const sessionId = await start('Talk')
    const say = (userMessage: string) => engine.run({ flowName: 'Talk', userMessage, sessionId })
    await say('x'.repeat(500))
    await rewrite(sessionId, (stored) => Object.assign(stored, { bytes: 1 }))
    expect((await say('Hi')).success).toBe(true)
    const [stored, true_] = counted(await document(sessionId))
    expect(stored).toBe(true_)
    expect((await say('Are you there?')).success).toBe(true)
  })

  test('includes the effects of a session, where onRestore changed something else', async () => {
    const effects = { charge: { begunAt: '2026-01-01T00:00:00.000Z', attempts: 1, result: 'x'.repeat(500) } }
    const flows = [restoring((restored) => ({ ...restored, history: [] }))]
    const { engine, start, rewrite, document } = harness({ flows })
    const sessionId = await start('Talk')
    await rewrite(sessionId, (stored) => Object.assign(stored, { effects }))
    await engine.run({ flowName: 'Talk', userMessage: 'Hi', sessionId })
    const [stored, true_] = counted(await document(sessionId))
    expect([stored, stored > 500]).toEqual([true_, true])
  })
})

test('onRestore may not lower the number of turns: attachments would get an ID for the second time', async () => {
  const { engine, start, stored } = harness({ flows: [restoring((document) => ({ ...document, turns: 0 }))] })
  const sessionId = await start('Talk')
  const before = await stored(sessionId)
  const { error } = await engine.execute({ flowName: 'Talk', userMessage: 'Hi', sessionId })
  expect(error?.message).toBe(`Session '${sessionId}' is malformed: the flow's onRestore lowered its turns.`)
  expect(await stored(sessionId)).toBe(before)
})
