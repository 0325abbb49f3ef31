/**
 * What docs/frameworks.md says of CommonJS and of TypeScript's settings, tried with the packed package
 * in projects of their own.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, inject, test } from 'vitest'
import { project, run } from './run.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const page = readFileSync(join(root, 'docs/frameworks.md'), 'utf8')
const compilers = join(root, 'testing/contract/frameworks/node_modules')
const areMissing = process.env.CI === undefined && !existsSync(compilers)
const leftOut = areMissing ? ' (left out: npm ci --prefix testing/contract/frameworks has not run)' : ''

test('the server of the page in CommonJS answers', () => {
  const shown = Array.from(page.matchAll(/^```js\n([\s\S]*?)^```$/gm), ([, code = '']) => code)
  const required = shown.filter((code) => code.includes("require('turnkeeper/node')"))
  expect(required).toHaveLength(1)
  const folder = project('commonjs-server', {
    'package.json': '{ "type": "commonjs" }',
    'server.js': required[0] ?? '',
    'ask.js': `
      const http = require('node:http')
      const { createServer } = http
      http.createServer = (listener) => createServer(listener).on('listening', async function () {
        const reply = await fetch('http://127.0.0.1:' + this.address().port + '/ai/flows')
        console.log(reply.status, await reply.text())
        process.exit()
      })
      process.env.PORT = '0'
      require('./server.js')
    `,
  })
  const installed = join(folder, 'node_modules')
  mkdirSync(join(installed, '@hono'), { recursive: true })
  // A copy: its imports are searched in its own folder, and this is the only peer there.
  cpSync(join(inject('consumer'), 'node_modules/turnkeeper'), join(installed, 'turnkeeper'), { recursive: true })
  symlinkSync(join(root, 'node_modules/@hono/node-server'), join(installed, '@hono/node-server'), 'dir')
  expect(run(folder, '--no-warnings', 'ask.js')).toEqual({ failed: false, output: '200 ["Echo"]\n' })
})

describe.skipIf(areMissing)(`the table of TypeScript's settings${leftOut}`, () => {
  const resolutions = { node16: 'node16', nodenext: 'nodenext', bundler: 'esnext', node10: 'commonjs' } as const

  /** A cell: whether a file that imports the package compiles, or the numbers of the errors. */
  function cellOf(type: string, moduleResolution: keyof typeof resolutions, version: string): string {
    const compilerOptions = {
      ...{ module: resolutions[moduleResolution], moduleResolution, target: 'es2022', lib: ['es2022', 'dom'] },
      ...{ types: [], strict: true, skipLibCheck: true, noEmit: true },
    }
    const folder = project(`settings-${type}-${moduleResolution}-${version}`, {
      'package.json': JSON.stringify({ type }),
      'tsconfig.json': JSON.stringify({ compilerOptions, files: ['use.ts'] }),
      'use.ts':
        "import { FlowEngine } from 'turnkeeper'\nexport const made: Promise<FlowEngine> = FlowEngine.create()\n",
    })
    const { output } = run(folder, join(compilers, `typescript-${version}`, 'bin/tsc'), '-p', '.', '--pretty', 'false')
    return Array.from(output.matchAll(/TS\d+/g), ([code]) => code).join(', ') || 'yes'
  }

  test.each(['module', 'commonjs'])(
    'has what a project with "type": "%s" gets',
    (type) => {
      const rows = (Object.keys(resolutions) as (keyof typeof resolutions)[]).map((moduleResolution) => {
        const cells = ['5.4', '5.9', '7'].map((version) => cellOf(type, moduleResolution, version))
        return `| \`${type}\` | \`${moduleResolution}\` | ${cells.join(' | ')} |`
      })
      expect(page).toContain(`${rows.join('\n')}\n`)
      // A compiler takes a second or two.
    },
    120_000,
  )
})
