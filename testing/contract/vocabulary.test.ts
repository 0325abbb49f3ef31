/** Holds `.config/scripts/vocabulary.mjs` to its own rules, with words that no other file uses. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

interface Rule {
  readonly pattern: RegExp
  readonly instead: string
}

interface Finding {
  readonly line: number
  readonly word: string
  readonly instead: string
}

const scriptUrl = new URL('../../.config/scripts/vocabulary.mjs', import.meta.url)
// A script without types of its own: Node runs it as it is.
const { readRules, findWords, findLongComments } = (await import(scriptUrl.href)) as {
  readRules(text: string): Rule[]
  findWords(text: string, rules: readonly Rule[]): Finding[]
  findLongComments(text: string): { readonly line: number; readonly width: number }[]
}

const rules = readRules('# a comment\n\n\\bwombats?\\b => badger\nis a fox => say which one\n')

function wordsIn(text: string): [number, string][] {
  return findWords(text, rules).map(({ line, word }) => [line, word])
}

describe('findWords', () => {
  test('names the line, the word as it stands there, and what to write instead', () => {
    expect(findWords('first\n// Two Wombats here.\n', rules)).toEqual([{ line: 2, word: 'Wombats', instead: 'badger' }])
  })

  test('finds every word, in the order of the lines', () => {
    expect(wordsIn('This is a fox.\nA wombat and a wombat.\n')).toEqual([
      [1, 'is a fox'],
      [2, 'wombat'],
      [2, 'wombat'],
    ])
  })

  test.each([
    ['a block comment', '/**\n * This is a\n * fox.\n */'],
    ['line comments', '// nothing\n// This is\n// a fox.'],
    ['a paragraph', 'Nothing.\nThis is a\nfox.'],
  ])('finds words that go on in the next line of %s', (_where, text) => {
    expect(wordsIn(text)).toEqual([[2, 'is a fox']])
  })

  test('leaves out a line that gives a reason, and only that line', () => {
    const text = 'const wombat = 1 // vocabulary: the name of the package\nconst other = wombat\n'
    expect(wordsIn(text)).toEqual([[2, 'wombat']])
    expect(wordsIn('// This is a\n// fox. vocabulary: a quotation')).toEqual([])
  })

  test('takes no exception without a reason', () => {
    expect(wordsIn('const wombat = 1 // vocabulary:\n')).toEqual([[1, 'wombat']])
  })

  test('leaves out words that only contain one', () => {
    expect(wordsIn('wombatlike\n')).toEqual([])
  })
})

describe('findLongComments', () => {
  const words = 'word '.repeat(30).trim()

  test.each([
    ['a line comment', `// ${words}`, 152],
    ['a block comment', `/** ${words} */`, 156],
    ['a line of a block comment', `   * ${words}`, 154],
  ])('finds %s that is wider than 120 characters', (_what, line, width) => {
    expect(findLongComments(`const one = 1\n${line}\n`)).toEqual([{ line: 2, width }])
  })

  test.each([
    ['a comment of 120 characters', `// ${'w'.repeat(117)}`],
    ['code', `const text = '${words}'`],
    ['a web address', `// See https://example.com/${'w'.repeat(120)}`],
  ])('leaves %s as it is', (_what, line) => {
    expect(findLongComments(line)).toEqual([])
  })
})

test.each(['wombat', 'wombat =>', ' => badger', 'wombat => badger => fox'])('readRules refuses %j', (line) => {
  expect(() => readRules(line)).toThrow(
    new Error(`A line of the vocabulary must be '<pattern> => <what to write instead>'; got '${line}'.`),
  )
})

describe('the vocabulary of the project', () => {
  const vocabulary = readRules(readFileSync(new URL('../../.config/vocabulary.txt', import.meta.url), 'utf8'))

  test.each([
    'class MemoryKeeper {}', // vocabulary: a planted line
    'The next visitor enters.', // vocabulary: a planted line
    'It runs the sequel.', // vocabulary: a planted line
    'It lets go of the lock.', // vocabulary: a planted line
    'if (events.isHeard(name)) return', // vocabulary: a planted line
    'Nobody hears it.', // vocabulary: a planted line
    'interface EngineParts {}', // vocabulary: a planted line
    "import 'turnkeeper/memory'", // vocabulary: a planted line
    'this.#events.tell(name)', // vocabulary: a planted line
    'The model is told why.', // vocabulary: a planted line
    'The answer is no JSON.', // vocabulary: a planted line
    'A turn waits in line.', // vocabulary: a planted line
    'It keeps its place in line.', // vocabulary: a planted line
    'The turn is given up.', // vocabulary: a planted line
    'The engine gives the call up.', // vocabulary: a planted line
  ])('has a rule for %j', (line) => {
    expect(findWords(line, vocabulary)).toHaveLength(1)
  })

  test.each([
    "import { FlowEngine } from 'turnkeeper'",
    "import 'turnkeeper/memory-policies'",
    'There is no session.',
    'It is no longer there.',
    'Tell the user what happened.',
    'The two cannot be told apart.',
    'The error is in line 12.',
    'This is in line with RFC 9110.',
    'What is given ends up in the store.',
    "const shell = intellect('x')",
  ])('has none for %j', (line) => {
    expect(findWords(line, vocabulary)).toEqual([])
  })
})

test('the script prints each finding and fails, skips what is older or built, and passes a clean tree', () => {
  const root = mkdtempSync(join(tmpdir(), 'vocabulary-'))
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  const run = () =>
    spawnSync(process.execPath, [fileURLToPath(scriptUrl)], { cwd: root, encoding: 'utf8', env: process.env })
  const planted = 'one\nits visitor\n' // vocabulary: a planted line
  try {
    for (const folder of ['src', 'adapters', 'testing', 'bin', 'examples', '.config'])
      write(`${folder}/clean.ts`, 'const one = 1\n')
    write('.config/vocabulary.txt', planted)
    write('README.md', planted)
    write('src/long.ts', `// ${'w'.repeat(118)}\n`)
    for (const path of ['docs/decisions/0029-a.md', 'docs/decisions/0028-b.md', 'docs/glossary.md'])
      write(path, planted)
    for (const path of ['examples/dist/a.js', 'testing/node_modules/a/a.js', 'site/a.html']) write(path, planted)
    const found = run()
    expect(found.stderr.split('\n')).toEqual([
      'src/long.ts:1: a comment line of 121 characters; wrap it at 120',
      'README.md:2: "visitor"; write instead: holder, or request', // vocabulary: a planted line
      'docs/decisions/0029-a.md:2: "visitor"; write instead: holder, or request', // vocabulary: a planted line
      '',
    ])
    expect([found.stdout, found.status]).toEqual(['vocabulary: 9 files, 3 findings\n', 1])

    write('README.md', 'one\n')
    write('src/long.ts', '// one\n')
    write('docs/decisions/0029-a.md', 'one\n')
    expect(run()).toMatchObject({ stdout: 'vocabulary: 9 files, 0 findings\n', stderr: '', status: 0 })
  } finally {
    rmSync(root, { recursive: true })
  }
})
