import { describe, expect, test } from 'vitest'
import { findCitedIds, findSharedBodies } from './cited-ids.js'

describe('findCitedIds', () => {
  test.each([
    ['a title', "test('[4.1-3] fails', run)", ['4.1-3']],
    ['several ids in one bracket', "test('[4.1-3 7.3-1] fails', run)", ['4.1-3', '7.3-1']],
    ['several brackets', "it('[1-1] and [3-2]', run)", ['1-1', '3-2']],
    ['double quotes', 'test("[2.1-5] new", run)', ['2.1-5']],
    ['a template without values', 'test(`[2.1-5] new`, run)', ['2.1-5']],
    ['a template with values', 'test(`[2.1-5] ${name} [2.1-1]`, run)', ['2.1-5', '2.1-1']],
    ['test.each', "test.each(rows)('[4.7-1] %s', run)", ['4.7-1']],
    ['test.each with a template table', "test.each`a\n${1}`('[4.7-1] $a', run)", ['4.7-1']],
    ['test.for', "test.for(rows)('[4.7-2] %s', run)", ['4.7-2']],
    ['forms on forms', "test.concurrent.each(rows)('[4.7-3] %s', run)", ['4.7-3']],
    ['a title on its own line', "test(\n  '[4.8-1] in order',\n  run,\n)", ['4.8-1']],
    ['a test in a group', "describe('group', () => { test('[1-2] named', run) })", ['1-2']],
    ['the same id twice', "test('[1-2] a', run)\ntest('[1-2] b', run)", ['1-2']],
  ])('counts %s', (_name, source, ids) => {
    expect(findCitedIds(source)).toEqual(ids)
  })

  test.each([
    ['a comment', "// test('[4.1-3] fails', run)"],
    ['a block comment', "/* test('[4.1-3] fails', run) */"],
    ['test.skip', "test.skip('[4.1-3] fails', run)"],
    ['test.todo', "test.todo('[4.1-3] fails')"],
    ['test.fails', "test.fails('[4.1-3] fails', run)"],
    ['test.skipIf', "test.skipIf(slow)('[4.1-3] fails', run)"],
    ['test.runIf', "test.runIf(fast)('[4.1-3] fails', run)"],
    ['test.skip.each', "test.skip.each(rows)('[4.1-3] %s', run)"],
    ['test.each(...).skip', "it.each(rows).skip('[4.1-3] %s', run)"],
    ['a skipped group', "describe.skip('group', () => { test('[4.1-3] fails', run) })"],
    ['the name of a group', "describe('[4.1-3] group', () => {})"],
    ['another function', "check('[4.1-3] fails', run)"],
    ['a method called test', "/x/.test('[4.1-3]')"],
    ['another argument', "test(name, () => expect('[4.1-3]').toBe(1))"],
    ['a string with code in it', `const text = "test('[4.1-3] fails', run)"`],
    ['an id without brackets', "test('4.1-3 fails', run)"],
    ['brackets with something else', "test('[section 4.1-3] fails', run)"],
  ])('does not count %s', (_name, source) => {
    expect(findCitedIds(source)).toEqual([])
  })
})

describe('findSharedBodies', () => {
  test('names the relative imports that end in cases or suite', () => {
    const source = [
      "import { httpCases } from './cases.js'",
      "import { runCases } from '../http/run-cases.js'",
      "import { sessionStoreSuite } from '../suites/stores/session-store-suite.js'",
      "import { suitcase } from './suitcase.js'",
      "import { other } from 'cases.js'",
      "import { helper } from './helper.js'",
    ].join('\n')
    expect(findSharedBodies(source)).toEqual([
      './cases.js',
      '../http/run-cases.js',
      '../suites/stores/session-store-suite.js',
    ])
  })
})
