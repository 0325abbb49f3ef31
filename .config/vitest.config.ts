/**
 * Decides which tests there are and what a run of them must reach. What a test needs (a build, a browser) is the
 * business of the npm script that starts it.
 *
 * unit      beside the sources, and the rules of the source tree itself: no build, no network
 * unit-alone  those of them that replace modules
 * contract  the behaviour seen from outside: HTTP over every way of serving, schedules, browsers
 * cluster   sessions in Redis Cluster and Sentinel, which lose a server
 * servers   sessions in real databases, which the tests start
 * outages   many processes at once, stores with faults
 * examples  the examples' own tests
 * site      the site of the documentation, as it is opened from the disk: needs `npm run docs`
 * package   the packed package, installed as a stranger would: needs a build
 * runtimes  the packed package on other runtimes, after all others, because its turns have deadlines in real time
 */
import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import manifest from '../package.json' with { type: 'json' }
import { scenarios } from '../testing/vitest/plugin/index.js'

const root: string = fileURLToPath(new URL('..', import.meta.url))
const source = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))
/** `turnkeeper/...` is the source of that entry point of package.json. */
const aliases = Object.entries<string | { readonly node?: string; readonly default: string }>(manifest.exports).flatMap(
  ([subpath, target]) => {
    if (typeof target === 'string') return []
    const file = (target.node ?? target.default).replace('./dist/', '').replace(/\.js$/, '.ts')
    return [{ find: new RegExp(`^turnkeeper${subpath.slice(1)}$`), replacement: source(file) }]
  },
)
const report: string | undefined = process.env.TEST_REPORT
const packageTests = 'testing/contract/{package,containers}/**/*.test.ts'
const runtimeTests = 'testing/contract/package/runtimes/**/*.test.ts'
const serverTests = 'testing/contract/{stores,long-sessions,effects,side-flows/stores}/**/*.test.ts'
const clusterTests = 'testing/contract/cluster/**/*.test.ts'
const siteTests = 'testing/contract/site/**/*.test.ts'
const outageTests = 'testing/contract/{storm,retries,faults,race}/**/*.test.ts'
/** Tests that need a process of their own: most replace or reload modules, and every other file would get those. */
const aloneTests = [
  'src/errors/flow-error.test.ts',
  'src/stores/keyv/drivers/*/create-*-keyv*.test.ts',
  // These measure the processor time of their process, or count its timers.
  'src/util/redaction.test.ts',
  'testing/suites/cases/failure.test.ts',
  'adapters/fetch/reply/stream.test.ts',
]
const treeTests = 'testing/contract/architecture.test.ts'
/**
 * Projects of one group run side by side, and the groups one after the other. A cluster waits most of the time for
 * servers that start and fail over: with so many workers its three files leave the processors to the contract's.
 * Databases have deadlines in real time: two at once leave each enough of the machine.
 */
const besideClusters = { maxWorkers: 4, sequence: { groupOrder: 1 } }
const twoAtATime = { maxWorkers: 2, sequence: { groupOrder: 2 } }
const afterAllOthers = { maxWorkers: 2, sequence: { groupOrder: 3 } }
const withProcesses = { testTimeout: 300_000, hookTimeout: 120_000 }
/** These folders decide what is stored, who waits and what clients get: each must reach the threshold by itself. */
const wellCovered = { branches: 95 }

const config: ViteUserConfig = defineConfig({
  root,
  resolve: {
    alias: aliases,
  },
  test: {
    reporters: report === undefined ? ['default'] : ['default', 'json'],
    ...(report === undefined ? {} : { outputFile: { json: report } }),
    // A stray `.only` would silently drop the rest.
    allowOnly: false,
    // No test is timed: this only ends one that hangs, on a machine that is busy with something else.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One for each processor. By default one of them is left to Vitest itself, which has little to do.
    maxWorkers: '100%',
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'adapters/**/*.test.ts', 'testing/**/*.test.ts', treeTests],
          exclude: ['testing/contract/!(architecture.test.ts)', 'testing/contract/*/**', ...aloneTests],
          // Many files share a process: starting one for each takes longer than the tests in it.
          pool: 'threads',
          isolate: false,
          setupFiles: source('.config/unit-setup.ts'),
          // For the test of coverFlows, which would report that no reporter listens.
          provide: { turnkeeperCoverageReporter: true },
        },
      },
      {
        extends: true,
        test: {
          name: 'unit-alone',
          include: aloneTests,
        },
      },
      {
        extends: true,
        test: {
          name: 'contract',
          include: ['testing/contract/**/*.test.ts'],
          exclude: ['**/node_modules/**', treeTests, packageTests, siteTests, serverTests, clusterTests, outageTests],
          ...besideClusters,
        },
      },
      { extends: true, test: { name: 'site', include: [siteTests] } },
      {
        extends: true,
        plugins: [scenarios()],
        test: {
          name: 'examples',
          include: ['examples/**/*.test.ts', 'examples/**/*.scenario.md'],
          ...besideClusters,
        },
      },
      { extends: true, test: { name: 'cluster', include: [clusterTests], ...withProcesses, ...besideClusters } },
      { extends: true, test: { name: 'servers', include: [serverTests], ...withProcesses, ...twoAtATime } },
      { extends: true, test: { name: 'outages', include: [outageTests], ...withProcesses, ...afterAllOthers } },
      {
        extends: true,
        resolve: { alias: [] },
        test: {
          name: 'package',
          include: [packageTests],
          exclude: [runtimeTests],
          testTimeout: 180_000,
          globalSetup: source('testing/contract/package/setup.ts'),
        },
      },
      {
        extends: true,
        resolve: { alias: [] },
        test: {
          name: 'runtimes',
          include: [runtimeTests],
          globalSetup: source('testing/contract/package/setup.ts'),
          ...afterAllOthers,
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
        'src/model/**': wellCovered,
        'src/compaction/**': wellCovered,
        'src/forms/**': wellCovered,
        'src/parts/**': wellCovered,
        'src/prompt/**': wellCovered,
        'src/config/**': wellCovered,
        'src/util/**': wellCovered,
        'adapters/fetch/**': wellCovered,
      },
    },
  },
})

export default config
