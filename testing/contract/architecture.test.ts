/**
 * Checks that the source tree follows its import table: which area may import which, and in which way. The table
 * distinguishes types from values, and the check itself is tested on planted violations.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface Rule {
  /** Areas that may be imported, in any way. The own area always may. */
  readonly areas: readonly string[]
  /** Areas of which only types may be imported. */
  readonly typesOnly?: readonly string[]
  /** Packages that may be imported; `*` is any, Node's own modules included. */
  readonly packages: readonly string[]
}

const leaf = ['src/(leaf)', 'src/util', 'src/errors', 'src/config']
const rules: Readonly<Record<string, Rule>> = {
  'src/(leaf)': { areas: leaf, packages: [] },
  'src/util': { areas: leaf, packages: [] },
  'src/errors': { areas: leaf, packages: [] },
  'src/config': { areas: leaf, packages: [] },
  'src/model': { areas: ['src/(leaf)', 'src/util', 'src/errors'], packages: ['@standard-schema/spec'] },
  'src/session': {
    areas: ['src/(leaf)', 'src/util', 'src/errors', 'src/config'],
    typesOnly: ['src/model'],
    packages: [],
  },
  'src/flow': {
    areas: ['src/(leaf)', 'src/util', 'src/errors', 'src/model', 'src/session'],
    packages: ['@standard-schema/spec'],
  },
  // Computed: the late import of the Keyv store, which bundlers must not follow.
  'src/stores': {
    areas: ['src/(leaf)', 'src/util', 'src/errors', 'src/config', 'src/session'],
    packages: ['(computed)', 'lru-cache'],
  },
  'src/stores/keyv': {
    areas: ['src/(leaf)', 'src/util', 'src/errors', 'src/config', 'src/session', 'src/stores'],
    packages: ['keyv', '@keyv/redis', '@keyv/sqlite', '@keyv/postgres', 'pg', 'lru-cache'],
  },
  'src/engine': {
    areas: ['src/(leaf)', 'src/util', 'src/errors', 'src/config', 'src/model', 'src/session', 'src/flow', 'src/stores'],
    packages: ['@standard-schema/spec', 'eventemitter3'],
  },
  'src/compaction': {
    areas: ['src/(leaf)', 'src/util', 'src/errors', 'src/config', 'src/model', 'src/session', 'src/flow', 'src/engine'],
    packages: [],
  },
  'src/prompt': { areas: ['src/errors'], packages: [] },
  'src/(root)': {
    areas: [...leaf, 'src/model', 'src/session', 'src/flow', 'src/stores', 'src/engine'],
    packages: [],
  },
  'adapters/fetch': { areas: ['src/(root)'], packages: [] },
  'adapters/hono': { areas: ['src/(root)', 'adapters/fetch'], packages: ['hono'] },
  // No package of the AI SDK, not even for types: what is needed of its specification is written down here.
  'adapters/ai-sdk': { areas: ['src/(root)'], packages: [] },
  // Loaded late, where `simulate` is used.
  testing: { areas: ['src/(root)', 'src/compaction'], packages: ['fast-check'] },
  'testing/msw': { areas: ['src/(root)', 'testing', 'adapters/fetch'], packages: ['msw'] },
  'testing/vitest': { areas: ['src/(root)', 'testing'], packages: ['vitest'] },
  examples: { areas: [], packages: ['*'] },
}

function areaOf(file: string): string {
  if (file === 'src/index.ts') return 'src/(root)'
  if (file.startsWith('src/stores/keyv/')) return 'src/stores/keyv'
  const [top = '', second = ''] = file.split('/')
  if (top === 'src') return file.split('/').length === 2 ? 'src/(leaf)' : `src/${second}`
  // Folders of testing are part of it, but for those that are entry points.
  const area = `${top}/${second}`
  return top === 'adapters' || Object.hasOwn(rules, area) ? area : top
}

interface Import {
  readonly specifier: string
  readonly typesOnly: boolean
}

function importsOf(source: string): Import[] {
  const found: Import[] = []
  const add = (node: ts.Node | undefined, typesOnly: boolean): void => {
    if (node === undefined) return
    found.push({ specifier: ts.isStringLiteralLike(node) ? node.text : '(computed)', typesOnly })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
    } else if (ts.isExportDeclaration(node)) {
      add(node.moduleSpecifier, node.isTypeOnly)
    } else if (ts.isImportTypeNode(node)) {
      add(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : node.argument, true)
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false)
    } else if (ts.isExternalModuleReference(node)) {
      add(node.expression, false)
    }
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile('x.ts', source, ts.ScriptTarget.ES2022, true))
  return found
}

function violation(file: string, { specifier, typesOnly }: Import): string | undefined {
  const area = areaOf(file)
  const rule = rules[area]
  if (rule === undefined) return `${file}: no rule for ${area}`
  const refuse = (reason: string): string => `${file}: '${specifier}' ${reason}`
  if (!specifier.startsWith('.')) {
    const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
    return rule.packages.includes('*') || rule.packages.includes(name) ? undefined : refuse('is no package for here')
  }
  const target = posix.join(posix.dirname(file), specifier).replace(/\.js$/, '.ts')
  const targetArea = areaOf(target)
  if (targetArea === area || rule.areas.includes(targetArea)) return undefined
  if (rule.typesOnly?.includes(targetArea))
    return typesOnly ? undefined : refuse('may only be imported as `import type`')
  return refuse(`is in ${targetArea}, which ${area} may not import`)
}

function violations(file: string, source: string): string[] {
  return importsOf(source).flatMap((found) => violation(file, found) ?? [])
}

function filesUnder(folder: string): string[] {
  return readdirSync(`${root}${folder}`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?tsx?$/.test(entry.name))
    .map((entry) => posix.join(entry.parentPath.slice(root.length).replaceAll('\\', '/'), entry.name))
    .filter((file) => !file.includes('node_modules/'))
}

const everyFile = ['src', 'adapters', 'testing', 'examples'].flatMap(filesUnder)
const governed = everyFile.filter((file) => !/\.test(-d)?\.ts$/.test(file) && !file.startsWith('testing/contract/'))
const read = (file: string): string => readFileSync(`${root}${file}`, 'utf8')

describe('the import table', () => {
  test('[1-10] holds in every file', () => {
    expect(governed.flatMap((file) => violations(file, read(file)))).toEqual([])
  })

  test('has a row for every area, and files in every area', () => {
    expect([...new Set(governed.map(areaOf))].sort()).toEqual(Object.keys(rules).sort())
  })

  test.each([
    ['src/util/a.ts', "import { a } from '../model/a.js'"],
    ['src/util/a.ts', "export * from '../index.js'"],
    ['src/errors/a.ts', "import type { A } from '../session/a.js'"],
    ['src/config/a.ts', "import 'node:process'"],
    ['src/config/a.ts', "const a = await import('../flow/a.js')"],
    ['src/model/a.ts', "import { a } from '../session/a.js'"],
    ['src/model/a.ts', "import { z } from 'zod'"],
    ['src/session/a.ts', "import { a } from '../model/a.js'"],
    ['src/session/a.ts', "import { type A } from '../model/a.js'"],
    ['src/session/a.ts', "export { a } from '../model/a.js'"],
    ['src/session/a.ts', "import type { A } from '../flow/a.js'"],
    ['src/session/a.ts', "type A = import('../flow/a.js').A"],
    ['src/flow/a.ts', "import { a } from '../stores/a.js'"],
    ['src/flow/a.ts', "import { a } from '../engine/a.js'"],
    ['src/stores/a.ts', "import { a } from '../flow/a.js'"],
    ['src/stores/a.ts', "import { a } from '../model/a.js'"],
    ['src/stores/a.ts', "import { a } from './keyv/a.js'"],
    ['src/stores/a.ts', "import { Keyv } from 'keyv'"],
    ['src/stores/keyv/a.ts', "import { a } from '../../flow/a.js'"],
    ['src/stores/keyv/a.ts', "import { createClient } from '@redis/client'"],
    ['src/stores/keyv/a.ts', 'const a = await import(name)'],
    ['src/engine/a.ts', "import { a } from '../index.js'"],
    ['src/engine/a.ts', "import { a } from '../../adapters/fetch/index.js'"],
    ['src/engine/a.ts', "import { EventEmitter } from 'node:events'"],
    ['src/engine/a.ts', 'const a = await import(name)'],
    ['src/engine/a.ts', "import { a } from '../compaction/a.js'"],
    ['src/index.ts', "export { a } from './compaction/a.js'"],
    ['src/prompt/a.ts', "import { a } from '../flow/a.js'"],
    ['src/compaction/a.ts', "import { a } from '../stores/a.js'"],
    ['src/unheard-of/a.ts', "import { a } from '../errors/a.js'"],
    ['adapters/fetch/a.ts', "import { a } from '../../src/engine/a.js'"],
    ['adapters/fetch/a.ts', "import { Hono } from 'hono'"],
    ['adapters/fetch/a.ts', "import { a } from '../hono/index.js'"],
    ['adapters/hono/a.ts', "import { a } from '../../src/engine/a.js'"],
    ['adapters/hono/a.ts', "import { serve } from '@hono/node-server'"],
    ['adapters/ai-sdk/a.ts', "import type { LanguageModelV3 } from '@ai-sdk/provider'"],
    ['adapters/ai-sdk/a.ts', "import { generateText } from 'ai'"],
    ['adapters/ai-sdk/a.ts', "import { a } from '../../src/engine/a.js'"],
    ['testing/a.ts', "import { a } from '../src/engine/a.js'"],
    ['testing/a.ts', "import { test } from 'vitest'"],
    ['testing/a.ts', "import assert from 'node:assert'"],
    ['testing/a.ts', "import { a } from '../adapters/fetch/index.js'"],
    ['testing/a.ts', "import { a } from './msw/index.js'"],
    ['testing/a/a.ts', "import { a } from '../vitest/index.js'"],
    ['testing/msw/a.ts', "import { expect } from 'vitest'"],
    ['testing/msw/a.ts', "import { a } from '../../adapters/hono/index.js'"],
    ['testing/msw/a.ts', "import { a } from '../../src/engine/a.js'"],
    ['testing/vitest/a.ts', "import { http } from 'msw'"],
    ['testing/vitest/a.ts', "import { a } from '../../adapters/fetch/index.js'"],
    ['examples/a/a.ts', "import { a } from '../../src/index.js'"],
  ])('%s refuses: %s', (file, source) => {
    expect(violations(file, source)).toHaveLength(1)
  })

  test.each([
    ['src/session/a.ts', "import type { A } from '../model/a.js'"],
    ['src/session/a.ts', "export type { A } from '../model/a.js'"],
    ['src/engine/sub/a.ts', "import { a } from '../../stores/a.js'"],
    ['src/stores/a.ts', 'const a = await import(name)'],
    ['src/stores/keyv/drivers/a.ts', "import { a } from '../../../session/a.js'"],
    ['src/stores/keyv/a.ts', "import type { Keyv } from 'keyv'"],
    ['adapters/hono/a.ts', "import { a } from '../fetch/a.js'"],
    ['adapters/hono/a.ts', "import { cors } from 'hono/cors'"],
    ['adapters/ai-sdk/a.ts', "import { a } from '../../src/index.js'"],
    ['testing/a/a.ts', "import { a } from '../b.js'"],
    ['testing/msw/a.ts', "import { a } from '../../adapters/fetch/a.js'"],
    ['testing/vitest/a.ts', "import { a } from '../index.js'"],
    ['examples/a/a.ts', "import { a } from 'turnkeeper/testing'"],
  ])('%s accepts: %s', (file, source) => {
    expect(violations(file, source)).toEqual([])
  })
})

/** Comments that switch a check off, unless the check is the linter's and a reason is given. */
function switchedOff(file: string, source: string): string[] {
  const found = [...source.matchAll(/\b(?:v8|c8|istanbul|node:coverage)\s+ignore\b|@ts-(?:ignore|nocheck)\b/g)]
  if (!file.endsWith('.test-d.ts')) found.push(...source.matchAll(/@ts-expect-error\b/g))
  const unreasoned = [...source.matchAll(/biome-ignore[^\n]*/g)].filter(([comment]) => !/:\s*\S+\s+\S+/.test(comment))
  return [...found, ...unreasoned].map(([comment]) => `${file}: ${comment}`)
}

describe('nothing is switched off', () => {
  test('in any file', () => {
    const others = everyFile.filter((file) => file !== 'testing/contract/architecture.test.ts')
    expect(others.flatMap((file) => switchedOff(file, read(file)))).toEqual([])
  })

  test.each([
    ['src/a.ts', '/* v8 ignore next 3 */'],
    ['src/a.ts', '// istanbul ignore else'],
    ['src/a.ts', '// @ts-ignore'],
    ['src/a.test.ts', '// @ts-expect-error wrong on purpose'],
    ['src/a.ts', '// biome-ignore lint/suspicious/noExplicitAny'],
    ['src/a.ts', '// biome-ignore lint/suspicious/noExplicitAny: any'],
  ])('%s refuses: %s', (file, source) => {
    expect(switchedOff(file, source)).toHaveLength(1)
  })

  test.each([
    ['src/a.test-d.ts', '// @ts-expect-error a number is no name'],
    ['src/a.ts', '// biome-ignore lint/suspicious/noExplicitAny: the one home of a type that cannot be written'],
  ])('%s accepts: %s', (file, source) => {
    expect(switchedOff(file, source)).toEqual([])
  })
})

test('the environment is read in one file', () => {
  const namesProcess = (node: ts.Node): boolean =>
    (ts.isIdentifier(node) && node.text === 'process') || ts.forEachChild(node, namesProcess) === true
  const readers = governed.filter(
    (file) =>
      !file.startsWith('examples/') && namesProcess(ts.createSourceFile(file, read(file), ts.ScriptTarget.ES2022)),
  )
  expect(readers.length).toBeLessThanOrEqual(1)
})
