/**
 * Checks the documentation against the code: its TypeScript compiles against the sources, its links and paths lead
 * somewhere, its tables have the values in force, and the headings of the troubleshooting page are messages that the
 * sources really make.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, test } from 'vitest'
import { errorFacts } from '../../src/errors/error-facts.js'
import { FlowEngine, type SessionDocument } from '../../src/index.js'
import { bytesOfLists } from '../../src/session/document-bytes.js'
import { decodeSession } from '../../src/session/session-codec.js'
import { sessionLayoutVersion } from '../../src/session/session-document.js'
import { linkProblem, proseOf, relativeLinksOf } from './page-links.js'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

function filesBelow(folder: string, extension: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => posix.join(folder, file.replaceAll('\\', '/')))
    .filter((file) => file.endsWith(extension) && !file.startsWith('docs/api-report'))
    .sort()
}

const pages = ['README.md', 'CHANGELOG.md', 'SECURITY.md', ...filesBelow('docs', '.md')]

interface Block {
  readonly page: string
  readonly line: number
  readonly code: string
}

function blocksOf(page: string, language: string): Block[] {
  const text = read(page)
  const found = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))
  return Array.from(found, ({ index, 1: code = '' }) => ({ page, line: text.slice(0, index).split('\n').length, code }))
}

/**
 * The type errors of `blocks`, each a module of its own in one program over the sources. A block whose first line is a
 * comment with the name of its file can be imported by that name.
 */
function typeErrors(blocks: readonly Block[], more: ts.CompilerOptions = {}): string[] {
  const config = ts.getParsedCommandLineOfConfigFile(
    join(root, 'tsconfig.json'),
    { isolatedDeclarations: false, declaration: false },
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => undefined },
  )
  const options = { ...config?.options, ...more }
  const virtual = new Map(
    blocks.map((block, index) => {
      const [, name = `docs-block-${index}.ts`] = /^\/\/ ([\w.-]+\.ts)\n/.exec(block.code) ?? []
      return [join(root, name), block]
    }),
  )
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (file) => virtual.has(file) || fileExists(file)
  host.readFile = (file) => virtual.get(file)?.code ?? readFile(file)
  host.getSourceFile = (file, languageOptions) => {
    const block = virtual.get(file)
    if (block === undefined) return getSourceFile(file, languageOptions)
    return ts.createSourceFile(file, block.code, languageOptions)
  }
  const program = ts.createProgram([...virtual.keys()], options, host)
  return [...virtual].flatMap(([file, { page, line }]) => {
    const source = program.getSourceFile(file)
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map((diagnostic) => {
      const at = source?.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line ?? 0
      return `${page}:${line + 1 + at} ${ts.flattenDiagnosticMessageText(diagnostic.messageText, ' ')}`
    })
  })
}

// Each compiles all pages, which takes long on a machine with other work.
describe('TypeScript in the pages', { timeout: 300_000 }, () => {
  // The blocks of these pages import each other, and so does docs/get-started.md, which
  // testing/contract/package/get-started.test.ts compiles and runs in a project.
  const ofPrograms = ['docs/forms.md', 'docs/rich-replies.md', 'docs/side-flows.md', 'docs/waiting.md']
  const ofModules = pages.filter((page) => page !== 'docs/get-started.md' && !ofPrograms.includes(page))
  const blocks = ofModules.flatMap((page) => blocksOf(page, 'ts'))

  test('is there, and each block is a module of its own', () => {
    expect(blocks.length).toBeGreaterThan(20)
    const fragments = blocks.filter(({ code }) => !/^(?:import|export) /m.test(code))
    expect(fragments.map(({ page, line }) => `${page}:${line}`)).toEqual([])
  })

  test('compiles against the sources, and a planted error is found', () => {
    const code = "import { reply } from 'turnkeeper'\nexport const answer: string = reply('yes')\n"
    expect(typeErrors([...blocks, { page: 'planted.md', line: 7, code }])).toEqual([
      "planted.md:9 Type 'Transition<unknown>' is not assignable to type 'string'.",
    ])
  })

  test('compiles in a project for Node, which has no types of a browser', () => {
    const code = 'export const page: Document | undefined = undefined\n'
    const withoutDom = { lib: ['lib.es2023.d.ts'], types: ['node'] }
    expect(typeErrors([...blocks, { page: 'planted.md', line: 7, code }], withoutDom)).toEqual([
      "planted.md:8 Cannot find name 'Document'.",
    ])
  })

  test.each(ofPrograms)('compiles as one program in %s', (page) => {
    const planted = { page: 'planted.md', line: 7, code: 'export const word: string = 1\n' }
    expect(typeErrors([...blocksOf(page, 'ts'), planted])).toEqual([
      "planted.md:8 Type 'number' is not assignable to type 'string'.",
    ])
  })
})

test('the program in the README is the one that its test runs', () => {
  const [first] = blocksOf('README.md', 'ts')
  expect(first?.code).toBe(read('examples/quickstart/mounted.ts'))
})

test('no page and no example gives a stored session to a request without naming an owner', () => {
  const sources = [
    ...pages.flatMap((page) => blocksOf(page, 'ts')),
    ...filesBelow('examples', '.ts').map((page) => ({ page, line: 1, code: read(page) })),
  ]
  const loads = sources.filter(({ code }) => /\.getSession\(/.test(code))
  expect(loads.length).toBeGreaterThan(3)
  const serving = loads.filter(({ code }) => /\b(Request|Response|createServer|Hono)\b/.test(code))
  expect(serving.map(({ page }) => page)).toContain('docs/http.md')
  for (const { page, code } of serving) expect(code, page).not.toMatch(/\.getSession\([^,()]*\)/)
})

describe('links and paths', () => {
  test('every relative link leads to a file, and to a heading in it', () => {
    const links = pages.flatMap((page) => relativeLinksOf(root, page).map((link) => ({ page, link })))
    expect(links.length).toBeGreaterThan(20)
    const problems = links.map(({ page, link }) => linkProblem(root, page, link))
    expect(problems.filter((problem) => problem !== undefined)).toEqual([])
    expect(linkProblem(root, 'README.md', 'docs/nowhere.md')).toBe('README.md: docs/nowhere.md leads nowhere')
    expect(linkProblem(root, 'README.md', '#nothing')).toBe('README.md: #nothing names no heading of README.md')
  })

  test('every source path that is named exists', () => {
    const named = pages.flatMap((page) =>
      Array.from(read(page).matchAll(/`((?:src|adapters|testing|examples|docs)\/[\w./-]+)`/g), ([, path = '']) => path),
    )
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  test('every decision that a comment of a source names exists', () => {
    const sources = ['src', 'adapters', 'testing', 'examples', '.config'].flatMap((folder) =>
      filesBelow(folder, '').filter((file) => /\.[cm]?[jt]sx?$/.test(file) && !file.includes('node_modules/')),
    )
    const named = sources.flatMap((file) =>
      Array.from(read(file).matchAll(/^\s*(?:\/\/|\/?\*).*?(docs\/decisions\/[\w-]+\.md)/gm), ([, path = '']) => ({
        file,
        path,
      })),
    )
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([])
  })

  test('the table of where to look names files, and what is in them', () => {
    const rows = Array.from(
      read('docs/architecture.md').matchAll(/^\| ([^|`]+) \| `([\w./-]+)` \| `(\w+)` \|$/gm),
      ([, what = '', path = '', name = '']) => ({ what, path, name }),
    )
    const expected = ['begins', 'commits', 'fails', 'calls a model', 'reads a body']
    expect(rows.map(({ what }) => what)).toEqual(expect.arrayContaining(expected))
    const missing = rows.filter(({ path, name }) => {
      if (!existsSync(join(root, path))) return true
      return !new RegExp(`(?:function\\*?|class|async|const) ${name}\\b|^  ${name}\\(`, 'm').test(read(path))
    })
    expect(missing).toEqual([])
  })

  test('every npm script that is named exists', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = pages.flatMap((page) =>
      Array.from(
        read(page).matchAll(/\bnpm (?:run ([\w:-]+)|(start|test))\b/g),
        ([, run, short]) => run ?? short ?? '',
      ),
    )
    expect(named).toContain('start')
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([])
  })
})

describe('tables', () => {
  /** The first two cells of each row whose first cell is one word of code. */
  function rowsOf(page: string): Map<string, string> {
    const rows = read(page).matchAll(/^\| `(\w+)` \| ([^|]+?) \|/gm)
    return new Map(Array.from(rows, ([, key = '', value = '']) => [key, value]))
  }

  test('docs/retries.md says after which codes the same request is sent again, and after which it is not', () => {
    const rows = Array.from(
      read('docs/retries.md').matchAll(/^\| ([^|]+) \| ([^|]+) \|/gm),
      ([, codes = '', what = '']) => ({
        codes: Array.from(codes.matchAll(/`([A-Z_]+)`/g), ([, code = '']) => code),
        isRepeated: /^yes\b/.test(what),
      }),
    )
    const said = new Map(
      rows.flatMap(({ codes, isRepeated }) => codes.map((code) => [code, isRepeated ? 'yes' : 'no'])),
    )
    for (const [code, { repeat }] of Object.entries(errorFacts)) {
      expect([code, said.get(code) ?? 'unsure']).toEqual([code, repeat])
    }
  })

  test('docs/engine.md has every event, option and operation', () => {
    const page = read('docs/engine.md')
    const events = read('src/engine/core/engine-events.ts').matchAll(/^ {2}'([a-z]+:[a-z]+)':/gm)
    const options =
      /interface FlowEngineOptions \{([\s\S]*?)\n\}/.exec(read('src/engine/core/engine-options.ts'))?.[1] ?? ''
    const names = [
      ...Array.from(events, ([, name = '']) => name),
      ...Array.from(options.matchAll(/^ {2}readonly (\w+)\?:/gm), ([, name = '']) => name),
      // Of these one is deprecated.
      ...Object.getOwnPropertyNames(FlowEngine.prototype).filter((name) => !['constructor', 'endChat'].includes(name)),
    ]
    expect(names.length).toBeGreaterThan(45)
    expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(page))).toEqual([])
  })

  test('docs/streaming.md has every event, with its fields, and every reason of a reset', () => {
    const source = read('src/engine/core/flow-stream.ts')
    const events = Array.from(
      source.matchAll(/\{\s+readonly type: '([\w-]+)'([^}]*)\}/g),
      ([, type = '', fields = '']) => [
        type,
        Array.from(fields.matchAll(/readonly (\w+)\??:/g), ([, field = '']) => field),
      ],
    )
    const reasons = /type: 'reset'\s+readonly reason: (.*)/.exec(source)?.[1]?.match(/\w+/g) ?? []
    expect([events.length, reasons.length]).toEqual([8, 8])
    const rows = Array.from(
      read('docs/streaming.md').matchAll(/^\| `([\w-]+)` \| (.*?) \|/gm),
      ([, type = '', fields = '']) => [type, Array.from(fields.matchAll(/`(\w+)`/g), ([, field = '']) => field)],
    )
    expect(rows).toEqual(expect.arrayContaining(events))
    expect(rows.map(([type]) => type)).toEqual(expect.arrayContaining(reasons))
  })

  test('docs/http.md has every option of the adapters', () => {
    const names = read('adapters/fetch/options.ts').matchAll(/^ {2}readonly (\w+)\?:/gm)
    const missing = Array.from(names, ([, name = '']) => name).filter((name) => !rowsOf('docs/http.md').has(name))
    expect(missing).toEqual([])
  })

  test('docs/limits.md has every limit with its default', () => {
    const rows = rowsOf('docs/limits.md')
    const limits = Object.entries(new FlowEngine().limits)
    expect(limits.length).toBeGreaterThan(10)
    for (const [name, value] of limits) {
      expect([name, rows.get(name)?.replaceAll(' ', '')]).toEqual([name, String(value)])
    }
  })
})

describe('docs/session-document.md', () => {
  test('has every field of the document', () => {
    const source = read('src/session/session-document.ts')
    const fields = Array.from(source.matchAll(/^ +readonly (\w+)\??:/gm), ([, field = '']) => field)
    expect(fields.length).toBeGreaterThan(40)
    const page = proseOf(root, 'docs/session-document.md')
    expect(fields.filter((field) => !page.includes(`\`${field}\``))).toEqual([])
  })

  test('has a document that the engine reads, of the layout and the size that it says', () => {
    const [{ code } = { code: '' }] = blocksOf('docs/session-document.md', 'json')
    const stored = JSON.parse(code) as SessionDocument
    const document = decodeSession(stored, stored.id)
    expect(document.version).toBe(sessionLayoutVersion)
    expect(document.bytes).toBe(bytesOfLists(document))
    expect(document.turns).toBe(document.history.length)
  })
})

describe('the troubleshooting page', () => {
  const page = 'docs/troubleshooting.md'
  const headings = Array.from(read(page).matchAll(/^### `(.*)`$/gm), ([, heading = '']) => heading)

  /** Sentences of a source file; `\0` stands for each value that is put in. */
  function sentencesOf(file: string): string[] {
    const found: string[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isStringLiteralLike(node)) found.push(node.text)
      if (ts.isTemplateExpression(node)) {
        found.push(node.head.text + node.templateSpans.map(({ literal }) => `\0${literal.text}`).join(''))
      }
      ts.forEachChild(node, visit)
    }
    visit(ts.createSourceFile(file, read(file), ts.ScriptTarget.ES2022, true))
    return found.filter((sentence) => sentence.replaceAll('\0', '').length >= 15 && sentence.includes(' '))
  }

  const sources = [...filesBelow('src', '.ts'), ...filesBelow('adapters', '.ts')].filter(
    (file) => !file.includes('.test'),
  )
  const sentences = sources.flatMap(sentencesOf)

  /** Whether `sentence` makes `heading`, or most of it: some messages are put together from two. */
  function isMadeBy(heading: string, sentence: string): boolean {
    const literal = sentence.replaceAll('\0', '').length
    const own = heading.replaceAll(/<[^>]*>/g, '').length
    if (literal < own / 2) return false
    const pattern = sentence
      .split('\0')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*')
    return new RegExp(pattern).test(heading)
  }

  test('has headings that the sources make, word for word', () => {
    expect(headings.length).toBeGreaterThan(30)
    expect(headings.filter((heading) => !sentences.some((sentence) => isMadeBy(heading, sentence)))).toEqual([])
    expect(sentences.some((sentence) => isMadeBy("Flow class '<name>' is not registered.", sentence))).toBe(false)
  })

  test('has a table of the codes with their facts', () => {
    const sessions = { aborts: 'aborted or rolled back', stays: 'unchanged, except effects', conflict: 'unchanged' }
    const repeats = { yes: 'yes', no: 'no', unsure: 'if the state is `unknown`' }
    const rows = Array.from(read(page).matchAll(/^\| `([A-Z_]+)` \| [^|]+ \| (.+) \|$/gm), ([, code, facts]) => [
      code,
      facts,
    ])
    const facts = Object.entries(errorFacts).map(([code, { precise, session, repeat }]) => [
      code,
      `${precise} | ${sessions[session]} | ${repeats[repeat]}`,
    ])
    expect(rows).toEqual(facts)
  })

  test('has each heading once', () => {
    expect(headings.filter((heading, index) => headings.indexOf(heading) !== index)).toEqual([])
  })

  test('has every sentence of the error classes', () => {
    const ofErrors = filesBelow('src/errors', '.ts')
      .filter((file) => !file.includes('.test'))
      .flatMap(sentencesOf)
      // What to raise, and what follows it after a space, is in the details of an error, which users do not read.
      .filter((sentence) => sentence.endsWith('.') && !/^(?:Raise it | )/.test(sentence))
    expect(ofErrors.length).toBeGreaterThan(8)
    const missing = ofErrors.filter((sentence) => !headings.some((heading) => isMadeBy(heading, sentence)))
    expect(missing).toEqual([])
  })
})
