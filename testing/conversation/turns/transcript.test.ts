import { expect, test } from 'vitest'
import { EndStep, Flow, LogicStep, reply, type Turn } from '../../../src/index.js'
import { AskName, capture, Onboarding } from '../../contract/onboarding.js'
import { Conversation } from '../conversation.js'

class Report extends LogicStep {
  static override readonly id = 'Report'
  override run(turn: Turn) {
    if (turn.message === 'pdf') return reply('JVBERg==').withContentType('application/pdf', { encoding: 'base64' })
    return turn.message === 'csv' ? reply('a,b\n\n1,2').withContentType('text/csv') : reply('In which form?')
  }
}
class Closing extends EndStep {
  static override readonly id = 'Closing'
}
class Reports extends Flow {
  static override readonly id = 'Reports'
  override steps() {
    return [Report, Closing]
  }
}

test('what is not plain text is shown with its type, and bytes by their number', async () => {
  await using conversation = new Conversation(Reports)
  for (const form of ['csv', 'pdf']) await conversation.say(form)
  expect(conversation.transcript()).toMatchInlineSnapshot(`
    "# Reports

    ## Turn 1

    User: csv

    - enters Report

    Reply (text/csv): a,b

      1,2

    Now at Report.

    ## Turn 2

    User: pdf

    Reply: application/pdf, 8 characters of base64

    Now at Report.
    "
  `)
})

test('calls without a result are those of a turn that failed', async () => {
  class Broken extends AskName {
    override tools() {
      return super.tools().map((offered) => ({
        ...offered,
        execute: () => {
          throw new Error('The tool broke.')
        },
      }))
    }
  }
  class BrokenOnboarding extends Onboarding {
    override steps() {
      return [Broken]
    }
  }
  await using conversation = new Conversation(BrokenOnboarding, { script: [capture('Ada Lovelace')] })
  await conversation.say('Ada Lovelace')
  conversation
    .expectError('TOOL_ERROR', 'The tool broke.')
    .expectToolCalls([{ name: 'capture_name', output: undefined }])
  expect(conversation.transcript()).toMatchInlineSnapshot(`
    "# Onboarding

    ## Turn 1

    User: Ada Lovelace

    - enters AskName
    - calls capture_name {"name":"Ada Lovelace"}

    Failed with TOOL_ERROR: The tool broke.
    "
  `)
})

test('an attempt of a model that took too long is shown, as its reply is dropped', async () => {
  await using conversation = new Conversation(Onboarding, {
    script: [
      { delayMs: 60_000, text: 'Who are you?' },
      { failure: 503 },
      'What is your name?',
      { text: 'Hm?', stallAfter: 0 },
      'And the last one?',
    ],
  })
  await conversation.say('Hello')
  await conversation.stream('Ada').reply()
  expect(conversation.transcript()).toMatchInlineSnapshot(`
    "# Onboarding

    ## Turn 1

    User: Hello

    - enters AskName
    - attempt 1 of the model: no answer within modelTimeoutMs (60000 ms)

    Reply: What is your name?

    Now at AskName.

    ## Turn 2

    User: Ada

    - attempt 1 of the model: no answer within modelTimeoutMs (60000 ms)

    Reply: And the last one?

    Now at AskName.
    "
  `)
})

test('a provider that ignores its signal is shown as one that took too long, and an ended turn is not', async () => {
  class Slow extends AskName {
    override readonly modelTimeoutMs = 20_000
  }
  class SlowOnboarding extends Onboarding {
    override steps() {
      return [Slow]
    }
  }
  let attempts = 0
  const generate = () => new Promise<never>(() => attempts++)
  const provider = { provider: 'openai', resolve: () => ({ provider: 'openai', name: 'gpt-5-mini', generate }) }
  await using conversation = new Conversation(SlowOnboarding, {
    providers: [provider],
    limits: { turnTimeoutMs: 30_000 },
  })
  await conversation.open()
  const saying = conversation.say('Hello')
  await conversation.advance(31_000)
  await saying
  conversation.expectError('TURN_TIMEOUT')
  expect(attempts).toBe(2)
  expect(conversation.transcript()).toMatchInlineSnapshot(`
    "# Onboarding

    ## Turn 1

    User: Hello

    - enters AskName
    - attempt 1 of the model: no answer within modelTimeoutMs of step 'AskName' (20000 ms)

    Failed with TURN_TIMEOUT: The turn took longer than the limit turnTimeoutMs (30000 ms).
    "
  `)
})
