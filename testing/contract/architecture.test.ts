/**
 * Checks that the source tree follows the list of `.config/import-rules.ts`: which area may import which, and in which
 * way. The list distinguishes types from values, and the check itself is tested on planted violations. No file may
 * import itself by way of others, not even for types.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { importRules, layersTable } from '../../.config/import-rules.js'

const root = fileURLToPath(new URL('../../', import.meta.url))

function areaOf(file: string): string {
  if (file === 'src/index.ts' || file === 'src/index.node.ts') return 'src/(root)'
  const [nested] = ['src/stores/keyv', 'testing/studio/page'].filter((folder) => file.startsWith(`${folder}/`))
  if (nested !== undefined) return nested
  const [top = '', second = ''] = file.split('/')
  if (top === 'src') return `src/${second}`
  // Folders of testing are part of it, but for those that are entry points.
  const area = `${top}/${second}`
  return top === 'adapters' || Object.hasOwn(importRules, area) ? area : top
}

interface Import {
  readonly specifier: string
  readonly typesOnly: boolean
}

const known = new Map<string, readonly Import[]>()

function importsOf(source: string): readonly Import[] {
  const found = known.get(source) ?? parseImports(source)
  known.set(source, found)
  return found
}

function parseImports(source: string): readonly Import[] {
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
  visit(ts.createSourceFile('x.ts', source, ts.ScriptTarget.ES2022))
  return found
}

/** The file that a relative import names. */
function targetOf(file: string, specifier: string): string {
  return posix.join(posix.dirname(file), specifier).replace(/\.js$/, '.ts')
}

function violation(file: string, { specifier, typesOnly }: Import): string | undefined {
  const area = areaOf(file)
  const rule = importRules[area]
  if (rule === undefined) return `${file}: no rule for ${area}`
  const refuse = (reason: string): string => `${file}: '${specifier}' ${reason}`
  if (!specifier.startsWith('.')) {
    const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
    return rule.packages.includes('*') || rule.packages.includes(name)
      ? undefined
      : refuse('is not a package that it may import')
  }
  const target = targetOf(file, specifier)
  const targetArea = areaOf(target)
  if (targetArea === area || rule.areas.includes(targetArea) || rule.files?.includes(target)) return undefined
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
    expect([...new Set(governed.map(areaOf))].sort()).toEqual(Object.keys(importRules).sort())
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
    ['adapters/fetch/a.ts', "import { a } from '../../src/util/json.js'"],
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
    ['testing/a.ts', "import { a } from './suites/index.js'"],
    ['testing/suites/a.ts', "import { a } from '../index.js'"],
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
    ['src/index.node.ts', 'const a = await import(name)'],
    ['src/stores/keyv/drivers/a.ts', "import { a } from '../../../session/a.js'"],
    ['src/stores/keyv/a.ts', "import type { Keyv } from 'keyv'"],
    ['adapters/fetch/sub/a.ts', "import { isBase64 } from '../../../src/util/patterns.js'"],
    ['testing/a/a.ts', "import { isBase64 } from '../../src/util/patterns.js'"],
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

test('docs/architecture.md has the table of the layers as the list says it', () => {
  const [table] = /^\| folder \|(?:.+\n)+/m.exec(read('docs/architecture.md')) ?? []
  expect(table?.trim()).toBe(layersTable())
})

/** What each file imports of the other files, types included. */
function importsByFile(sources: ReadonlyMap<string, string>): Map<string, Set<string>> {
  return new Map(
    Array.from(sources, ([file, source]) => {
      const relative = importsOf(source).filter(({ specifier }) => specifier.startsWith('.'))
      return [file, new Set(relative.map(({ specifier }) => targetOf(file, specifier)))]
    }),
  )
}

/** What each folder imports of the other folders. */
function importsByFolder(sources: ReadonlyMap<string, string>): Map<string, Set<string>> {
  const folders = new Map<string, Set<string>>()
  for (const [file, targets] of importsByFile(sources)) {
    const folder = posix.dirname(file)
    const others = folders.get(folder) ?? new Set()
    folders.set(folder, others)
    for (const target of targets) if (posix.dirname(target) !== folder) others.add(posix.dirname(target))
  }
  return folders
}

/** One way round for each set of files or folders that import each other, in the order of the imports. */
function circles(imports: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const path: string[] = []
  const follow = (name: string): void => {
    if (path.includes(name)) {
      found.push([...path.slice(path.indexOf(name)), name].join(' > '))
      return
    }
    if (done.has(name)) return
    done.add(name)
    path.push(name)
    for (const target of imports.get(name) ?? []) follow(target)
    path.pop()
  }
  for (const name of imports.keys()) follow(name)
  return found
}

describe('circles of imports', () => {
  test('are in no file, those of types included', () => {
    expect(circles(importsByFile(new Map(everyFile.map((file) => [file, read(file)]))))).toEqual([])
  })

  test.each([
    ["import type { B } from './b.js'", "import type { A } from './a.js'"],
    ["export { b } from './b.js'", "const a = await import('./a.js')"],
    ["type B = import('./b.js').B", "import '../src/a.js'"],
  ])('are seen: %s and %s', (a, b) => {
    const sources = new Map([
      ['src/a.ts', a],
      ['src/b.ts', b],
      ['src/c.ts', "import './b.js'"],
    ])
    expect(circles(importsByFile(sources))).toEqual(['src/a.ts > src/b.ts > src/a.ts'])
  })

  test('are not what two files import that import nothing', () => {
    const sources = new Map([
      ['src/a.ts', "import './b.js'\nimport './c.js'"],
      ['src/b.ts', "import './c.js'"],
      ['src/c.ts', ''],
    ])
    expect(circles(importsByFile(sources))).toEqual([])
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
    ['src/a.test-d.ts', '// @ts-expect-error a number is not a name'],
    ['src/a.ts', '// biome-ignore lint/suspicious/noExplicitAny: the one home of a type that cannot be written'],
  ])('%s accepts: %s', (file, source) => {
    expect(switchedOff(file, source)).toEqual([])
  })
})

test('the environment is read in one file, and by the studio in another', () => {
  // A reporter of tests sets the exit code, and reads nothing.
  const setsExitCode = (node: ts.Node): boolean =>
    ts.isPropertyAccessExpression(node) && node.getText().endsWith('process.exitCode')
  const namesProcess = (node: ts.Node): boolean =>
    !setsExitCode(node) &&
    ((ts.isIdentifier(node) && node.text === 'process') || ts.forEachChild(node, namesProcess) === true)
  const readers = governed.filter(
    (file) =>
      !file.startsWith('examples/') &&
      read(file).includes('process') &&
      namesProcess(ts.createSourceFile(file, read(file), ts.ScriptTarget.ES2022, true)),
  )
  expect(readers).toEqual(['src/config/runtime.ts', 'testing/studio/line/environment.ts'])
})

describe('the folders', () => {
  test('never import each other, not by way of others either', () => {
    const files = governed.filter((file) => !file.startsWith('examples/'))
    expect(circles(importsByFolder(new Map(files.map((file) => [file, read(file)]))))).toEqual([])
  })

  test('are seen to import each other by way of a third', () => {
    const sources = new Map([
      ['src/a/one.ts', "import '../b/one.js'"],
      ['src/b/one.ts', "import './two.js'"],
      ['src/b/two.ts', ''],
      ['src/b/three.ts', "import '../c/one.js'"],
      ['src/c/one.ts', "import type { A } from '../a/two.js'"],
      ['src/a/two.ts', ''],
    ])
    expect(circles(importsByFile(sources))).toEqual([])
    expect(circles(importsByFolder(sources))).toEqual(['src/a > src/b > src/c > src/a'])
  })

  test('have at most 14 files beside their subfolders', () => {
    const counts = new Map<string, number>()
    for (const file of governed.filter((one) => !one.startsWith('examples/'))) {
      counts.set(posix.dirname(file), (counts.get(posix.dirname(file)) ?? 0) + 1)
    }
    const found = [...counts].filter(([, count]) => count > 14).map(([folder, count]) => `${folder} ${count}`)
    expect(found.sort()).toEqual([])
  })
})
