/**
 * Decides which tests there are and what a run of them must reach. What a test needs (a build, a browser) is the
 * business of the npm script that starts it.
 *
 * unit      beside the sources, and the rules of the source tree itself: no build, no network
 * contract  the behaviour seen from outside: HTTP over every way of serving, schedules, browsers
 * servers   sessions in real databases, which the tests start: one file at a time, after all others
 * examples  the examples' own tests
 * package   the packed package, installed as a stranger would: needs a build
 */
import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'

const root: string = fileURLToPath(new URL('..', import.meta.url))
const source = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
const report: string | undefined = process.env.TEST_REPORT
const packageTests = 'testing/contract/package/**/*.test.ts'
const serverTests = 'testing/contract/{stores,storm,cluster}/**/*.test.ts'
const treeTests = 'testing/contract/architecture.test.ts'
/** These folders decide what is stored and who waits: each must reach the threshold by itself. */
const wellCovered = { branches: 95 }

const config: ViteUserConfig = defineConfig({
  root,
  resolve: {
    alias: [
      { find: /^turnkeeper$/, replacement: source('src/index.ts') },
      { find: /^turnkeeper\/keyv$/, replacement: source('src/stores/keyv/index.ts') },
      { find: /^turnkeeper\/compaction$/, replacement: source('src/compaction/index.ts') },
      { find: /^turnkeeper\/prompt$/, replacement: source('src/prompt/index.ts') },
      { find: /^turnkeeper\/(fetch|hono|ai-sdk)$/, replacement: `${source('adapters')}/$1/index.ts` },
      { find: /^turnkeeper\/testing$/, replacement: source('testing/index.ts') },
      { find: /^turnkeeper\/testing\/(msw|vitest)$/, replacement: `${source('testing')}/$1/index.ts` },
    ],
  },
  test: {
    reporters: report === undefined ? ['default'] : ['default', 'json'],
    ...(report === undefined ? {} : { outputFile: { json: report } }),
    // A stray `.only` would silently drop the rest.
    allowOnly: false,
    // No test is timed: this only ends one that hangs, on a machine that is busy with something else.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'adapters/**/*.test.ts', 'testing/**/*.test.ts', treeTests],
          exclude: ['testing/contract/!(architecture.test.ts)', 'testing/contract/*/**'],
        },
      },
      {
        extends: true,
        test: {
          name: 'contract',
          include: ['testing/contract/**/*.test.ts'],
          exclude: [treeTests, packageTests, serverTests],
        },
      },
      {
        extends: true,
        test: {
          name: 'servers',
          include: [serverTests],
          // Processes, databases and their deadlines need the machine to themselves.
          fileParallelism: false,
          sequence: { groupOrder: 1 },
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      { extends: true, test: { name: 'examples', include: ['examples/**/*.test.ts'] } },
      {
        extends: true,
        resolve: { alias: [] },
        test: {
          name: 'package',
          include: [packageTests],
          testTimeout: 180_000,
          globalSetup: source('testing/contract/package/setup.ts'),
        },
      },
    ],
    coverage: {
      provider: 'v8',
      reporter: ['text', 'json-summary'],
      include: ['src/**/*.ts', 'adapters/**/*.ts', 'testing/**/*.ts'],
      exclude: ['**/*.test.ts', '**/*.test-d.ts', 'testing/contract/**'],
      thresholds: {
        'src/engine/**': wellCovered,
        'src/session/**': wellCovered,
        'src/stores/**': wellCovered,
        'src/flow/**': wellCovered,
        'src/compaction/**': wellCovered,
        'src/prompt/**': wellCovered,
      },
    },
  },
})

export default config
