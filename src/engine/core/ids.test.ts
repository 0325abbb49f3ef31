import { afterEach, describe, expect, test } from 'vitest'
import { expectNothingLeft, flowOf, harness } from '../../../testing/contract/engine-harness.js'
import type { IdKind } from './engine-options.js'
import { createGenerateId } from './ids.js'

afterEach(expectNothingLeft)

const refused = (kind: IdKind): string =>
  `generateId('${kind}') must be 1 to 256 visible ASCII characters without a comma.`

describe('createGenerateId', () => {
  test('makes random IDs: 32 characters for a session, which are 192 bits, and 12 for the rest', () => {
    const generateId = createGenerateId(undefined)
    expect(generateId('session')).toMatch(/^[A-Za-z0-9_-]{32}$/)
    expect(generateId('revision')).toMatch(/^[A-Za-z0-9_-]{12}$/)
    expect(generateId('turn')).toMatch(/^[A-Za-z0-9_-]{12}$/)
    expect(generateId('session')).not.toBe(generateId('session'))
  })

  test("asks the application's own for each kind", () => {
    const kinds: IdKind[] = []
    const generateId = createGenerateId((kind) => {
      kinds.push(kind)
      return `${kind}.1`
    })
    expect([generateId('session'), generateId('revision'), generateId('turn')]).toEqual([
      'session.1',
      'revision.1',
      'turn.1',
    ])
    expect(kinds).toEqual(['session', 'revision', 'turn'])
  })

  test.each(['', 'a b', 'a,b', 'ä', 'x'.repeat(257), 5, undefined, null, {}, Promise.resolve('id')])(
    'refuses %s',
    (id) => {
      const generateId = createGenerateId(() => id as string)
      expect(() => generateId('session')).toThrow(refused('session'))
      expect(() => generateId('turn')).toThrow(refused('turn'))
    },
  )
})

describe('in an engine', () => {
  test('IDs come from it', async () => {
    const made: string[] = []
    let count = 0
    const generateId = (kind: IdKind): string => {
      made.push(kind)
      return `${kind}-${++count}`
    }
    const { engine, document } = harness({ flows: [flowOf('Talk')], generateId })
    const { session } = await engine.run({ flowName: 'Talk', userMessage: 'hello' })
    expect(session).toBe('session-2')
    expect((await document(session)).revision).toBe('1-revision-3')
    expect(made).toEqual(['turn', 'session', 'revision'])
    await engine.run({ flowName: 'Talk', userMessage: 'hello', sessionId: session })
    expect((await document(session)).revision).toBe('2-revision-5')
    expect(made).toEqual(['turn', 'session', 'revision', 'turn', 'revision'])
  })

  test.each<[IdKind]>([['session'], ['revision'], ['turn']])(
    '[4.5-4] one that fails for a %s fails the turn, and nothing is stored',
    async (bad) => {
      const generateId = (kind: IdKind): string => {
        if (kind === bad) throw new Error('no ID today')
        return `${kind}-1`
      }
      const { engine, backing } = harness({ flows: [flowOf('Talk')], generateId })
      const response = await engine.run({ flowName: 'Talk', userMessage: 'hello' })
      expect(response).toMatchObject({ success: false, session: '' })
      expect(response.message).toMatch(/^no ID today/)
      expect(backing.size).toBe(0)
    },
  )

  test.each<[IdKind]>([['session'], ['revision'], ['turn']])(
    '[4.5-4] a %s ID that HTTP could not carry fails the turn, too',
    async (bad) => {
      const generateId = (kind: IdKind): string => (kind === bad ? 'a\r\nb' : `${kind}-1`)
      const { engine, backing } = harness({ flows: [flowOf('Talk')], generateId })
      const { response, error } = await engine.execute({ flowName: 'Talk', userMessage: 'hello' })
      expect(error?.message).toBe(refused(bad))
      expect(error?.code).toBe('INVALID_INPUT')
      expect(response.session).toBe('')
      expect(backing.size).toBe(0)
    },
  )
})
