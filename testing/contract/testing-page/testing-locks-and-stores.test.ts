/** Runs docs/testing-locks-and-stores.md. */
import { Page } from './page.js'

const page = new Page('testing-locks-and-stores')
page.runTests('locks-and-stores.test.ts', page.block('messages of one session run one after the other'))
page.testThatAllAreUsed()
