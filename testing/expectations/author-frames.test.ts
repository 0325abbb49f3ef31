import { describe, expect, test } from 'vitest'
import { authorFrames, causesText } from './author-frames.js'

function withStack(...lines: readonly string[]): Error {
  const error = new Error('broken')
  error.stack = ['Error: broken', ...lines.map((line) => `    at ${line}`)].join('\n')
  return error
}

const root = new URL('../../', import.meta.url).pathname

describe('the frames of an author', () => {
  test('are those of neither the package, nor another one, nor the runtime', () => {
    const error = withStack(
      'Ask.run (/app/flows/ask.ts:3:1)',
      'async Promise.all (index 0)',
      `runStep (${root}src/engine/turn/steps/run-steps.ts:10:3)`,
      `Conversation.say (${root}dist/testing/index.js:10:3)`,
      'parse (/app/node_modules/zod/index.js:1:1)',
      'process.processTicksAndRejections (node:internal/process/task_queues:105:5)',
      'Array.map (<anonymous>)',
      'async /app/flows/other.ts:7:2',
      'file:///app/flows/third.mjs:8:2',
      'fourth (file:///C:/app/flow.ts:9:2)',
      'fifth (C:\\app\\flow.ts:10:2)',
      `test (${root}src/engine/flow-engine.test.ts:11:3)`,
    )
    expect(authorFrames(error)).toEqual([
      'at Ask.run (/app/flows/ask.ts:3:1)',
      'at async /app/flows/other.ts:7:2',
      'at /app/flows/third.mjs:8:2',
      'at fourth (C:/app/flow.ts:9:2)',
      'at fifth (C:/app/flow.ts:10:2)',
      `at test (${root}src/engine/flow-engine.test.ts:11:3)`,
    ])
  })

  test('have their paths as they are on the disk, with parentheses and spaces', () => {
    const error = withStack(
      'Chat.run (/app/(chat)/flow.ts:1:2)',
      'Ask.run [as step] (file:///app/my%20flows%20(old)/flow.mjs:2:2)',
      'async file:///app/(chat)/[id]/flow.mjs:3:2',
      'page (webpack-internal:///(rsc)/./app/(chat)/page.ts:4:2)',
      'eval (eval at run (/app/flow.ts:1:1), <anonymous>:1:1)',
      'last (file:///app/100%/flow.mjs:5:2)',
      'fourth (src/flow.ts:6:2)',
    )
    expect(authorFrames(error)).toEqual([
      'at Chat.run (/app/(chat)/flow.ts:1:2)',
      'at Ask.run [as step] (/app/my flows (old)/flow.mjs:2:2)',
      'at async /app/(chat)/[id]/flow.mjs:3:2',
      'at page (webpack-internal:///(rsc)/./app/(chat)/page.ts:4:2)',
      'at last (/app/100%/flow.mjs:5:2)',
      'at fourth (src/flow.ts:6:2)',
    ])
  })

  test('have the line of a module that cannot be read, with which its stack begins', () => {
    const error = new SyntaxError('Unexpected token')
    for (const place of ['file:///app/my%20flows/flow.mjs:3', '/app/my flows/flow.mjs:3']) {
      error.stack = `${place}\nexport default a b\n\nSyntaxError: Unexpected token\n    at wrap (node:internal/loader:1:1)`
      expect(authorFrames(error)).toEqual(['at /app/my flows/flow.mjs:3'])
    }
  })

  test('are eight at most, and none without a stack', () => {
    const frames = Array.from({ length: 12 }, (_, index) => `f (/app/flow.ts:${index}:1)`)
    expect(authorFrames(withStack(...frames))).toHaveLength(8)
    expect([authorFrames('text'), authorFrames(Object.assign(new Error('none'), { stack: 1 }))]).toEqual([[], []])
  })
})

test('a cause whose text is shown already is not shown again, whether it is an error or a text', () => {
  expect(causesText({ cause: withStack('run (/app/flow.ts:1:1)') }, 'broken.')).toBe('\n  at run (/app/flow.ts:1:1)')
  expect(causesText({ cause: 'broken' }, 'broken')).toBe('')
  expect(causesText({ cause: 'broken' }, 'torn')).toBe('\n  cause: "broken"')
})

test('causes are shown four deep, also where one causes itself', () => {
  const error = withStack()
  error.cause = error
  expect(causesText(error, 'broken')).toBe('\n  cause: Error: broken'.repeat(3))
})
