import { describe, expect, test } from 'vitest'
import { type ScenarioPluginContext, scenarios } from './index.js'

const { transform } = scenarios()

/** The code that the plugin makes from a file, if these modules exist. */
async function codeOf(text: string, id: string, modules: readonly string[]): Promise<string | undefined> {
  const context: ScenarioPluginContext = {
    resolve: async (source) => (modules.includes(source) ? { id: `/app/${source}` } : null),
  }
  return (await transform.call(context, text, id))?.code
}

const text = 'Setup: ./desk.setup.js\n## One\nUser: a'

describe('the plugin', () => {
  test('makes tests of a scenario file', async () => {
    const code = await codeOf(text, '/app/desk.scenario.md?v=1', ['./desk.setup.js', './desk.setup.ts'])
    expect(code?.split('\n')).toEqual(
      expect.arrayContaining([
        `import { scenarioSuite } from 'turnkeeper/testing/scenarios'`,
        `import * as module from "/app/./desk.setup.js"`,
        `scenarioSuite({ text: ${JSON.stringify(text)}, file: "/app/desk.scenario.md", setup, describe, test })`,
      ]),
    )
  })

  test('finds a set-up in TypeScript by the name that it has after compilation', async () => {
    expect(await codeOf(text, '/app/desk.scenario.md', ['./desk.setup.ts'])).toContain('"/app/./desk.setup.ts"')
    const mts = text.replace('.js', '.mjs')
    expect(await codeOf(mts, '/app/desk.scenario.md', ['./desk.setup.mts'])).toContain('"/app/./desk.setup.mts"')
  })

  test('has the scenarios fail where the set-up does not exist', async () => {
    expect(await codeOf(text, '/app/desk.scenario.md', [])).toContain(
      'const setup = () => { throw new ExpectationError("The set-up cannot be found: there is no ./desk.setup.js and no ./desk.setup.ts.") }',
    )
  })

  test('leaves a file that cannot be read to its tests, which report the line', async () => {
    expect(await codeOf('## One', '/app/desk.scenario.md', [])).toContain('const setup = undefined')
  })

  test('leaves other files as they are', async () => {
    expect(await codeOf(text, '/app/README.md', [])).toBeUndefined()
  })
})
