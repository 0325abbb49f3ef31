/** What `npm run mutate` would change is there, so are the tests it runs, and a run that measured nothing fails. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../../', import.meta.url)
// Scripts without types of their own: Node runs them as they are.
const load = (file: string): Promise<unknown> => import(new URL(file, import.meta.url).href)
const { chooseScored, scoreOf } = (await load('./scored-files.mjs')) as {
  chooseScored(words: readonly string[]): readonly { readonly file: string; readonly tests: readonly string[] }[]
  scoreOf(file: string, results: readonly { readonly status: string }[]): object
}
const { queryMutations } = (await load('./query-mutations.mjs')) as {
  queryMutations: readonly {
    readonly file: string
    readonly test: string
    readonly rows: readonly (readonly [name: string, text: string, replacement: string])[]
  }[]
}

test.each(chooseScored([]))('$file and its tests are there', ({ file, tests }) => {
  const isThere = (part: string): boolean => {
    const { href } = new URL(part, root)
    const names = readdirSync(new URL('.', href))
    return names.some((name) => name.endsWith('.test.ts') && new URL(name, href).href.startsWith(href))
  }
  expect([existsSync(new URL(file, root)), tests.filter(isThere)]).toEqual([true, tests])
})

test.each(queryMutations)('each text to replace is in $file once', ({ file, test: path, rows }) => {
  const source = readFileSync(new URL(file, root), 'utf8')
  expect(rows.filter(([, text]) => source.split(text).length !== 2)).toEqual([])
  expect(existsSync(new URL(path, root))).toBe(true)
})

test('a score counts the mutants that could be run', () => {
  const results = ['Killed', 'Killed', 'Timeout', 'Survived', 'CompileError'].map((status) => ({ status }))
  expect(scoreOf('src/a.ts', results)).toEqual({ score: 75, mutants: 4, survivors: 1 })
  expect(() => scoreOf('src/a.ts', [{ status: 'CompileError' }])).toThrow('nothing to change in src/a.ts')
})

test('a word that is in no path fails, and names the files', () => {
  expect(chooseScored(['lock']).map(({ file }) => file)).toEqual(['src/session/lock/session-lock.ts'])
  expect(() => chooseScored(['lock', 'sesion'])).toThrow(
    "None of the scored files has 'sesion' in its path:\nsrc/session/lock/session-lock.ts\n",
  )
})
