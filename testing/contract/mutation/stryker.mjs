// Changes one source file in every way that Stryker knows, and runs the tests that belong to it. For somebody who
// writes a file: the report lists what no test notices, which may be what makes no difference. Only a run
// that cannot be done fails.
import { Stryker } from '@stryker-mutator/core'

/** @typedef {Awaited<ReturnType<typeof runStryker>>} MutantResults */

/**
 * @param {string} root
 * @param {readonly string[]} files from the root of the repository
 * @param {readonly string[]} tests the paths of the tests that belong to them, or how these begin
 */
export async function runStryker(root, files, tests) {
  process.chdir(root)
  // Read by stryker.vitest.config.ts, in other processes.
  process.env.MUTATION_TESTS = tests.join(' ')
  return await new Stryker({
    mutate: [...files],
    plugins: ['@stryker-mutator/vitest-runner'],
    testRunner: 'vitest',
    // Which tests are run is decided by MUTATION_TESTS: to look for them in the graph of imports takes seconds.
    vitest: { configFile: 'testing/contract/mutation/stryker.vitest.config.ts', related: false },
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
