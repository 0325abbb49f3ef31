/** Runs docs/rich-replies.md: its flow with its tests, and its form. Its channel is the one of the example. */
import { readFileSync } from 'node:fs'
import { Flow, type StepConstructor } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
import { expect, test } from 'vitest'
import { Page } from './page.js'

const page = new Page('rich-replies')

page.write('repair.ts', page.text('class Repair'))
page.runTests('repair.test.ts', page.block('new Conversation(Repair'))

test('the form of the page is shown and sent', async () => {
  type Exports = { readonly AskAddress: StepConstructor }
  const { AskAddress } = await page.load<Exports>('address.ts', page.text('class AskAddress'))
  class Delivery extends Flow {
    static override readonly id = 'Delivery'
    override steps() {
      return [AskAddress]
    }
  }
  await using conversation = new Conversation(Delivery)
  await conversation.say('Hello')
  conversation.expectReply('Your address?').expectParts([{ type: 'form', name: 'address' }])
  await conversation.sendEvent('address', { street: 'Mill Lane', zip: '12345' })
  conversation.expectReply('To Mill Lane.').expectCompleted()
})

test('the channel of the page is the one that the tests of the example run', () => {
  const example = new URL('../../../examples/whatsapp/channel.ts', import.meta.url)
  expect(page.text('engine.execute(input)')).toBe(readFileSync(example, 'utf8'))
})

page.testThatAllAreUsed()
