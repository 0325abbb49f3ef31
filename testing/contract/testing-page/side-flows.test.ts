/** Runs docs/side-flows.md: its flows, and their tests. */
import '../../../src/engine/waiting/index.js' // Otherwise the first call compiles it, while a conversation waits.
import { Page } from './page.js'

const page = new Page('side-flows')

page.write('shop.ts', page.text('class Shop'))
page.runTests('shop.test.ts', page.block('new Conversation(Shop'))
page.testThatAllAreUsed()
