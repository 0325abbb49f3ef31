// Runs the test file of each row of query-mutations.mjs with its fault in place: the text is replaced when the file is
// loaded, and nothing is written to the disk.
import { join } from 'node:path'
import { startVitest } from 'vitest/node'
import { queryMutations } from './query-mutations.mjs'

/**
 * @param {string} root
 * @param {readonly string[]} words parts of the names of the rows; without any, all rows
 * @returns {Promise<0 | 1>} the exit code
 */
export async function runQueryMutations(root, words) {
  const isChosen = (/** @type {string} */ name) => words.length === 0 || words.some((word) => name.includes(word))
  const chosen = queryMutations.flatMap(({ file, test, rows }) =>
    rows
      .filter(([name]) => isChosen(name))
      .map(([name, text, replacement]) => ({ name, file, test, text, replacement })),
  )
  /** @type {string[]} */
  const verdicts = []
  // A server that is not installed fails its tests. Without CI they would be skipped, and notice nothing.
  process.env.CI = 'true'
  for (const test of new Set(chosen.map((mutation) => mutation.test))) {
    if (await fails(test, [])) throw new Error(`${test} must pass before a fault is put in: see docs/contributing.md.`)
  }
  for (const mutation of chosen) verdicts.push(`${await verdictOn(root, mutation)}  ${mutation.name}`)
  const caught = verdicts.filter((verdict) => verdict.startsWith('caught')).length
  console.log(['', ...verdicts, `${caught} of ${chosen.length} faults caught.`].join('\n'))
  return caught === chosen.length && caught > 0 ? 0 : 1
}

/**
 * @param {string} root
 * @param {{ file: string, test: string, text: string, replacement: string }} mutation
 */
async function verdictOn(root, { file, test, text, replacement }) {
  let isLoaded = false
  const fault = {
    name: 'fault',
    enforce: /** @type {const} */ ('pre'),
    /** @param {string} code @param {string} id */
    transform(code, id) {
      if (id !== join(root, file)) return undefined
      isLoaded = true
      return code.replace(text, () => replacement)
    },
  }
  const isCaught = await fails(test, [fault])
  if (!isLoaded) return 'NOT LOADED'
  return isCaught ? 'caught    ' : 'SURVIVED  '
}

/**
 * @param {string} test the path of a test file
 * @param {import('vite').Plugin[]} plugins
 * @returns {Promise<boolean>} whether one of its tests fails
 */
async function fails(test, plugins) {
  process.env.MUTATION_TESTS = test
  const vitest = await startVitest(
    'test',
    [],
    { config: 'testing/contract/mutation/mutation.vitest.config.ts', watch: false, bail: 1, reporters: ['dot'] },
    { plugins },
  )
  const modules = vitest.state.getTestModules()
  await vitest.close()
  return modules.some((module) => module.state() === 'failed')
}
