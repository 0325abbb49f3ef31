/** Proves the table of `docs/failures.md`, row by row, and that the page has these rows. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test } from 'vitest'
import type { SessionDocument } from '../../../src/index.js'
import { expectNothingLeft } from '../engine-harness.js'
import { type FailureRow, type Fate, failureRows } from './failure-rows.js'
import { type FailureMode, type FailureWorld, failureWorld, type Seen, turnId, ways } from './failure-world.js'

afterEach(expectNothingLeft)

const modes = (['abort', 'rollback'] as const).flatMap((onTurnError) =>
  (['full', 'flow'] as const).map((errorText): FailureMode => ({ onTurnError, errorText })),
)

/** What is the same before and after a rollback. */
function withoutError({
  revision: _revision,
  savedAt: _savedAt,
  error: _error,
  usage: _usage,
  ...rest
}: SessionDocument) {
  return JSON.stringify(rest)
}

async function expectFate(fate: Fate, world: FailureWorld, before: SessionDocument, text: string): Promise<void> {
  const after = await world.document(world.session)
  if (fate === 'aborted' || fate === 'rolled back') {
    const runStatus = fate === 'aborted' ? 'aborted' : 'running'
    expect(after).toMatchObject({ runStatus, error: [text], revision: expect.stringMatching(/^2-/) })
    expect(withoutError({ ...after, runStatus: 'running' })).toBe(withoutError(before))
  } else if (fate === "the other request's") expect(after).toEqual({ ...before, revision: '9-theirs' })
  else expect(JSON.stringify(after)).toBe(JSON.stringify(before))
}

function expectSeen(seen: Seen, row: FailureRow, way: string, state: string, text: string, session: string): void {
  expect(seen.response).toEqual({
    success: false,
    completed: true,
    message: text,
    session,
    contentType: 'text/plain',
  })
  if (seen.headers === undefined) expect([seen.state, seen.code]).toEqual([state, row.code])
  else expect(seen.headers).toEqual({ state, error: row.code })
  if (seen.status !== undefined) expect(seen.status).toBe(row.status[way.includes('precise') ? 'precise' : 'contract'])
}

describe.each(failureRows)('$failure', (row) => {
  describe.each(Object.entries(ways))('through %s', (way, sendTo) => {
    test.each(modes)('$onTurnError, $errorText', async (mode) => {
      const world = await failureWorld(mode)
      const { session, backing } = world
      const before = await world.document(session)
      const text = row.text[mode.errorText].replace('<id>', session).replace('<turn>', turnId)
      const state = row.state[mode.onTurnError]
      const seen = await row.run(world, sendTo(world))
      await world.clock.settle()
      world.store.heal()
      await expectFate(row.session[mode.onTurnError], world, before, text)
      expectSeen(seen, row, way, state, text, session)

      // The client sends the ID again unless the session has ended: by the next process, if there is one.
      const next = row.code === 'ENGINE_CLOSED' ? await failureWorld(mode, backing) : world
      const answer = await next.engine.run({ flowName: 'Shop', userMessage: 'hello', sessionId: session })
      expect(answer).toMatchObject({ success: true, message: 'You said: hello' })
      expect(answer.session === session).toBe(state !== 'aborted')
    })
  })
})

describe('docs/failures.md', () => {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/failures.md', import.meta.url)), 'utf8')
  const code = (text: string): string => `\`${text}\``
  const both = ({ abort, rollback }: { readonly abort: string; readonly rollback: string }, show = code): string =>
    abort === rollback ? show(abort) : `${show(abort)}, ${show(rollback)}`

  /** The cell for `errorText: 'flow'`: above the table, the page has both sentences. */
  const ofFlow = ({ full, flow }: FailureRow['text']): string | undefined =>
    flow === full ? 'the same text' : cellOfSentence.get(flow)
  const cellOfSentence = new Map([
    ['Something went wrong.', 'no reference'],
    ['Something went wrong. Reference: <turn>.', 'reference'],
  ])

  test('has these rows, and no others', () => {
    const rows = failureRows.map(
      ({ failure, code: errorCode, status, session, state, text }) =>
        `| ${failure} | ${code(errorCode)} | ${status.precise} | ${session.abort} | ${session.rollback} | ${both(state)} | ${text.full.replaceAll(/<\w+>/g, code)} | ${ofFlow(text)} |`,
    )
    const found = page.split('\n').filter((line) => /^\|.*\| `[A-Z_]+` \|/.test(line))
    expect(found).toEqual(rows)
  })
})
