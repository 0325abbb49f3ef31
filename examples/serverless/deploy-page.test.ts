// The figures on docs/deploy.md are those that were measured last.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
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
