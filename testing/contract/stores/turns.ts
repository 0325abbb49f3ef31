// Documents as the engine makes them from turn to turn: new lists that are frozen and shared, and a hint of what was
// appended.
import type { Message, SessionDocument, SessionSaveHint } from '../../../src/index.js'
import { shareList } from '../../../src/session/lists/shared-lists.js'
import { documentOf } from '../session-bench.js'

/** A save, as the engine asks for it. */
export interface Turn {
  readonly document: SessionDocument
  readonly expectedRevision: string
  readonly hint: SessionSaveHint
}

/** A session before its first turn, under the revision `1-a` or another. */
export function newSession(id: string, revision = '1-a'): SessionDocument {
  const { flow, ...head } = documentOf(id, revision)
  return { ...head, history: shareList([]), flow: { ...flow, memory: {} } }
}

/** The next turn: one entry for the history, two messages for a namespace. */
export function turnOn(base: SessionDocument, revision: string, text = `turn ${revision}`, namespace = 'Ask'): Turn {
  const turn = base.history.length + 1
  const entry: SessionDocument['history'][number] = Object.freeze({
    turn,
    at: '2026-01-01T00:00:00.000Z',
    message: text,
    reply: `Re: ${text}`,
    contentType: 'text/plain',
    step: 'Ask',
  })
  const messages = (['user', 'assistant'] as const).map(
    (role): Message =>
      Object.freeze({ role, turn, parts: shareList([Object.freeze({ type: 'text', text } as const)]) }),
  )
  const { memory } = base.flow
  const before = memory[namespace]?.messages ?? []
  const document: SessionDocument = {
    ...base,
    revision,
    history: shareList([...base.history, entry]),
    flow: { ...base.flow, memory: { ...memory, [namespace]: { messages: shareList([...before, ...messages]) } } },
  }
  return {
    document,
    expectedRevision: base.revision,
    hint: { appended: { history: 1, [`memory:${namespace}`]: 2 } },
  }
}
