/**
 * Checks the package beside what its users have: other versions of TypeScript, CommonJS, and older versions of its
 * peers, which must install and are refused only where they are used.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, inject, test } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { project, run } from './run.js'

const frameworks = fileURLToPath(new URL('../frameworks/', import.meta.url))
const areMissing = process.env.CI === undefined && !existsSync(join(frameworks, 'node_modules'))
const leftOut = areMissing ? ' (left out: npm ci --prefix testing/contract/frameworks has not run)' : ''
const fromRoot = createRequire(import.meta.url).resolve
const rootFolder = (name: string): string => fileURLToPath(new URL(`../../../node_modules/${name}`, import.meta.url))

/** Every entry point. Those with a peer need its types, and Vitest's need a newer TypeScript. */
const entryPoints = Object.keys(manifest.exports)
  .filter((subpath) => subpath !== './package.json')
  .map((subpath) => subpath.replace('.', 'turnkeeper'))
const withPeers = [
  'turnkeeper/keyv',
  'turnkeeper/hono',
  'turnkeeper/node',
  'turnkeeper/otel',
  'turnkeeper/testing/msw',
  'turnkeeper/testing/vitest',
  'turnkeeper/testing/vitest/plugin',
  'turnkeeper/testing/vitest/reporter',
]

const uses = (subpaths: readonly string[]): string => `
${subpaths.map((subpath, index) => `import * as entry${index} from '${subpath}'`).join('\n')}
type IsAny<T> = 0 extends 1 & T ? true : false
${subpaths.map((_, index) => `export const any${index}: IsAny<typeof entry${index}> = false`).join('\n')}
import { FlowEngine } from 'turnkeeper'
export const made: Promise<FlowEngine> = FlowEngine.create()
`

/** @param subpaths - entry points. If a peer of one is needed, it is that of the repository. */
function typesWith(
  version: string,
  compiler: string,
  subpaths: readonly string[] = entryPoints.filter((subpath) => !withPeers.includes(subpath)),
): { failed: boolean; output: string } {
  const needsPeers = subpaths.some((subpath) => withPeers.includes(subpath))
  const folder = project(`typescript-${version}${needsPeers ? '-peers' : ''}`, {
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        target: 'ES2022',
        lib: ['ES2022', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'].slice(0, version === '5.4' ? 3 : 4),
        types: needsPeers ? ['node'] : [],
        typeRoots: [rootFolder('@types')],
        module: 'NodeNext',
        moduleResolution: 'NodeNext',
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: false,
        noEmit: true,
      },
      include: ['*.ts'],
    }),
    'use.ts': uses(subpaths),
  })
  if (needsPeers) linkPeers(folder)
  return run(folder, compiler, '-p', '.', '--pretty', 'false')
}

/** The package as a copy, whose imports are searched in `folder`, and the peers of these tests. */
function linkPeers(folder: string): void {
  const installed = join(folder, 'node_modules')
  for (const scope of ['@hono', '@opentelemetry']) mkdirSync(join(installed, scope), { recursive: true })
  cpSync(join(inject('consumer'), 'node_modules', 'turnkeeper'), join(installed, 'turnkeeper'), { recursive: true })
  for (const name of ['hono', 'keyv', '@hono/node-server', '@opentelemetry/api']) {
    symlinkSync(rootFolder(name), join(installed, name), 'dir')
  }
}

describe.skipIf(areMissing)(`the types${leftOut}`, () => {
  test.each(['5.4', '5.9', '7'])('compile with TypeScript %s, libraries checked', (version) => {
    const compiler = join(frameworks, 'node_modules', `typescript-${version}`, 'bin', 'tsc')
    console.log(`TypeScript ${run(frameworks, compiler, '--version').output.trim()}`)
    expect(typesWith(version, compiler)).toEqual({ failed: false, output: '' })
  })

  // The types of Hono themselves need a newer TypeScript than 5.4.
  test.each([
    ['5.4', ['turnkeeper/keyv', 'turnkeeper/node', 'turnkeeper/otel']],
    ['5.9', ['turnkeeper/keyv', 'turnkeeper/node', 'turnkeeper/otel', 'turnkeeper/hono']],
    ['7', ['turnkeeper/keyv', 'turnkeeper/node', 'turnkeeper/otel', 'turnkeeper/hono']],
  ])('compile with TypeScript %s beside their peers: %j', (version, subpaths) => {
    const compiler = join(frameworks, 'node_modules', `typescript-${version}`, 'bin', 'tsc')
    expect(typesWith(version, compiler, subpaths)).toEqual({ failed: false, output: '' })
  })
})

test('the types compile with the TypeScript of the repository, libraries checked', () => {
  expect(typesWith('own', fromRoot('typescript/bin/tsc'))).toEqual({ failed: false, output: '' })
})

test('CommonJS gets every entry point without a peer by require, as import gets it', () => {
  const subpaths = entryPoints.filter((subpath) => !withPeers.includes(subpath) || subpath === 'turnkeeper/keyv')
  const folder = project('commonjs', {
    'package.json': '{ "type": "commonjs" }',
    'use.js': `
      const { Flow, FlowEngine, LogicStep, finish } = require('turnkeeper')
      for (const subpath of ${JSON.stringify(subpaths)}) {
        import(subpath).then((imported) => console.log(subpath, imported.default ?? require(subpath) === imported))
      }
      class Say extends LogicStep { static id = 'Say'; run(turn) { return finish(turn.message) } }
      class Echo extends Flow { static id = 'Echo'; steps() { return [Say] } }
      FlowEngine.create({ flows: [Echo] }).then((engine) => engine.run({ flowName: 'Echo', userMessage: 'said' }))
        .then(({ message }) => console.log(message))
    `,
  })
  const { failed, output } = run(folder, '--no-warnings', 'use.js')
  expect({ failed, lines: output.trim().split('\n').sort() }).toEqual({
    failed: false,
    lines: ['said', ...subpaths.map((subpath) => `${subpath} true`)].sort(),
  })
})

describe('beside older peers', () => {
  const code = `
    const said = async (work) => {
      try { console.log(typeof (await work())) } catch (error) { console.log(error.code, error.message) }
    }
    const { FlowEngine } = await import('turnkeeper')
    const engine = await FlowEngine.create()
    await said(async () => (await import('turnkeeper/fetch')).createFetchHandler(engine))
    await said(async () => (await import('turnkeeper/hono')).flowRoutes(engine))
    const { KeyvSessionStore, createRedisKeyv } = await import('turnkeeper/keyv')
    const { default: Keyv } = await import('keyv')
    await said(() => new KeyvSessionStore({ keyv: new Keyv() }))
    await said(() => createRedisKeyv('redis://127.0.0.1:1'))
    await said(async () => (await import('turnkeeper/node')).toNodeListener(() => new Response('')))
    const { Flow, LogicStep, finish } = await import('turnkeeper')
    class Say extends LogicStep { static id = 'Say'; run() { return finish('Yes.') } }
    class Echo extends Flow { static id = 'Echo'; steps() { return [Say] } }
    await said(async () => (await import('turnkeeper/testing')).simulate(Echo, { seeds: 1, actors: [() => 'Hello.'] }))
  `

  const olderPeers = ['hono@4.6', 'keyv@4', '@hono/node-server@1', '@keyv/redis@2', 'fast-check@3']

  test('the package installs, and its entry points say what they need when they are used', () => {
    const packed = join(inject('consumer'), `turnkeeper-${manifest.version}.tgz`)
    const folder = project('older-peers', { 'package.json': '{ "type": "module" }', 'use.mjs': code })
    const words = ['install', '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
    execFileSync('npm', [...words, packed, ...olderPeers], { cwd: folder, encoding: 'utf8' })
    const { failed, output } = run(folder, '--no-warnings', 'use.mjs')
    expect({ failed, lines: output.trim().split('\n') }).toEqual({
      failed: false,
      lines: [
        'function',
        'INVALID_INPUT flowRoutes: turnkeeper/hono needs hono 4, from 4.13.19 on: npm install hono@4.',
        'INVALID_INPUT KeyvSessionStore: keyv must be a Keyv of version 5.6 or later.',
        'INVALID_INPUT Sessions in Redis need two packages: npm install keyv@5 @keyv/redis@5',
        'INVALID_INPUT toNodeListener: turnkeeper/node needs @hono/node-server 2.1.6 or later: npm install @hono/node-server@2 hono@4.',
        'object',
      ],
    })
  })
})

test.each([
  ['turnkeeper/hono', 'hono'],
  ['turnkeeper/node', '@hono/node-server'],
])('%s without its peer says which package is missing, and the others load', (subpath, peer) => {
  const folder = project(`without-${subpath.replace('/', '-')}`, {
    'use.mjs': `await import('turnkeeper'); await import('turnkeeper/fetch'); await import('${subpath}')`,
  })
  const { failed, output } = run(folder, '--no-warnings', 'use.mjs')
  expect([failed, output]).toEqual([true, expect.stringContaining(`Cannot find package '${peer}' imported from`)])
})
