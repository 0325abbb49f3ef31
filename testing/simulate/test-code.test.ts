import { expect, test } from 'vitest'
import { testCode } from './test-code.js'

test('a second engine has the models and the luck of the conversation', () => {
  const together = { kind: 'together', said: ['a', 'b'], elsewhere: true, delays: [0, 0, 0, 0] } as const
  const options = {
    flow: 'Talk',
    script: [{ failure: 503 }, 'Hello.'],
    given: [],
    hasStore: false,
    broken: 'So.',
  }
  const lines = (providers: readonly string[]) => testCode([together], { ...options, providers }).split('\n')
  expect(lines(['openai'])).toEqual([
    "const conversation = new Conversation(Talk, { script: [{ failure: 503 }, 'Hello.'] })",
    'await conversation.open()',
    "const elsewhere = new FlowEngine({ flows: [Talk], sessionStore: conversation.store, clock: conversation.clock, providers: [{ provider: 'openai', resolve: () => conversation.model }], random: () => 0.5 })",
    'await conversation.clock.runUntil(',
    '  Promise.all([',
    "    conversation.engine.execute({ flowName: Talk.id, userMessage: 'a', sessionId: conversation.sessionId }),",
    "    elsewhere.execute({ flowName: Talk.id, userMessage: 'b', sessionId: conversation.sessionId }),",
    '  ]),',
    ')',
    '// So.',
  ])
  expect(lines([])[2]).toBe(
    'const elsewhere = new FlowEngine({ flows: [Talk], sessionStore: conversation.store, clock: conversation.clock })',
  )
})

test('a second engine has what the simulation was given', () => {
  const together = { kind: 'together', said: ['a', 'b'], elsewhere: true, delays: [0, 0, 0, 0] } as const
  const given = ['services', 'tools', 'limits', 'onTurnError', 'config', 'owner']
  const options = { flow: 'Talk', script: [], providers: [], given, hasStore: false, broken: 'So.' }
  const lines = testCode([together], options).split('\n')
  expect(lines[0]).toBe(
    'const conversation = new Conversation(Talk, { services, tools, limits, onTurnError, config, owner })',
  )
  expect(lines[2]).toBe(
    'const elsewhere = new FlowEngine({ flows: [conversation.tools.replaceIn(Talk)], sessionStore: conversation.store, clock: conversation.clock, services, limits, onTurnError })',
  )
  expect(lines[6]).toBe(
    "    elsewhere.execute({ flowName: Talk.id, userMessage: 'b', sessionId: conversation.sessionId, config, owner }),",
  )
})
