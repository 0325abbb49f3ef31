/** Runs docs/rich-replies.md: its flow with its tests. Its channel is the one of the example. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Page } from './page.js'

const page = new Page('rich-replies')

page.write('repair.ts', page.text('class Repair'))
page.runTests('repair.test.ts', page.block('new Conversation(Repair'))

test('the channel of the page is the one that the tests of the example run', () => {
  const example = new URL('../../../examples/whatsapp/channel.ts', import.meta.url)
  expect(page.text('engine.execute(input)')).toBe(readFileSync(example, 'utf8'))
})

page.testThatAllAreUsed()
