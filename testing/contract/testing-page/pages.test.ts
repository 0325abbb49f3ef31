/** Every page on testing is run, by a test of its name in this folder. */
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { Page, pagesOnTesting } from './page.js'

const page = new Page('testing-retries')

test('every page on testing has a test that runs it', () => {
  expect(pagesOnTesting).toEqual(expect.arrayContaining(['scenarios', 'testing', 'testing-coverage-and-simulation']))
  const tests = readdirSync(fileURLToPath(new URL('.', import.meta.url)))
  expect(pagesOnTesting.filter((name) => !tests.includes(`${name}.test.ts`))).toEqual([])
})

test('a block that no test takes is named with its page and line, and so is one that is not there', () => {
  page.block('a reply is lost, and the client sends the message again')
  expect(page.unused()).toEqual([expect.stringMatching(/^docs\/testing-retries\.md:\d+ \(text\)$/)])
  expect(() => page.block('no block has this')).toThrow('0 blocks of the page have "no block has this".')
})

test('a block is left out with a reason, and a test that it is left to exists', () => {
  const part = 'a reply is lost, and the client sends the message again'
  expect(() => page.leaveOut(part, '')).toThrow('is left out without a reason.')
  expect(() => page.leaveOut(part, 'testing/contract/msw/none.test.ts runs it.')).toThrow(
    /^docs\/testing-retries\.md:\d+ is left to testing\/contract\/msw\/none\.test\.ts, which does not exist\.$/,
  )
  expect(() => page.leaveOut(part, 'testing/contract/msw/node.test.ts runs it.')).not.toThrow()
})
