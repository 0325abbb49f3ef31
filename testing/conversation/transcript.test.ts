import { expect, test } from 'vitest'
import { EndStep, Flow, LogicStep, reply, type Turn } from '../../src/index.js'
import { AskName, capture, Onboarding } from '../contract/onboarding.js'
import { Conversation } from './conversation.js'

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
