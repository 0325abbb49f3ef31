import { type FlowEngine, type FlowRunInput, type FlowStreamEvent, SessionStoreError } from 'turnkeeper'
import { expect, test } from 'vitest'
import { talk } from './talk.js'

const reply = (message: string, session: string) => ({
  type: 'result' as const,
  response: { success: true, completed: false, message, session, contentType: 'text/plain' },
  sessionState: 'running' as const,
})

const failure = (session: string, sessionState: 'running' | 'aborted' | 'none' | 'unknown') => ({
  type: 'error' as const,
  response: { success: false, completed: true, message: 'No.', session, contentType: 'text/plain' },
  sessionState,
  error: new SessionStoreError({ operation: 'load', sessionId: session }),
})

/** Runs the prepared turns; returns what the terminal showed, and the inputs of the engine. */
async function shown(turns: readonly (readonly FlowStreamEvent[])[]): Promise<{ text: string; sessions: unknown[] }> {
  const sessions: unknown[] = []
  let text = ''
  const engine = {
    async *stream({ sessionId }: FlowRunInput) {
      yield* turns[sessions.length] ?? []
      sessions.push(sessionId)
    },
  }
  await talk(engine as unknown as FlowEngine, 'Desk', {
    lines: (async function* () {
      for (const [index] of turns.entries()) yield `line ${index}`
    })(),
    write: (piece) => {
      text += piece
    },
  })
  return { text, sessions }
}

test('continues in the session of a result, because a stopped turn has not stored one', async () => {
  const { sessions } = await shown([
    [{ type: 'session', session: 'never-stored' }],
    [{ type: 'session', session: 'a' }, reply('Hi.', 'a')],
    [{ type: 'session', session: 'a' }, reply('Hi.', 'a')],
  ])
  expect(sessions).toEqual(['', '', 'a'])
})

test('keeps its session over failures, unless they end it', async () => {
  const { sessions } = await shown([
    [reply('Hi.', 'a')],
    [failure('a', 'running')],
    [failure('a', 'unknown')],
    [failure('', 'unknown')],
    [failure('a', 'aborted')],
    [failure('b', 'running')],
    [failure('b', 'none')],
    [reply('Hi.', 'c')],
  ])
  expect(sessions).toEqual(['', 'a', 'a', 'a', 'a', '', 'b', ''])
})

test('shows the text of a model as text, without any command of a terminal', async () => {
  const { text } = await shown([
    [
      { type: 'text-delta', text: 'One\n\u001b]0;title\u0007\u001b[2J' },
      { type: 'text-delta', text: 'two.\r\u009b31m' },
      reply('One\ntwo.', 'a'),
    ],
    [reply('\u001b[31mwhole', 'a')],
  ])
  expect(text).toBe('> One\n]0;title[2Jtwo.31m\n> [31mwhole\n> ')
})
