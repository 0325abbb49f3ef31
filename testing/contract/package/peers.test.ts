/** Checks that the entry points with a peer compile and work if the peer is installed, and say so if it is not. */
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { compile, project, run } from './run.js'

const resolve = createRequire(import.meta.url).resolve
const folderOf = (name: string): string => dirname(resolve(`${name}/package.json`))

const compilerOptions = {
  target: 'ES2022',
  lib: ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
  types: ['node'],
  typeRoots: [dirname(folderOf('@types/node'))],
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noEmit: true,
}

const flow = `
import { Flow, LogicStep, reply, stay, type Turn } from 'turnkeeper'
export class AskName extends LogicStep<{ name?: string }> {
  static override readonly id = 'AskName'
  override run(turn: Turn) {
    if (turn.message !== '') this.state.name = turn.message
    return turn.message === '' ? stay() : reply('Hello, ' + turn.message)
  }
}
export class Greeting extends Flow {
  static override readonly id = 'Greeting'
  override steps() {
    return [AskName]
  }
}
`

/** What the author of a test writes. */
const uses = `
import { FlowEngine } from 'turnkeeper'
import { Conversation } from 'turnkeeper/testing'
import { type FlowServiceHandlers, flowServiceHandlers } from 'turnkeeper/testing/msw'
import { matchers } from 'turnkeeper/testing/vitest'
import { setupServer } from 'msw/node'
import { expect } from 'vitest'
import { AskName, Greeting } from './flow.js'
type IsAny<T> = 0 extends 1 & T ? true : false
export const handlersAreAny: IsAny<FlowServiceHandlers> = false
export const matchersAreAny: IsAny<typeof matchers> = false
export const scripted = flowServiceHandlers(['Hello', { failure: 'SESSION_CONFLICT', delayMs: 5 }, () => ({ reply: 'a' })])
export const server = setupServer(...scripted, ...flowServiceHandlers(new FlowEngine({ flows: [Greeting] })))
const conversation = new Conversation(Greeting)
expect(conversation).toHaveState(AskName, { name: /A/ })
`

/** One mistake on each of the lines from 6 on. */
const mistakes = `import { Conversation } from 'turnkeeper/testing'
import { flowServiceHandlers } from 'turnkeeper/testing/msw'
import 'turnkeeper/testing/vitest'
import { expect } from 'vitest'
import { AskName, Greeting } from '../flow.js'
expect(new Conversation(Greeting)).toHaveState(AskName, { nmae: 'A' })
expect('a text').toBeAtStep(AskName)
flowServiceHandlers([{ failure: 'SESSION_CONFLIT' }])
`

/** In JavaScript, because Node 20 does not run TypeScript. */
const program = `
import { setupServer } from 'msw/node'
import { FlowEngine } from 'turnkeeper'
import { flowServiceHandlers } from 'turnkeeper/testing/msw'
const server = setupServer(...flowServiceHandlers(['Hello'], { origin: 'https://script.example' }),
  ...flowServiceHandlers(new FlowEngine(), { origin: 'https://engine.example' }))
server.listen({ onUnhandledRequest: 'error' })
for (const origin of ['https://script.example', 'https://engine.example']) {
  const response = await fetch(origin + '/ai/run', { method: 'POST', body: '{"flowName":"A"}' })
  console.log(response.status, (await response.json()).message)
}
server.close()
`

let folder: string

describe('with msw and vitest installed', () => {
  beforeAll(() => {
    folder = project('peers', {
      'package.json': '{ "type": "module" }',
      'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'] }),
      'flow.ts': flow,
      'use.ts': uses,
      'use.mjs': program,
      'mistakes/tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'] }),
      'mistakes/mistakes.ts': mistakes,
    })
    const installed = join(folder, 'node_modules')
    mkdirSync(installed)
    // A copy: its imports are searched in its own folder, and these are the only peers there.
    cpSync(join(inject('consumer'), 'node_modules', 'turnkeeper'), join(installed, 'turnkeeper'), { recursive: true })
    for (const name of ['msw', 'vitest']) symlinkSync(folderOf(name), join(installed, name), 'dir')
  })

  test('both entry points compile, in a strict program that checks libraries', () => {
    expect(compile(folder)).toEqual({ failed: false, output: '' })
  })

  test('mistakes do not', () => {
    const { output } = compile(join(folder, 'mistakes'))
    const lines = Array.from(output.matchAll(/^mistakes\.ts\((\d+),/gm), ([, line]) => Number(line))
    expect(lines).toEqual([6, 7, 8])
    expect(output).toContain("'nmae' does not exist in type")
  })

  test('turnkeeper/testing/msw answers', () => {
    expect(run(folder, '--no-warnings', 'use.mjs')).toEqual({
      failed: false,
      output: "200 Hello\n400 Flow class 'A' not registered.\n",
    })
  })

  test('turnkeeper/testing/vitest keeps its side effect when a bundler drops unused code', () => {
    const { sideEffects } = createRequire(join(folder, 'node_modules/turnkeeper/package.json'))('./package.json') as {
      sideEffects: string[]
    }
    expect(sideEffects).toEqual(['./dist/src/index.node.js', './dist/testing/vitest/index.js'])
  })
})

test.each(['msw', 'vitest'])('without %s its entry point says what is missing, and the others load', (peer) => {
  const without = project(`without-${peer}`, {
    'use.mjs': `await import('turnkeeper'); await import('turnkeeper/testing'); await import('turnkeeper/testing/${peer}')`,
  })
  const { failed, output } = run(without, '--no-warnings', 'use.mjs')
  expect(failed).toBe(true)
  expect(output).toContain(`Cannot find package '${peer}' imported from`)
})
