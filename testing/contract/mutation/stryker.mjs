// Changes one source file in every way that Stryker knows, and runs the tests that belong to it. For somebody who writes
// a file: the report lists what no test notices, which may be what makes no difference. Only a run that cannot be done
// fails.
import { Stryker } from '@stryker-mutator/core'

/**
 * @param {string} root
 * @param {readonly string[]} files from the root of the repository
 * @param {readonly string[]} tests parts of the paths of further tests that belong to them
 */
export async function runStryker(root, files, tests) {
  process.chdir(root)
  // Read by stryker.vitest.config.ts, in other processes.
  process.env.MUTATION_TESTS = [...files.map((file) => file.replace(/\.ts$/, '.')), ...tests].join(' ')
  await new Stryker({
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
      'testing/contract/{deployments,runtimes,sqlite}/node_modules',
    ],
    tempDirName: '.reports/stryker',
    reporters: ['clear-text'],
    clearTextReporter: { allowColor: false, allowEmojis: false, reportTests: false },
    concurrency: 2,
    allowConsoleColors: false,
  }).runMutationTest()
}
