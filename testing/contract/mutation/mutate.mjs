// Shows that the tests can fail: applies each mutation to a copy of the sources, one at a time, and runs the test files
// that should notice. A mutation that no test notices, or that no longer fits the sources, fails the whole run.
//
//   npm run mutate                      all mutations
//   npm run mutate -- fifo owner        those whose names contain one of the words
//   npm run mutate -- --changed         those of files that the change touches, or whose tests it touches
//   npm run mutate -- src/util/json.ts  one file, changed by Stryker in every way it knows
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { applyMutation } from './apply-mutation.mjs'
import { changedFiles } from './changed-files.mjs'
import { always, chooseChanged } from './choose-changed.mjs'
import { mutations } from './mutations/index.mjs'
import { scoredFiles } from './scored-files.mjs'
import { createWorkingCopy } from './working-copy.mjs'

/** @typedef {import('./apply-mutation.mjs').Mutation} Mutation */
/** @typedef {import('./working-copy.mjs').WorkingCopy} WorkingCopy */
/**
 * @typedef {{ mutation: Mutation, total: number, verdict: 'caught' | 'SURVIVED' | 'DOES NOT LOAD' | 'left
 * out', note: string }} Row
 */

const atOnce = 2
const root = fileURLToPath(new URL('../../..', import.meta.url))
const words = process.argv.slice(2)
const startedAt = Date.now()

if (words.length > 0 && words.every((word) => /\.ts$/.test(word) && existsSync(join(root, word)))) {
  const { runStryker } = await import('./stryker.mjs')
  const beside = words.map((file) => file.replace(/\.ts$/, '.'))
  const tests = [...mutations, ...scoredFiles].filter(({ file }) => words.includes(file)).flatMap(({ tests }) => tests)
  await runStryker(root, words, [...new Set([...beside, ...tests])])
} else {
  process.exitCode = await mutate(choose())
}

/** @returns {readonly Mutation[]} */
function choose() {
  if (!words.includes('--changed')) {
    const parts = words.map((word) => word.toLowerCase())
    return mutations.filter(({ name }) => parts.length === 0 || parts.some((part) => name.toLowerCase().includes(part)))
  }
  const { chosen, note } = chooseChanged(mutations, changedFiles(root))
  console.log(note)
  return chosen
}

/** @param {readonly Mutation[]} chosen */
async function mutate(chosen) {
  const names = new Set(mutations.map(({ name }) => name))
  if (names.size < mutations.length) return fail('Two mutations have one name.')
  const gone = always.filter((name) => !names.has(name))
  if (gone.length > 0) return fail(`Mutations that are tried in any case were renamed or removed: ${gone.join(', ')}.`)
  const unfit = mutations.flatMap((mutation) => problemOf(mutation) ?? [])
  if (unfit.length > 0) return fail(`These mutations do not fit the sources any more:\n${unfit.join('\n')}`)
  if (chosen.length === 0) return fail(`No mutation is named like ${words.join(', ')}.`)
  const copies = await Promise.all(Array.from({ length: atOnce }, () => createWorkingCopy(root)))
  try {
    const control = await runControl(copies, chosen)
    if (control !== undefined) return fail(`The tests fail without a mutation:\n${control}`)
    const rows = await runAll(copies, chosen)
    printTable(rows)
    const caught = rows.filter(({ verdict }) => verdict === 'caught').length
    const leftOut = rows.filter(({ verdict }) => verdict === 'left out').length
    const seconds = Math.round((Date.now() - startedAt) / 1000)
    console.log(`\n${caught} of ${rows.length} mutations caught, ${leftOut} left out, after ${seconds} s.`)
    return caught + leftOut === rows.length ? 0 : 1
  } finally {
    await Promise.all(copies.map((copy) => copy.remove()))
  }
}

/** @param {Mutation} mutation */
function problemOf(mutation) {
  const { name, file } = mutation
  try {
    applyMutation(readFileSync(join(root, file), 'utf8'), mutation)
    return undefined
  } catch (error) {
    return `- ${name}: ${file}: ${error instanceof Error ? error.message : error}`
  }
}

/**
 * Runs the tests without a mutation.
 *
 * @param {readonly WorkingCopy[]} copies
 * @param {readonly Mutation[]} chosen
 * @returns {Promise<string | undefined>} what is wrong
 */
async function runControl(copies, chosen) {
  const paths = [...new Set(chosen.flatMap(({ tests }) => tests))].sort()
  const half = Math.ceil(paths.length / atOnce)
  const parts = copies.map((copy, index) => ({ copy, paths: paths.slice(index * half, (index + 1) * half) }))
  const runs = await Promise.all(
    parts.filter((part) => part.paths.length > 0).map((part) => part.copy.test(part.paths, { isMutated: false })),
  )
  const files = runs.flatMap((run) => run.files)
  const unmatched = paths.filter((path) => !files.some((file) => file.includes(path)))
  const wrong = [
    ...runs.flatMap(({ failed, unloaded }) => [...failed, ...unloaded]),
    ...unmatched.map((path) => `no test file: ${path}`),
  ]
  if (wrong.length > 0) return wrong.join('\n')
  const total = runs.reduce((sum, run) => sum + run.total, 0)
  console.log(`Control run: ${total} tests of ${new Set(files).size} files, without a mutation: passed.`)
  return undefined
}

/**
 * @param {readonly WorkingCopy[]} copies
 * @param {readonly Mutation[]} chosen
 * @returns {Promise<readonly Row[]>} in the order of the list
 */
async function runAll(copies, chosen) {
  /** @type {Row[]} */
  const rows = []
  const waiting = [...chosen.entries()]
  await Promise.all(
    copies.map(async (copy) => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const [index, mutation] = next
        rows[index] = await tryMutation(copy, mutation)
      }
    }),
  )
  return rows
}

/**
 * @param {WorkingCopy} copy
 * @param {Mutation} mutation
 * @returns {Promise<Row>}
 */
async function tryMutation(copy, mutation) {
  const source = await copy.read(mutation.file)
  await copy.write(mutation.file, applyMutation(source, mutation))
  try {
    const { total, failed, unloaded } = await copy.test(mutation.tests, { isMutated: true })
    const [first] = failed
    if (first !== undefined) return { mutation, total, verdict: 'caught', note: first }
    // Sources that do not even load show nothing about the tests.
    if (unloaded.length > 0) return { mutation, total, verdict: 'DOES NOT LOAD', note: unloaded.join('; ') }
    // A database that is not installed. In CI nobody would see it.
    if (total === 0 && process.env.CI === undefined)
      return { mutation, total, verdict: 'left out', note: 'its tests are skipped here' }
    return { mutation, total, verdict: 'SURVIVED', note: 'no test failed' }
  } finally {
    await copy.write(mutation.file, source)
  }
}

/** @param {readonly Row[]} rows */
function printTable(rows) {
  const cells = rows.map(({ mutation, total, verdict, note }) => [
    mutation.name,
    mutation.file,
    String(total),
    verdict,
    note,
  ])
  const table = [['mutation', 'file', 'tests', 'verdict', 'caught by'], ...cells]
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
