import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

type Edit = Readonly<Record<string, string>>

interface Mutation {
  readonly name: string
  readonly file: string
  readonly symbol: string
  readonly edit: Edit
  readonly tests: readonly string[]
}

// Scripts without types of their own: Node runs them as they are.
const load = (file: string): Promise<unknown> => import(new URL(file, import.meta.url).href)
const { applyMutation } = (await load('./apply-mutation.mjs')) as {
  applyMutation(source: string, mutation: Pick<Mutation, 'symbol' | 'edit'>): string
}
const { chooseChanged } = (await load('./choose-changed.mjs')) as {
  chooseChanged(
    mutations: readonly Mutation[],
    changed: readonly string[] | undefined,
  ): { chosen: readonly Mutation[]; note: string }
}
const { mutations } = (await load('./mutations/index.mjs')) as { mutations: readonly Mutation[] }

const source = `/** a(1) */
export function first(one: number): void
export function first(one: unknown): void {
  // a(1)
  a(1)
  if (one === 2 && b) return
}
export class List {
  #size = 0
  get size(): number { return this.#size }
  add(entry: object, other = \`x \${a(1)} AND y\`): void {
    if (entry === undefined) {
      throw new Error('none')
    }
    this.#size = count(
      this.#size,
      entry,
    )
  }
}
export const empty = { add: () => { a(1) } }
`
const apply = (symbol: string, edit: Edit): string => applyMutation(source, { symbol, edit })
const withChange = (from: string, to: string): string => {
  expect(source.split(from)).toHaveLength(2)
  return source.replace(from, () => to)
}

describe('applyMutation', () => {
  test('changes a piece within the symbol, whatever is elsewhere and in comments', () => {
    expect(apply('first', { piece: 'a(1)', becomes: '$& c()' })).toBe(withChange('  a(1)\n', '  $& c()\n'))
  })

  test('finds a piece that is wrapped, with a comma before the bracket, in text as well', () => {
    const whole = 'count(\n      this.#size,\n      entry,\n    )'
    expect(apply('List.add', { piece: 'count(this.#size, entry)', becomes: '0' })).toBe(withChange(whole, '0'))
    expect(apply('List.add', { piece: 'AND y', becomes: '' })).toBe(withChange('AND y', ''))
  })

  test('lets a name stand for any name, also in what becomes of it', () => {
    expect(apply('List.add', { piece: 'count(this.@size, @what)', becomes: '@what.@size' })).toContain(
      'this.#size = entry.#size',
    )
    expect(() => apply('first', { piece: '@a === @a', becomes: '' })).toThrow('its piece is not in the symbol')
  })

  test('does not take the end of one word for another', () => {
    expect(() => apply('first', { piece: 'ne === 2', becomes: '' })).toThrow('its piece is not in the symbol')
  })

  test('replaces a statement, a condition or a whole body', () => {
    expect(apply('first', { statement: 'a(1)', becomes: '' })).toBe(withChange('  a(1)\n', '  \n'))
    expect(apply('List.add', { statement: "'none'", becomes: ';' })).toBe(withChange("throw new Error('none')", ';'))
    expect(apply('first', { condition: 'one', becomes: 'false' })).toBe(withChange('one === 2 && b', 'false'))
    expect(apply('size', { body: 'return 1' })).toBe(withChange('{ return this.#size }', '{ return 1 }'))
    expect(apply('empty.add', { body: '' })).toBe(withChange('{ a(1) }', '{  }'))
  })

  test.each([
    ['a symbol that is not there', 'second', { body: '' }, "'second' is not in the file"],
    ['a symbol that is there twice', 'add', { body: '' }, "'add' is in the file 2 times; name what it is in as well"],
    ['a piece that is not there', 'first', { piece: 'b()', becomes: '' }, 'its piece is not in the symbol: b()'],
    [
      'a piece that is there twice',
      'List.add',
      { piece: 'entry', becomes: '' },
      'its piece is in the symbol 3 times: entry',
    ],
    ['no such condition', 'first', { condition: 'c', becomes: '' }, 'its piece is in no condition of the symbol: c'],
    ['no body', 'List', { body: '' }, 'it has no body in braces'],
    ['no change', 'first', { piece: 'a(1)', becomes: 'a(1)' }, 'its replacement changes nothing'],
  ])('refuses %s', (_name, symbol, edit, message) => {
    expect(() => apply(symbol, edit)).toThrow(new Error(message))
  })
})

describe('chooseChanged', () => {
  const row = (name: string, file: string, tests: string[]): Mutation => ({ name, file, symbol: '', edit: {}, tests })
  const rows = [
    row('one', 'src/a.ts', ['src/a.']),
    row('two', 'src/b.ts', ['src/b.', 'src/c.']),
    row('stale save wins', 'src/d.ts', ['src/d.']),
  ]
  const namesFor = (changed?: string[]): string[] => chooseChanged(rows, changed).chosen.map(({ name }) => name)

  test('takes those of the files that changed, and of their tests', () => {
    expect(namesFor(['src/a.ts', 'README.md'])).toEqual(['one'])
    expect(namesFor(['src/c.test.ts'])).toEqual(['two'])
  })

  test('takes a fixed few where nothing belongs to the change, or nobody can tell', () => {
    expect([namesFor(['README.md']), namesFor()]).toEqual([['stale save wins'], ['stale save wins']])
  })

  test('takes no more than can be run, of all files', () => {
    const many = Array.from({ length: 100 }, (_, index) => row(`${index}`, 'src/a.ts', []))
    const { chosen, note } = chooseChanged(many, ['src/a.ts'])
    expect([chosen.length, chosen.at(-1)?.name, new Set(chosen).size]).toEqual([24, '95', 24])
    expect(note).toContain('100 mutations, of which 24')
  })

  test('knows the few by their names', () => {
    expect(chooseChanged(mutations, undefined).chosen).toHaveLength(6)
  })
})

// Whether each fits its file is checked by `npm run mutate`, at every start.
test('every mutation has a name of its own, a file that exists, and tests', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url))
  expect(mutations.length).toBeGreaterThanOrEqual(150)
  expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length)
  expect(mutations.filter(({ file, tests }) => !existsSync(`${root}/${file}`) || tests.length === 0)).toEqual([])
})
