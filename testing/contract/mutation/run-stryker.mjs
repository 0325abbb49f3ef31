// Stryker on files of scored-files.mjs, one after the other: each is changed in every way that Stryker knows, and the
// tests that belong to it run. The report lists what no test noticed, which may be what makes no difference.
import { Stryker } from '@stryker-mutator/core'
import { chooseScored, scoreOf } from './scored-files.mjs'

const leastScore = 90

/**
 * @param {readonly string[]} words parts of the paths of the files; without any, all files
 * @returns {Promise<0 | 1>} the exit code
 */
export async function runStryker(words) {
  const rows = []
  for (const { file, tests } of chooseScored(words)) {
    const { score, mutants, survivors } = scoreOf(file, await mutateFile(file, tests))
    rows.push({ score, text: `| \`${file}\` | ${score.toFixed(1)} % | ${mutants} | ${survivors} |` })
  }
  console.log(['', '| file | score | mutants | survivors |', '|---|---|---|---|'].join('\n'))
  for (const { text } of rows) console.log(text)
  return rows.every(({ score }) => score >= leastScore) ? 0 : 1
}

/**
 * @param {string} file
 * @param {readonly string[]} tests how the paths of the tests begin
 */
async function mutateFile(file, tests) {
  // Read by mutation.vitest.config.ts, in other processes.
  process.env.MUTATION_TESTS = tests.join(' ')
  return await new Stryker({
    mutate: [file],
    plugins: ['@stryker-mutator/vitest-runner'],
    testRunner: 'vitest',
    // Which tests are run is decided by MUTATION_TESTS: to look for them in the graph of imports takes seconds.
    vitest: { configFile: 'testing/contract/mutation/mutation.vitest.config.ts', related: false },
    ignorePatterns: [
      '.git',
      '.reports',
      'dist',
      'examples/dist',
      'site',
      'coverage',
      'node_modules',
      '**/node_modules',
    ],
    tempDirName: '.reports/stryker',
    reporters: ['clear-text'],
    clearTextReporter: { allowColor: false, allowEmojis: false, reportTests: false },
    concurrency: Number(process.env.MUTATION_WORKERS ?? 2),
    allowConsoleColors: false,
  }).runMutationTest()
}
