import { describe, expect, test } from 'vitest'
import type { SessionDocument } from '../../../../src/index.js'
import { decodeSession } from '../../../../src/session/session-codec.js'
import { FakeSessionStore } from '../../../fake-session-store/fake-session-store.js'
import { throughJson } from '../../cases/same-json.js'
import { engineOver, say } from '../operations/talking-flow.js'
import { freezeDeep, longSession, newSession, nextTurn, withContext, withMemory } from './documents.js'

describe('the documents of the suite', () => {
  const first = newSession('s-1')
  const second = nextTurn(first, { namespaces: ['Ask', '__proto__'] })

  test('are documents to the codec', () => {
    const documents = [
      first,
      second.document,
      longSession('s-1', 3),
      withContext(first, { a: 1 }),
      withMemory(first, {}),
    ]
    for (const document of documents) expect(() => decodeSession(throughJson(document), 's-1')).not.toThrow()
  })

  test('have the fields that the engine writes, and its kind of revision', async () => {
    const engine = engineOver(new FakeSessionStore())
    const made = (await engine.getSession(await say(engine, '', 'Hello'))) as SessionDocument
    const keysOf = (document: SessionDocument): readonly (readonly string[])[] => {
      const { owner: _, ...head } = document
      const { history, flow } = head
      const message = Object.values(flow.memory)[0]?.messages[0]
      return [head, flow, history[0], flow.sequence[0], message, document.usage].map((part) =>
        Object.keys(part ?? {}).sort(),
      )
    }
    expect(keysOf(first)).toEqual(keysOf(made))
    for (const { revision } of [first, made]) expect(revision).toMatch(/^1-[\w-]{8,}$/)
  })

  test('go on from turn to turn: entries are shared, revisions are fresh, and the hint counts', () => {
    const { document, expectedRevision, hint } = second
    expect(expectedRevision).toBe(first.revision)
    expect(document.revision).toMatch(/^2-/)
    expect(nextTurn(first).document.revision).not.toBe(document.revision)
    expect(document.history).toHaveLength(2)
    expect(document.history[0]).toBe(first.history[0])
    expect(document.flow.memory.Ask?.messages[1]).toBe(first.flow.memory.Ask?.messages[1])
    expect(Object.hasOwn(document.flow.memory, '__proto__')).toBe(true)
    expect(Object.entries(hint.appended)).toEqual([
      ['history', 1],
      ['memory:Ask', 2],
      ['memory:__proto__', 2],
    ])
    expect(document.bytes).toBeGreaterThan(first.bytes)
  })

  test('have lists that are frozen to the last value, and heads that are not', () => {
    const long = longSession('s-1', 2)
    for (const document of [first, second.document, long]) {
      const lists = [document.history, document.flow.memory.Ask?.messages, document.flow.sequence]
      for (const list of lists) for (const value of [list, list?.[0]]) expect(Object.isFrozen(value)).toBe(true)
      expect(Object.isFrozen(document.flow.memory.Ask?.messages[0]?.parts[0])).toBe(true)
      for (const head of [document, document.flow, document.flow.memory]) expect(Object.isFrozen(head)).toBe(false)
    }
    expect(Object.isFrozen(freezeDeep(newSession('s-2')).flow.context)).toBe(true)
  })

  test('a long one has so many turns, and two messages each', () => {
    const long = longSession('s-1', 2_500)
    expect(long.history).toHaveLength(2_500)
    expect(long.flow.memory.Ask?.messages).toHaveLength(5_000)
  })
})
