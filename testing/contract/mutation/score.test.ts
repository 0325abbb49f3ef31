/** Mutation scores: a run that measured nothing fails. And the files of a change, of which new ones are a part. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

// Scripts without types of their own: Node runs them as they are.
const load = (file: string): Promise<unknown> => import(new URL(file, import.meta.url).href)
const { scoreOf } = (await load('./score-of.mjs')) as {
  scoreOf(file: string, results: readonly { readonly status: string }[]): object
}
const { changedFiles } = (await load('./changed-files.mjs')) as {
  changedFiles(root: string): readonly string[] | undefined
}

const folder = mkdtempSync(join(tmpdir(), 'changed-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a score counts the mutants that could be run', () => {
  const results = ['Killed', 'Killed', 'Timeout', 'Survived', 'CompileError'].map((status) => ({ status }))
  expect(scoreOf('src/a.ts', results)).toEqual({ score: 75, mutants: 4, survivors: 1 })
  expect(() => scoreOf('src/a.ts', [{ status: 'CompileError' }])).toThrow('nothing to change in src/a.ts')
})

test('a word that is in no path fails, and names the files', () => {
  const script = fileURLToPath(new URL('score.mjs', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, 'sesion-lock'], { encoding: 'utf8' })
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toContain("None of the scored files has 'sesion-lock' in its path:\nadapters/fetch/cors.ts\n")
})

test('the files of a change are those of its commits, those that are not committed, and new ones', () => {
  const git = (...words: readonly string[]): void => {
    const author = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', '-c', 'commit.gpgsign=false']
    execFileSync('git', [...author, ...words], { cwd: folder, stdio: 'pipe' })
  }
  const write = (file: string, text: string): void => writeFileSync(join(folder, file), text)
  git('init', '-q', '-b', 'main')
  for (const file of ['same.ts', 'committed.ts', 'edited.ts']) write(file, '1')
  write('.gitignore', 'ignored.ts\n')
  git('add', '.')
  git('commit', '-q', '-m', 'one')
  git('checkout', '-q', '-b', 'change')
  write('committed.ts', '2')
  git('commit', '-q', '-a', '-m', 'two')
  write('edited.ts', '2')
  write('new.ts', '1')
  write('ignored.ts', '1')
  expect(changedFiles(folder)).toEqual(['committed.ts', 'edited.ts', 'new.ts'])
})
