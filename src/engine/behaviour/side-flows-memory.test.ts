/** Models and memories around calls: what later steps read, what begins anew, and summaries that are being written. */
import { afterEach, describe, expect, test } from 'vitest'
import { answerOf, startTalk, summaryModel } from '../../../testing/contract/compaction-talk.js'
import { expectNothingLeft, gate } from '../../../testing/contract/engine-harness.js'
import { type Acts, calls, modelHarness } from '../../../testing/contract/model-harness.js'
import { flow, modelStep, step, talk } from '../../../testing/contract/side-flows/talk.js'
import { lines } from '../../../testing/contract/test-flows.js'
import { rollingSummary } from '../../compaction/index.js'
import { back, call, type FlowConstructor, finish, go, LogicStep, reply, type Turn, tool } from '../../index.js'

afterEach(expectNothingLeft)

const small = () => ({ provider: 'own', name: 'small' })
const Hours = step('Hours', () => back().withLead('From 9 to 5.'))
const isAboutHours = ({ message }: Turn) => (/open/.test(message) ? call('Hours') : undefined)
const picture = { attachments: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }] } as const

function talkWith(of: FlowConstructor, acts: Acts) {
  const made = modelHarness(acts, { flows: [of] })
  const spoken = talk(of, { made })
  const memory = async (namespace: string) => lines((await spoken.now()).flow.memory[namespace]?.messages)
  return { ...spoken, made, memory }
}

describe('a model step that the step moves to which was returned to', () => {
  const answered = 'user: Returned from Hours: From 9 to 5.'

  test('does not get the question in between, nor its file, if a tool moves there', async () => {
    const next = tool({ name: 'next', description: 'Goes on.', execute: () => go('Confirm') })
    const steps = [modelStep('Chat', { tools: () => [next] }), modelStep('Confirm'), Hours]
    const { say, memory } = talkWith(flow('Shop', steps, { model: small, onMessage: isAboutHours }), {
      'own/small': ['Size?', calls('next'), 'Shall I send it?'],
    })
    await say('A shirt.')
    expect(await say('Are you open?', picture)).toBe('From 9 to 5.\n\nShall I send it?')
    expect(await memory('Confirm')).toEqual([answered, 'assistant: Shall I send it?'])
  })

  test.each<[string, LogicStep['run']]>([
    ['go', () => go('Confirm')],
    ['call', () => call('Confirm')],
  ])('does not get it either from a logic step, by %s', async (_verb, move) => {
    const Caller = step('Caller', (turn) => (turn.returned ? move(turn) : reply('Caller?')))
    const steps = [Caller, modelStep('Confirm'), Hours]
    const { say, memory, open } = talkWith(flow('Shop', steps, { model: small, onMessage: isAboutHours }), {
      'own/small': ['Shall I send it?', 'Sent.'],
    })
    await say('hello')
    expect(await say('Are you open?', picture)).toBe('From 9 to 5.\n\nShall I send it?')
    expect(await memory('Confirm')).toEqual([answered, 'assistant: Shall I send it?'])
    expect(await open()).toMatch(/Confirm$/)
    // The next message is for it.
    await say('yes')
    expect((await memory('Confirm')).slice(2)).toEqual(['user: yes', 'assistant: Sent.'])
  })
})

describe('a called flow', () => {
  test('begins with fresh memories of its logic steps, too', async () => {
    class Note extends LogicStep {
      static override readonly id = 'Note'
      override readonly memory = 'notes'
      override run({ entered, message }: Turn) {
        return entered ? reply('Note?') : message === 'end' ? finish('Noted.') : reply(`${message}, and?`)
      }
    }
    const inner = flow('Inner', [Note])
    const Chat = step('Chat', ({ entered }) => (entered ? reply('Chat?') : call(inner)))
    const { say, now } = talk(flow('Shop', [Chat, inner]))
    const notes = async () => lines((await now()).flow.memory.notes?.messages)
    for (const message of ['hello', 'in', 'milk']) await say(message)
    expect(await notes()).toEqual(['user: in', 'assistant: Note?', 'user: milk', 'assistant: milk, and?'])
    for (const message of ['end', 'in again']) await say(message)
    expect(await notes()).toEqual(['user: in again', 'assistant: Note?'])
  })

  test('offers its tools before those of the step, and those of the flow around it last', async () => {
    const named = (name: string) => tool({ name, description: name, execute: () => reply(name) })
    const inner = flow('Inner', [modelStep('Ask', { tools: () => [named('step')] })], { tools: () => [named('inner')] })
    const Chat = step('Chat', ({ entered }) => (entered ? reply('Chat?') : call(inner)))
    const of = flow('Shop', [Chat, inner], { model: small, tools: () => [named('outer')] })
    const { say, made } = talkWith(of, { 'own/small': ['Well?'] })
    await say('hello')
    await say('in')
    expect(made.asked[0]?.request.tools.map(({ name }) => name)).toEqual(['inner', 'step', 'outer'])
  })
})

test.each<[string, number]>([
  ['a call opens', 1],
  ['a call opens and returns', 2],
])('a summary that is being written while %s is stored, and its cost counts', async (_what, turns) => {
  const note = tool({ name: 'note', description: 'Asks.', execute: () => call('Side') })
  const Side = step('Side', ({ entered }) => (entered ? reply('Side?') : back()))
  const policy = rollingSummary({ above: 6, keep: 2, model: summaryModel })
  const spoken = startTalk({ Chat: policy }, { steps: [modelStep('Chat', { tools: () => [note] }), Side] })
  const held = gate()
  spoken.answer = async () => {
    await held.opened
    return answerOf('sum')
  }
  await spoken.sayTurns(3)
  await spoken.say('4')
  expect(spoken.asked).toHaveLength(1)
  const versions: number[] = []
  for (const message of ['note it', 'back'].slice(0, turns)) {
    versions.push((await spoken.document(spoken.sessionId)).version)
    await spoken.say(message)
  }
  const { version, usage } = await spoken.document(spoken.sessionId)
  expect([...versions, version]).toEqual([2, 3, 2].slice(0, turns + 1))
  held.open()
  await spoken.clock.settle()
  await spoken.engine.settled()
  expect(spoken.told().map(([name]) => name)).toEqual(['memory:compacted'])
  expect((await spoken.memory()).slice(0, 3)).toEqual([expect.stringContaining('sum'), 'user: 4', 'assistant: Re: 4'])
  const after = (await spoken.document(spoken.sessionId)).usage
  expect([after.modelCalls - usage.modelCalls, after.inputTokens - usage.inputTokens]).toEqual([1, 100])
})
