// What the recorder keeps beside what a session keeps: the prompts of calls without an end, long payloads, and costs.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { event, reply } from '../../../src/index.js'
import { gate, never } from '../../contract/engine-harness.js'
import { deskOf, say, Talk, useStudios } from '../../contract/studio/line-harness.js'
import type { ModelScript } from '../../scripted-model/scripted-model.js'

const studios = useStudios()

test('a call that ignores that its turn was stopped shows its prompt, without an answer', async () => {
  const { opened, open } = gate()
  let isFirst = true
  const script = (): string | Promise<never> => {
    if (!isFirst) return 'Hello!'
    isFirst = false
    open()
    return never()
  }
  const line = studios.open(Talk, { script }).begin('Talk')
  const turn = line.send({ text: 'Are you there?' })
  await opened
  await line.stop()
  await turn
  await say(line, 'And now?')
  const [stopped, next] = line.turns.map(({ models }) => models)
  const asked = { provider: 'any', model: 'small', step: 'Ask' }
  expect(stopped).toMatchObject([{ ...asked, messages: [{ parts: [{ text: 'Are you there?' }] }] }])
  expect(stopped?.[0]).not.toHaveProperty('answer')
  expect(next).toMatchObject([{ ...asked, answer: [{ text: 'Hello!' }], inputTokens: 0 }])
  expect(next).toHaveLength(1)
})

test('an event has its payload, though it is too long for the history', async () => {
  const note = () => [event({ name: 'note', input: z.string(), execute: () => reply('Noted.') })]
  const line = studios.open(deskOf(() => reply(''), note)).begin('Shop')
  await say(line, 'Hello')
  const payload = 'long '.repeat(1000)
  expect(await line.sendEvent({ name: 'note', payload, by: 'Ada' })).toBeUndefined()
  expect(line.turns.at(-1)?.input.event).toEqual({ name: 'note', payload, by: 'Ada' })
  expect(JSON.stringify(line.document?.history)).not.toContain('long')
})

test('a call of a model with prices has its cost', async () => {
  const script: ModelScript = () => ({ text: 'Hello!', usage: { inputTokens: 3, outputTokens: 5 } })
  const models = [{ provider: 'any', name: 'small', prices: { input: 1_000_000, output: 2_000_000 } }]
  const line = studios.open(Talk, { script, models }).begin('Talk')
  await say(line, 'Hello')
  expect(line.turns[0]?.models).toMatchObject([{ inputTokens: 3, outputTokens: 5, cost: 13 }])
})
