/**
 * The entry point `turnkeeper/testing/vitest/plugin`: vitest runs `*.scenario.md` files. It imports nothing of vitest,
 * because the configuration that uses it is loaded before vitest itself can be.
 *
 * @module turnkeeper/testing/vitest/plugin
 */
/** What the plugin needs of the bundler: a part of Rollup's plugin context. */
export interface ScenarioPluginContext {
  /** The module that a file names, if it exists. */
  resolve(source: string, importer: string): Promise<{ readonly id: string } | null>
}

/** The plugin, as Vite takes it. */
export interface ScenarioPlugin {
  readonly name: string
  readonly enforce: 'pre'
  /** Makes a module of tests of a scenario file. */
  transform(
    this: ScenarioPluginContext,
    text: string,
    id: string,
  ): Promise<{ readonly code: string; readonly map: { readonly mappings: '' } } | undefined>
}

/**
 * Lets vitest run scenario files. Name them in `include` as well.
 *
 * @example
 * ```ts
 * export default defineConfig({
 *   plugins: [scenarios()],
 *   test: { include: ['**\/*.test.ts', '**\/*.scenario.md'] },
 * })
 * ```
 */
export function scenarios(): ScenarioPlugin {
  return {
    name: 'turnkeeper:scenarios',
    enforce: 'pre',
    async transform(text, id) {
      const [file = ''] = id.split('?')
      if (!file.endsWith('.scenario.md')) return undefined
      const setup = await setupIn(text, file)
      const found = setup === undefined ? undefined : await resolved(setup, file, this)
      // Without mappings, stacks show places in the scenario file.
      return { code: moduleOf(text, file, setupCode(setup, found)), map: { mappings: '' } }
    },
  }
}

/** The module that a file names; `undefined` if the file cannot be read, which its tests report. */
async function setupIn(text: string, file: string): Promise<string | undefined> {
  // Loaded late: a configuration must not load the engine, which this module's check of names needs.
  const { readDocument } = await import('../../scenarios/read-scenarios.js')
  try {
    return readDocument(text, file).setup
  } catch {
    return undefined
  }
}

/** A module by the name that it has after compilation, or as TypeScript. */
async function resolved(setup: string, file: string, context: ScenarioPluginContext): Promise<string | undefined> {
  for (const source of namesOf(setup)) {
    const found = await context.resolve(source, file)
    if (found !== null) return found.id
  }
  return undefined
}

function namesOf(setup: string): string[] {
  return [...new Set([setup, setup.replace(/\.([cm]?)js$/, '.$1ts')])]
}

/** The statements that make the constant `setup`. */
function setupCode(named: string | undefined, found: string | undefined): string[] {
  if (named === undefined) return ['const setup = undefined']
  if (found !== undefined) return [`import * as module from ${JSON.stringify(found)}`, ...coveredSetup]
  const problem = `The set-up cannot be found: there is no ${namesOf(named).join(' and no ')}.`
  return [
    `import { ExpectationError } from 'turnkeeper/testing'`,
    // Of any other error the failure would show the place here, which is none of the file.
    `const setup = () => { throw new ExpectationError(${JSON.stringify(problem)}) }`,
  ]
}

/**
 * Makes the set-up of each scenario, and passes what its `coverage` counted to the reporter of
 * `testing/vitest/reporter.ts`. A coverage of `coverFlows` passes itself, in a separate place.
 */
const coveredSetup: readonly string[] = [
  'const coverages = new Set()',
  'const setup = async () => {',
  "  const made = typeof module.default === 'function' ? await module.default() : module.default",
  '  if (made?.coverage !== undefined) coverages.add(made.coverage)',
  '  return made',
  '}',
  'afterEach(({ task }) => {',
  '  task.file.meta.scenarioCoverage = [...coverages].map((coverage) => coverage.passedReport())',
  '})',
]

function moduleOf(text: string, file: string, setup: readonly string[]): string {
  const options = `text: ${JSON.stringify(text)}, file: ${JSON.stringify(file)}`
  return [
    `import { afterEach, describe, test } from 'vitest'`,
    `import { scenarioSuite } from 'turnkeeper/testing/scenarios'`,
    ...setup,
    `scenarioSuite({ ${options}, setup, describe, test })`,
  ].join('\n')
}
