// docs/deploy.md has the latest measured figures, and tells users to copy and install exactly what the examples import.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { pathOf } from './processes.ts'

interface Figures {
  readonly date: string
  readonly rows: readonly {
    readonly name: string
    readonly kibibytes: number
    readonly runtime: string
    readonly milliseconds: number
    readonly timesEmpty: number
  }[]
}

const page = readFileSync(pathOf('docs/deploy.md'), 'utf8')

test('the table of cold starts has the figures of cold-start.json', () => {
  const { date, rows } = JSON.parse(readFileSync(pathOf('examples/serverless/cold-start.json'), 'utf8')) as Figures
  const lines = rows.map(
    ({ name, kibibytes, runtime, milliseconds, timesEmpty }) =>
      `| ${name} | ${kibibytes} KiB | ${runtime} | ${milliseconds} ms | ${timesEmpty} times |`,
  )
  expect(page).toContain(`${['|---|---|---|---|---|', ...lines].join('\n')}\n`)
  expect(page).toContain(`Measured on ${date}`)
})

describe('what to copy', () => {
  const rows = Array.from(
    page.matchAll(/^\| `([\w-]+)` \| (`\S+`(?:, `\S+`)*) \| `((?:npm install|bun add) [^`]+)`/gm),
    ([, name = '', files = '', command = '']) => ({ name, files: files.replaceAll('`', '').split(', '), command }),
  )

  test('is listed for each example', () => {
    expect(rows.map(({ name }) => name)).toEqual(['lambda', 'bun', 'deno', 'cloudflare-worker', 'nextjs'])
    const [lambda] = rows
    expect(page).toContain(`{${lambda?.files.join()}} lambda/\n${lambda?.command}\n`)
  })

  test.each(rows)('$name: the packages that its files import are installed by the command in them', (row) => {
    const files = row.files.flatMap((file) => sourcesIn(`examples/${row.name}/${file}`))
    const imported = [...files, 'examples/serverless/flows.ts'].flatMap((file) => {
      const text = readFileSync(pathOf(file), 'utf8')
      return Array.from(text.matchAll(/ from '([^']+)'/g), ([, specifier = '']) => ({ file, specifier }))
    })
    const installed = row.command.split(' ').map((word) => word.replace(/^\.\/(\w+)-.*/, '$1').replace(/(?<=.)@.*/, ''))
    for (const { file, specifier } of imported) {
      if (specifier.startsWith('.')) {
        expect([file, posix.join(posix.dirname(file), specifier)]).toEqual([file, 'examples/serverless/flows.ts'])
      } else if (!specifier.startsWith('node:')) {
        expect(installed).toContain(/^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0])
      }
    }
    const headers = files
      .map((file) => readFileSync(pathOf(file), 'utf8'))
      .filter((text) => text.includes('What to copy'))
    expect(headers).not.toEqual([])
    for (const text of headers) expect(text).toContain(` *     ${row.command}\n`)
  })
})

/** The sources of a file or a folder. */
function sourcesIn(path: string): string[] {
  if (!statSync(pathOf(path)).isDirectory()) return /\.m?ts$|\.mjs$/.test(path) ? [path] : []
  return readdirSync(pathOf(path)).flatMap((name) => sourcesIn(join(path, name)))
}
