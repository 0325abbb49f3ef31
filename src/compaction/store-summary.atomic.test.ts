// Kills, races and store failures at any moment of a compaction: the stored document is that of
// before or of after, complete.
import { afterEach, expect, test } from 'vitest'
import { answerOf, hasWholePairs, startTalk, summaryModel, type Talk } from '../../testing/contract/compaction-talk.js'
import { expectNothingLeft } from '../../testing/contract/engine-harness.js'
import type { ModelRequest, ModelResponse, SessionDocument } from '../index.js'
import { rollingSummary } from './index.js'

afterEach(expectNothingLeft)

const Chat = rollingSummary({ above: 8, keep: 2, model: summaryModel })

/** A session whose next turn makes its memory too long. */
async function aboutToCompact(): Promise<Talk> {
  const talk = startTalk({ Chat })
  talk.answer = repeat
  await talk.say('note 1')
  await talk.sayTurns(2, 2)
  return talk
}

/** A summary that repeats the whole transcript, so that a text that is missing later was lost. */
async function repeat({ messages }: ModelRequest): Promise<ModelResponse> {
  const [part] = messages[0]?.parts ?? []
  await ticks(30)
  return answerOf(part?.type === 'text' ? part.text : '')
}

/** Lets a few promises settle. */
async function ticks(count: number): Promise<void> {
  for (let tick = 0; tick < count; tick++) await undefined
}

/**
 * What is wrong with a stored document: each turn of its history must be in its memory, as messages or in a summary.
 */
function problemsOf({ history, flow, ...document }: SessionDocument): string[] {
  const problems = hasWholePairs({ history, flow, ...document }) ? [] : ['a call without its result']
  const messages = flow.memory.Chat?.messages ?? []
  const memory = JSON.stringify(messages)
  for (const { message, reply } of history) {
    for (const text of [message, reply]) if (!memory.includes(text)) problems.push(`'${text}' is lost`)
  }
  if (messages.slice(1).some(({ summary }) => summary === true)) problems.push('a summary in the middle')
  if (messages[0]?.summary === true && messages[1]?.role !== 'user') problems.push('a beginning without the user')
  return problems
}

test('a process that is killed at any moment leaves one of three documents, and another process can continue', async () => {
  const talk = await aboutToCompact()
  const moments: Map<string, SessionDocument>[] = [new Map(talk.backing)]
  const saying = talk.say('4')
  for (let tick = 0; tick < 300; tick++) {
    await ticks(1)
    const current = talk.backing.get(talk.sessionId)
    if (moments.at(-1)?.get(talk.sessionId) !== current) moments.push(new Map(talk.backing))
  }
  await saying
  const lengths: number[] = []
  for (const backing of moments) {
    const next = startTalk({ Chat }, { backing })
    next.sessionId = talk.sessionId
    lengths.push((await next.memory()).length)
    expect(problemsOf(await next.document(talk.sessionId))).toEqual([])
    await next.sayTurns(1, 9)
    expect((await next.document(talk.sessionId)).history.at(-1)).toMatchObject({ message: '9', reply: 'Re: 9' })
  }
  expect(lengths).toEqual([8, 10, 3])
})

test('a turn of another process at any moment is not lost, and loses nothing', async () => {
  const outcomes = new Set<string>()
  for (let tick = -20; tick < 100; tick++) {
    const talk = await aboutToCompact()
    const other = startTalk({}, { backing: talk.backing })
    other.sessionId = talk.sessionId
    const run = async (late: number, who: Talk, text: string): Promise<string> => {
      await ticks(late)
      return who.say(text).then(
        () => text,
        ({ code }) => code,
      )
    }
    const said = await Promise.all([run(-tick, talk, '4'), run(tick, other, 'elsewhere')])
    await talk.clock.settle()
    const document = await talk.document(talk.sessionId)
    const messages = document.history.map(({ message }) => message)
    expect(messages.sort()).toEqual(['note 1', '2', '3', ...said.filter((text) => text !== 'SESSION_CONFLICT')].sort())
    expect(problemsOf(document)).toEqual([])
    outcomes.add([...said, ...talk.told().map(([name]) => name)].join(', '))
  }
  expect([...outcomes].sort()).toEqual([
    // A conflict of the two turns, so that no summary was due; a conflict of the summary; or none.
    '4, SESSION_CONFLICT, memory:compacted',
    '4, elsewhere, memory:compacted',
    '4, elsewhere, memory:compaction-failed',
    'SESSION_CONFLICT, elsewhere',
  ])
})

test('a store that fails in any way in any call leaves the document of before or of after', async () => {
  const effects = [
    'fail-before',
    'fail-after',
    'throw',
    'hang-before',
    'hang-after',
    'rival-write',
    'rival-delete',
  ] as const
  const lengths = new Set<number>()
  for (const operation of ['load', 'save'] as const) {
    for (const effect of effects) {
      for (let nth = 1; nth <= 4; nth++) {
        const talk = await aboutToCompact()
        const where = `${effect} of ${operation} ${nth}`
        talk.store.inject({ operation, effect, nth })
        // A second fault, for the read that follows a save whose outcome is unknown.
        talk.store.inject({ operation: 'save', effect: 'fail-after', nth: 2 })
        const saying = talk.say('4').catch(() => undefined)
        await talk.clock.advance(60_000)
        await saying
        talk.store.heal()
        const isGone = talk.backing.size === 0
        expect([where, isGone && effect !== 'rival-delete']).toEqual([where, false])
        // The session was deleted, or a new one was created instead.
        if (effect === 'rival-delete') continue
        const document = await talk.document(talk.sessionId)
        expect([where, problemsOf(document)]).toEqual([where, []])
        lengths.add(document.flow.memory.Chat?.messages.length ?? 0)
        if (document.runStatus !== 'running') continue
        await talk.sayTurns(3, 5)
        const later = await talk.document(talk.sessionId)
        expect([where, later.history.length >= 6, problemsOf(later)]).toEqual([where, true, []])
      }
    }
  }
  expect([...lengths].sort()).toEqual([10, 3, 8])
})
