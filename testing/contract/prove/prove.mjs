// Shows that the tests can fail: applies each break to a copy of the sources, one at a time, and runs the test files
// that should notice. A break that no test notices, or that no longer fits the sources, fails the whole run.
//
//   npm run prove                 all breaks
//   npm run prove -- fifo owner   those whose names contain one of the words
import { fileURLToPath } from 'node:url'
import { applyBreak } from './apply-break.mjs'
import { breaks } from './breaks/index.mjs'
import { createWorkingCopy } from './working-copy.mjs'

/** @typedef {import('./apply-break.mjs').Break} Break */
/** @typedef {{ change: Break, total: number, verdict: 'caught' | 'SURVIVED' | 'BAD BREAK', note: string }} Row */

const atOnce = 2
const root = fileURLToPath(new URL('../../..', import.meta.url))
const words = process.argv.slice(2).map((word) => word.toLowerCase())
const chosen = breaks.filter(
  ({ name }) => words.length === 0 || words.some((word) => name.toLowerCase().includes(word)),
)
const startedAt = Date.now()
const copies = await Promise.all(Array.from({ length: atOnce }, () => createWorkingCopy(root)))

try {
  process.exitCode = await prove()
} finally {
  await Promise.all(copies.map((copy) => copy.remove()))
}

async function prove() {
  const names = new Set(breaks.map(({ name }) => name))
  if (names.size < breaks.length) return fail('Two breaks have one name.')
  if (chosen.length === 0) return fail(`No break is named like ${words.join(', ')}.`)
  const control = await runControl()
  if (control !== undefined) return fail(`The tests are not green without a break:\n${control}`)
  const rows = await runAll()
  printTable(rows)
  const caught = rows.filter(({ verdict }) => verdict === 'caught').length
  const seconds = Math.round((Date.now() - startedAt) / 1000)
  console.log(`\n${caught} of ${rows.length} breaks caught, after ${seconds} s.`)
  return caught === rows.length ? 0 : 1
}

/** Runs everything unbroken; what is wrong, or `undefined`. */
async function runControl() {
  const paths = [...new Set(chosen.flatMap(({ tests }) => tests))].sort()
  const half = Math.ceil(paths.length / atOnce)
  const parts = copies.map((copy, index) => ({ copy, paths: paths.slice(index * half, (index + 1) * half) }))
  const runs = await Promise.all(
    parts.filter((part) => part.paths.length > 0).map((part) => part.copy.test(part.paths, { isBroken: false })),
  )
  const files = runs.flatMap((run) => run.files)
  const unmatched = paths.filter((path) => !files.some((file) => file.includes(path)))
  const wrong = [
    ...runs.flatMap(({ failed, unloaded }) => [...failed, ...unloaded]),
    ...unmatched.map((path) => `no test file: ${path}`),
  ]
  if (wrong.length > 0) return wrong.join('\n')
  const total = runs.reduce((sum, run) => sum + run.total, 0)
  console.log(`Control run: ${total} tests of ${new Set(files).size} files, unbroken: green.`)
  return undefined
}

/** @returns {Promise<readonly Row[]>} in the order of the list */
async function runAll() {
  /** @type {Row[]} */
  const rows = []
  const waiting = [...chosen.entries()]
  await Promise.all(
    copies.map(async (copy) => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [index, change] = next
        rows[index] = await tryBreak(copy, change)
      }
    }),
  )
  return rows
}

/**
 * @param {import('./working-copy.mjs').WorkingCopy} copy
 * @param {Break} change
 * @returns {Promise<Row>}
 */
async function tryBreak(copy, change) {
  /** @param {string} note */
  const bad = (note) => /** @type {Row} */ ({ change, total: 0, verdict: 'BAD BREAK', note })
  const source = await copy.read(change.file).catch(() => undefined)
  if (source === undefined) return bad('its source file is gone')
  let broken
  try {
    broken = applyBreak(source, change)
  } catch (error) {
    return bad(error instanceof Error ? error.message : String(error))
  }
  await copy.write(change.file, broken)
  try {
    const { total, failed, unloaded } = await copy.test(change.tests, { isBroken: true })
    const [first] = failed
    // Sources that do not even load prove nothing about the tests.
    if (first === undefined) {
      return unloaded.length > 0
        ? bad(unloaded.join('; '))
        : { change, total, verdict: 'SURVIVED', note: 'no test failed' }
    }
    return { change, total, verdict: 'caught', note: first }
  } finally {
    await copy.write(change.file, source)
  }
}

/** @param {readonly Row[]} rows */
function printTable(rows) {
  const cells = rows.map(({ change, total, verdict, note }) => [change.name, change.file, String(total), verdict, note])
  const table = [['break', 'file', 'tests', 'verdict', 'caught by'], ...cells]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => (row[column] ?? '').length)))
  console.log()
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
}

/** @param {string} text */
function fail(text) {
  console.error(text)
  return 1
}
