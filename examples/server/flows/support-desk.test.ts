/** The support desk with its local model: what the tools do, what the model is told, and what the user sees. */
import type { FlowEngine } from 'turnkeeper'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createApplication } from '../application.js'
import { talkTo } from '../checks/talk.js'

let engine: FlowEngine

beforeEach(async () => {
  engine = await createApplication()
})

afterEach(() => engine.close())

/** What the tools of the last turn answered. */
async function lastResults(sessionId: string) {
  const messages = (await engine.getSession(sessionId))?.flow.memory.desk?.messages ?? []
  const lastTurn = messages.at(-1)?.turn
  return messages
    .filter(({ turn }) => turn === lastTurn)
    .flatMap(({ parts }) => parts)
    .filter((part) => part.type === 'tool-result')
}

test('looks an order up', async () => {
  const say = talkTo(engine, 'SupportDesk')
  expect((await say('Hello')).message).toBe('I can find an order, track a parcel or take a return. What is it about?')
  const found = await say('What is in order FK-1063?')
  expect(found.message).toBe('Order FK-1063 is being packed: green glaze cup and boston fern.')
  expect(await lastResults(found.session)).toEqual([
    {
      type: 'tool-result',
      toolCallId: 'call-2-1',
      toolName: 'look_up_order',
      output: { orderNumber: 'FK-1063', items: ['green glaze cup', 'boston fern'], state: 'being packed' },
    },
  ])
})

test('arguments that do not fit go back to the model, and the conversation goes on', async () => {
  const say = talkTo(engine, 'SupportDesk')
  const refused = await say('I ask about order 17')
  expect(refused).toMatchObject({
    success: true,
    completed: false,
    message: 'That did not work. Invalid arguments: orderNumber: An order number looks like FK-1042',
  })
  expect((await say('FK-9999')).message).toBe('That did not work. There is no order FK-9999.')
  expect((await say('FK-1042')).message).toMatch(/^Order FK-1042 is delivered/)
})

test('takes a return over two steps that share one memory', async () => {
  const say = talkTo(engine, 'SupportDesk')
  expect((await say('I want to return something')).message).toBe('What is the order number? It looks like FK-1042.')
  const opened = await say('FK-1042')
  expect(opened.message).toBe('Gladly. Which item goes back, and why?')
  expect(await engine.getSession(opened.session)).toMatchObject({
    flow: { currentStep: 'TakeReturn', steps: { TakeReturn: { state: { orderNumber: 'FK-1042' } } } },
  })
  expect((await say('the kettle')).message).toBe('Which item goes back: cast iron teapot or maidenhair fern?')
  expect((await say('the fern')).message).toBe(
    'Why does the maidenhair fern go back: damaged, wrong item, or changed your mind?',
  )
  const recorded = await say('The fern was the wrong one')
  expect(recorded.message).toBe(
    'Return R-1 is open: maidenhair fern, wrong item. The label is in your mail. Anything else?',
  )
  expect(await say('No, thank you')).toMatchObject({
    completed: true,
    message: 'Thank you for writing to Fern & Kettle. Goodbye!',
  })
  const stored = await engine.getSession(opened.session)
  expect(Object.keys(stored?.flow.memory ?? {})).toEqual(['desk'])
  expect(stored?.usage.modelCalls).toBe(7)
})

test('an order that is not delivered is not taken back', async () => {
  const say = talkTo(engine, 'SupportDesk')
  expect((await say('I return FK-1057')).message).toBe(
    'That did not work. Order FK-1057 is on its way; only delivered ones go back.',
  )
})

test('a promise never reaches the user, and the model is told why', async () => {
  const retries: number[] = []
  engine.on('model:retry', ({ callNumber }) => retries.push(callNumber))
  const say = talkTo(engine, 'SupportDesk')
  const { message, session } = await say('I want a refund')
  expect(message).toBe('Refunds are decided by the accounts team within five working days.')
  expect(retries).toEqual([1])
  expect(JSON.stringify((await engine.getSession(session))?.history)).not.toContain('money back')
})

test('a carrier that is down fails the turn with its own words, and the session is kept as aborted', async () => {
  await engine.close()
  engine = await createApplication({
    parcels: { locate: () => Promise.reject(new Error('The carrier answered with status 503.')) },
  })
  const say = talkTo(engine, 'SupportDesk')
  const failed = await say('Where is FK-1057?')
  expect(failed).toMatchObject({ success: false, message: 'The carrier answered with status 503.' })
  expect(await engine.getSession(failed.session)).toMatchObject({
    runStatus: 'aborted',
    error: ['The carrier answered with status 503.'],
  })
})

test('the local provider refuses a model it does not have', () => {
  expect(() => engine.validateModel({ provider: 'local', name: 'desk-9', params: {} })).toThrow(
    "There is no local model 'desk-9', only 'desk-1'.",
  )
})
