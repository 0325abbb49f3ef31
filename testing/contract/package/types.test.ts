/** Checks that the published declarations compile in these consumers: strict, libraries checked, no peer installed. */

import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compile, project } from './run.js'

const nodeTypes = dirname(dirname(createRequire(import.meta.url).resolve('@types/node/package.json')))

const strict = {
  target: 'ES2022',
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: false,
  noEmit: true,
}
const web = { lib: ['ES2022', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'], types: [] }
const node = { lib: ['ES2023'], types: ['node'], typeRoots: [nodeTypes] }

const resolutions = {
  NodeNext: { module: 'NodeNext', moduleResolution: 'NodeNext' },
  Bundler: { module: 'ESNext', moduleResolution: 'Bundler' },
}
const surroundings = { 'the DOM, without Node types': web, 'Node types, without the DOM': node }

/** Every value is used, so that an entry point whose declarations fell to `any` is an error. */
const subpaths = [
  'turnkeeper',
  'turnkeeper/compaction',
  'turnkeeper/forms',
  'turnkeeper/parts',
  'turnkeeper/prompt',
  'turnkeeper/d1',
  'turnkeeper/durable-object',
  'turnkeeper/fetch',
  'turnkeeper/openapi',
  'turnkeeper/ui-message',
  'turnkeeper/ag-ui',
  'turnkeeper/ai-sdk',
  'turnkeeper/upstash',
  'turnkeeper/diagram',
  'turnkeeper/testing',
]
const usesAll = `${subpaths.map((subpath, index) => `import * as entry${index} from '${subpath}'`).join('\n')}
type IsAny<T> = 0 extends 1 & T ? true : false
${subpaths.map((_, index) => `export const any${index}: IsAny<typeof entry${index}> = false`).join('\n')}
import { FlowEngine } from 'turnkeeper'
export const engineIsAny: IsAny<FlowEngine> = false
export const made: Promise<FlowEngine> = FlowEngine.create()
import { createFetchHandler } from 'turnkeeper/fetch'
export const handle: (request: Request) => Promise<Response> = createFetchHandler(new FlowEngine())
`

describe.each(Object.entries(resolutions))('module resolution %s', (resolution, modules) => {
  test.each(Object.entries(surroundings))('with %s', (surrounding, libraries) => {
    const folder = project(`types-${resolution}-${surrounding.replace(/\W+/g, '-')}`, {
      'tsconfig.json': JSON.stringify({ compilerOptions: { ...strict, ...modules, ...libraries }, include: ['*.ts'] }),
      'use.ts': usesAll,
    })
    expect(compile(folder)).toEqual({ failed: false, output: '' })
  })
})

/** What an application infers from public types, and exports itself. */
const infers = `
import { Flow, FlowEngine, MemorySessionStore, type SessionStoreError, Step, type Turn } from 'turnkeeper'
import type { EngineEventMap, FlowEngineOptions, FlowStreamEvent, Message, Model } from 'turnkeeper'
import type { ModelBudgets, ModelRequest, SessionDocument, SessionStore } from 'turnkeeper'
import { rollingSummary, slidingWindow } from 'turnkeeper/compaction'

export const engine = new FlowEngine()
export const load = async (id: string) => engine.getSession(id)
export const parts = ({ flow, history, runStatus, usage }: SessionDocument) => ({ flow, runStatus, turn: history[0], usage })
export const flowParts = ({ memory, sequence, steps }: SessionDocument['flow']) => [memory.Ask, sequence[0], steps.Ask]
export const sessionOf = (turn: Turn) => turn.session
export const roleOf = (message: Message) => message.role
export const requestParts = ({ origin, output }: ModelRequest) => ({ origin, output })
export const pricesOf = (model: Model) => model.prices
export const optionsOf = ({ circuitBreaker, generateId, modelRetry }: FlowEngineOptions) => [circuitBreaker, generateId, modelRetry]
export const budgetsOf = ({ session, turn }: ModelBudgets) => ({ session, turn })
export const guaranteesOf = (store: SessionStore) => [store.guarantees, new MemorySessionStore().guarantees]
export const operationOf = (error: SessionStoreError) => error.operation
export const reasonOf = (event: FlowStreamEvent) => (event.type === 'reset' ? event.reason : undefined)
export const onAny = (payload: EngineEventMap[keyof EngineEventMap]) => payload
export const onStep = (payload: EngineEventMap['step:enter']) => payload
export const onTurn = (payload: EngineEventMap['turn:end']) => payload
export class Ask extends Step {
  override onEnter(turn: Turn) {
    return super.onEnter(turn)
  }
}
export class Desk extends Flow {
  static override readonly compaction = {
    Ask: slidingWindow({ above: 60, keep: 40 }),
    Note: rollingSummary({ above: 60, keep: 40, model: { provider: 'openai', name: 'gpt-5-nano' } }),
  }
  override budgets() {
    return super.budgets()
  }
  override steps() {
    return [Ask]
  }
}
`

test('no private names: an application can write declarations of what it infers', () => {
  const declarations = { ...strict, noEmit: false, emitDeclarationOnly: true, declaration: true, outDir: 'out' }
  const compilerOptions = {
    ...declarations,
    noPropertyAccessFromIndexSignature: false,
    ...resolutions.NodeNext,
    ...web,
  }
  const folder = project('types-declarations', {
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts'] }),
    'application.ts': infers,
  })
  expect(compile(folder)).toEqual({ failed: false, output: '' })
})

test('a CommonJS file under NodeNext', () => {
  const folder = project('types-commonjs', {
    'tsconfig.json': JSON.stringify({
      compilerOptions: { ...strict, ...resolutions.NodeNext, ...web },
      include: ['*.cts'],
    }),
    'use.cts':
      "import turnkeeper = require('turnkeeper')\nexport const made: Promise<turnkeeper.FlowEngine> = turnkeeper.FlowEngine.create()\n",
  })
  expect(compile(folder)).toEqual({ failed: false, output: '' })
})

test('the probe itself can fail: hono is not installed, so its entry point does not compile', () => {
  const folder = project('types-without-peer', {
    'tsconfig.json': JSON.stringify({
      compilerOptions: { ...strict, ...resolutions.NodeNext, ...web },
      include: ['*.ts'],
    }),
    'use.ts': "import { flowRoutes } from 'turnkeeper/hono'\nexport const routes: unknown = flowRoutes\n",
  })
  const { failed, output } = compile(folder)
  expect(failed).toBe(true)
  expect(output).toContain("Cannot find module 'hono'")
})
