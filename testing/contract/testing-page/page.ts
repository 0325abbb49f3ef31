/**
 * A page on testing as its reader meets it: blocks of code to put into files, and what is printed. A test takes each
 * block by a part of its text, and runs it or compares it. `unused` has the places of those that no test took.
 */
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import { afterAll, describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** The pages on testing, without `.md`. */
export const pagesOnTesting: readonly string[] = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md') && /test|scenario|replay|simulat|coverage/.test(name))
  .map((name) => name.slice(0, -'.md'.length))

/** A block of code. */
export interface Block {
  /** Such as `docs/testing.md:7`. */
  readonly place: string
  readonly language: string
  readonly text: string
}

export class Page {
  readonly blocks: readonly Block[]
  readonly #taken = new Set<Block>()
  /** The folder of the reader's project, in which the repository's packages are found. */
  readonly folder: string = mkdtempSync(join(tmpdir(), 'page-'))

  constructor(name: string) {
    const text = readFileSync(join(root, `docs/${name}.md`), 'utf8')
    const found = text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)
    this.blocks = Array.from(found, ({ index, 1: language = '', 2: code = '' }) => {
      const line = text.slice(0, index).split('\n').length
      return { place: `docs/${name}.md:${line}`, language, text: code }
    })
    symlinkSync(join(root, 'node_modules'), join(this.folder, 'node_modules'), 'dir')
    afterAll(() => rmSync(this.folder, { recursive: true, force: true }))
  }

  /** The block that has this part, in exactly one place of the page. It counts as run or compared. */
  block(part: string): Block {
    const [found, ...others] = this.blocks.filter(({ text }) => text.includes(part))
    if (found === undefined || others.length > 0) {
      throw new Error(
        `${others.length + (found === undefined ? 0 : 1)} blocks of the page have ${JSON.stringify(part)}.`,
      )
    }
    this.#taken.add(found)
    return found
  }

  /** The text of a block. */
  text(part: string): string {
    return this.block(part).text
  }

  /** Leaves a block to another test, or to none. A test file that the reason names must exist. */
  leaveOut(part: string, reason: string): void {
    const { place } = this.block(part)
    const [missing] = (reason.match(/[\w/.-]+\.test\.ts/g) ?? []).filter((file) => !existsSync(join(root, file)))
    if (missing !== undefined) throw new Error(`${place} is left to ${missing}, which does not exist.`)
    if (reason === '') throw new Error(`${place} is left out without a reason.`)
  }

  /** The blocks that no test took. */
  unused(): string[] {
    return this.blocks.filter((block) => !this.#taken.has(block)).map(({ place, language }) => `${place} (${language})`)
  }

  /** Writes a file of the project. Returns its path. */
  write(file: string, text: string): string {
    const path = join(this.folder, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
    return path
  }

  /** Writes a module and imports it. `turnkeeper` is the source, as in all tests. */
  async load<Exports>(file: string, text: string): Promise<Exports> {
    return (await import(this.write(file, text))) as Exports
  }

  /** Runs the tests of a block as tests of this file. `before` are the lines that the page leaves out. */
  runTests(file: string, { place, text }: Block, before = ''): void {
    describe(`${file} of ${place}`, async () => {
      await this.load(file, `${before}${text}`)
    })
  }

  /** The last test of a page: every block was taken. */
  testThatAllAreUsed(): void {
    test('every block of the page is run, compared, or left out with a reason', () => expect(this.unused()).toEqual([]))
  }
}

/** TypeScript as the JavaScript that a compiler makes of it. */
export function compiled(text: string): string {
  return transformSync(text, { loader: 'ts', target: 'es2022' }).code
}

/** What a command prints on both streams, and its exit code. */
export function runIn(
  folder: string,
  ...words: readonly string[]
): { readonly code: number | null; readonly output: string } {
  // Another vitest must not think that it is part of this one.
  const {
    VITEST: _vitest,
    NODE_OPTIONS: _options,
    NODE_TEST_CONTEXT: _context,
    TEST_REPORT: _report,
    ...env
  } = process.env
  const [command = '', ...others] = words
  const { status, stdout, stderr } = spawnSync(command, others, {
    cwd: folder,
    encoding: 'utf8',
    env: { ...env, CI: 'true', NO_COLOR: '1', npm_config_loglevel: 'error' },
  })
  return { code: status, output: `${stdout}${stderr}` }
}

/** What `run` fails with. */
export async function failureOf(run: () => unknown): Promise<string> {
  try {
    await run()
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('It does not fail.')
}
