/**
 * Runs docs/testing-models.md: its programs, the second with the meanings that were recorded,
 * and a script that runs out.
 */
import { readFileSync } from 'node:fs'
import type { FlowConstructor } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { failureOf, Page } from './page.js'

const page = new Page('testing-models')
const program = page.block('a user sees the answer grow')
page.runTests('models.test.ts', program)

page.write('desk.meanings.json', readFileSync(new URL('./desk.meanings.json', import.meta.url), 'utf8'))
page.runTests('meaning.test.ts', page.block('desk.meanings.json'))

test('a script that runs out names the attempt', async () => {
  const [flows = ''] = program.text.split(/^test\(/m)
  const { Chat } = await page.load<{ Chat: FlowConstructor }>('chat.ts', `${flows}export { Chat }\n`)
  const conversation = new Conversation(Chat, { script: [{ failure: 503 }] })
  const failure = await failureOf(() => conversation.say('Hello'))
  expect(failure).toContain(page.text('The model was asked once more').trim())
  await conversation.close().catch(() => undefined)
})

page.testThatAllAreUsed()
