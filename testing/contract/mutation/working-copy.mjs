// A copy of the sources in a folder of its own, where a mutation can do no harm, and the test runner on it.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'

const copied = ['.config', 'src', 'adapters', 'testing', 'examples', 'docs', 'package.json', 'tsconfig.json']
/** With a mutation in place a test that hangs fails after this time, and the first failure is enough. */
const hasty = ['--bail', '1', '--testTimeout', '5000', '--hookTimeout', '30000']
/** A mutation may make an endless loop, which no time limit of a test ends. */
const longestRunMs = 120_000
/** Few simulated runs will do: these mutations show at once. */
const environment = { NO_COLOR: '1', SIMULATION_RUNS: '500' }

/**
 * @typedef {object} TestRun
 * @property {number} total tests that ran
 * @property {readonly string[]} failed full titles of those that failed
 * @property {readonly string[]} files the test files that were run
 * @property {readonly string[]} unloaded test files that could not be run, each with the reason
 */

/** @typedef {Awaited<ReturnType<typeof createWorkingCopy>>} WorkingCopy */

/**
 * Links what is installed for single folders of tests, which is large.
 *
 * @param {string} root
 * @param {string} folder
 */
async function linkFixtures(root, folder) {
  for (const name of await readdir(join(root, 'testing/contract'))) {
    for (const path of [join('testing/contract', name), join('testing/contract', name, 'packages')]) {
      const installed = join(path, 'node_modules')
      if (existsSync(join(root, installed))) await symlink(join(root, installed), join(folder, installed), 'junction')
    }
  }
}

/**
 * @param {string} root the root of the repository
 */
export async function createWorkingCopy(root) {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeeper-mutation-'))
  const filter = (/** @type {string} */ path) => basename(path) !== 'node_modules'
  for (const name of copied) await cp(join(root, name), join(folder, name), { recursive: true, filter })
  await linkFixtures(root, folder)
  // A folder of links and no link to the folder: what the test runner caches must not be shared with other runs.
  await mkdir(join(folder, 'node_modules'))
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (!name.startsWith('.'))
      await symlink(join(root, 'node_modules', name), join(folder, 'node_modules', name), 'junction')
  }

  return {
    /** @param {string} file */
    read: (file) => readFile(join(folder, file), 'utf8'),
    /**
     * @param {string} file
     * @param {string} text
     */
    write: (file, text) => writeFile(join(folder, file), text),
    /**
     * Runs test files.
     *
     * @param {readonly string[]} paths parts of their paths
     * @param {{ isMutated: boolean }} options
     * @returns {Promise<TestRun>}
     */
    async test(paths, { isMutated }) {
      const report = join(folder, 'report.json')
      await rm(report, { force: true })
      const { output, isEnded } = await run(folder, isMutated ? longestRunMs : 0, [
        join('node_modules', 'vitest', 'vitest.mjs'),
        'run',
        ...['--config', join('.config', 'vitest.config.ts')],
        ...['unit', 'unit-alone', 'contract', 'servers', 'examples'].flatMap((project) => ['--project', project]),
        ...['--reporter', 'json', '--outputFile', report],
        ...['--maxWorkers', '1', ...(isMutated ? hasty : [])],
        ...paths,
      ])
      if (!isEnded) return { total: 1, failed: ['(the tests did not end)'], files: [], unloaded: [] }
      return summarize(await readFile(report, 'utf8').catch(() => undefined), folder, output)
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/**
 * @param {string | undefined} report what the JSON reporter wrote
 * @param {string} folder
 * @param {string} output what the runner printed
 * @returns {TestRun}
 */
function summarize(report, folder, output) {
  if (report === undefined)
    return { total: 0, failed: [], files: [], unloaded: [`no test ran: ${output.trim().slice(-500)}`] }
  /**
   * @type {{ testResults: { name: string, status: string, message: string, assertionResults: { status: string,
   * fullName: string }[] }[] }}
   */
  const { testResults } = JSON.parse(report)
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults)
  const ran = tests.filter(({ status }) => status === 'passed' || status === 'failed')
  const failed = ran.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName)
  const unloaded = testResults
    .filter(
      ({ status, assertionResults }) =>
        status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
    )
    .map(({ name, message }) => `${relative(folder, name)}: ${message.trim().slice(0, 300)}`)
  const files = testResults.map(({ name }) => relative(folder, name))
  return { total: ran.length, failed, files, unloaded }
}

/**
 * @param {string} folder
 * @param {number} timeout in milliseconds; 0 is none
 * @param {readonly string[]} args
 * @returns {Promise<{ output: string, isEnded: boolean }>} what it printed, and whether it ended in time
 */
function run(folder, timeout, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: { ...process.env, ...environment },
      timeout,
      killSignal: 'SIGKILL',
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
    child.on('error', reject)
    child.on('close', (_code, signal) => resolve({ output, isEnded: signal !== 'SIGKILL' }))
  })
}
