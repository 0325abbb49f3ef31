/** Runs docs/testing-retries.md: its program, and the transcript of a message that is sent again. */
import type { FlowConstructor } from 'turnkeeper'
import { Conversation, retryAs } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { Page } from './page.js'

const page = new Page('testing-retries')
const program = page.block('a reply is lost, and the client sends the message again')
page.runTests('retries.test.ts', program)

test('the transcript has the turn and its repeat', async () => {
  const [flow = ''] = program.text.split('// The tests.\n')
  const { Desk } = await page.load<{ Desk: FlowConstructor }>('desk.ts', `${flow}export { Desk }\n`)
  await using conversation = new Conversation(Desk)
  await conversation.say('Hello')
  await conversation.say('Refund A-1', { key: 'refund', fault: retryAs('same-key') })
  expect(conversation.transcript()).toContain(page.text('(the reply was lost)'))
})

page.testThatAllAreUsed()
