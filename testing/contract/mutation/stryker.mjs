// Mutates one source file in every way that Stryker knows, and runs the tests that import it. For somebody who writes a
// file: the report lists what no test notices. `npm run mutate` without a file runs the named mutations instead.
import { Stryker } from '@stryker-mutator/core'

/**
 * @param {string} root
 * @param {readonly string[]} files from the root of the repository
 * @returns {Promise<number>} the exit code
 */
export async function runStryker(root, files) {
  process.chdir(root)
  const results = await new Stryker({
    mutate: [...files],
    plugins: ['@stryker-mutator/vitest-runner'],
    testRunner: 'vitest',
    vitest: { configFile: 'testing/contract/mutation/stryker.vitest.config.ts', related: true },
    ignorePatterns: [
      '.git',
      '.reports',
      'dist',
      'examples/dist',
      'docs/api',
      'coverage',
      'testing/contract/sqlite/node_modules',
    ],
    tempDirName: '.reports/stryker',
    reporters: ['clear-text'],
    clearTextReporter: { allowColor: false, allowEmojis: false, logTests: false },
    concurrency: 2,
    allowConsoleColors: false,
  }).runMutationTest()
  return results.some(({ status }) => status === 'Survived' || status === 'NoCoverage') ? 1 : 0
}
