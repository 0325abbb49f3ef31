/** Checks `npx turnkeeper scenarios` where the package is installed: what it prints, and its exit code. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { describe, expect, inject, test } from 'vitest'
import manifest from '../../../package.json' with { type: 'json' }
import { project, run } from './run.js'

const setup = `
import { Flow, LogicStep, finish, reply } from 'turnkeeper'
class AskName extends LogicStep {
  static id = 'AskName'
  run(turn) {
    if (turn.entered) return reply('What is your name?')
    if (turn.message === '') throw new Error('no name')
    this.state.name = turn.message
    return finish('Hello, ' + turn.message + '!')
  }
}
class Greeting extends Flow {
  static id = 'Greeting'
  steps() {
    return [AskName]
  }
}
// Something that would keep the process.
setInterval(() => undefined, 60_000)
export default { flow: Greeting }
`

const scenarios = `# Greeting

Setup: ./greeting.setup.mjs

## Someone says hello

- User: Hi
- Bot: What is your name?
- User: Ada
- Bot: Hello, Ada!
- State of AskName: name = Ada
- Completed: yes
`

const broken = `${scenarios}
## Someone has no name

- User: Hi
- Bot: Who are you?

## The flow breaks

- User: Hi
- Bot: What is your name?
- User:
`

/** What the command prints, and whether it fails, with the files in a folder of their own. */
function turnkeeper(
  name: string,
  files: Readonly<Record<string, string>>,
  ...words: string[]
): { failed: boolean; output: string } {
  const folder = project(`scenarios-${name}`, { 'greeting.setup.mjs': setup, ...files })
  const { failed, output } = run(folder, join(inject('consumer'), 'node_modules', '.bin', 'turnkeeper'), ...words)
  return { failed, output: output.replaceAll('\\', '/').replaceAll(folder.replaceAll('\\', '/'), '<folder>') }
}

describe('turnkeeper scenarios', () => {
  test('runs a file, and ends', () => {
    const { failed, output } = turnkeeper('file', { 'a.scenario.md': scenarios }, 'scenarios', 'a.scenario.md')
    expect({ failed, output }).toEqual({
      failed: false,
      output: 'a.scenario.md\n  ok      Someone says hello\n\n1 passed, 0 failed\n',
    })
  })

  test('lists what it passed over: other names, links, packages, and a folder without scenarios', () => {
    const files = {
      'a/a.scenario.md': scenarios.replace('./', '../'),
      'a/desk.scenarios.md': scenarios,
      'a/node_modules/b/b.scenario.md': scenarios,
      'c/notes.md': '',
    }
    const { failed, output } = turnkeeper('passed-over', files, 'scenarios', 'a', 'c')
    expect({ failed, output }).toEqual({
      failed: false,
      output: `a/a.scenario.md
  ok      Someone says hello

Passed over (files run if they end in .scenario.md; links to folders, and node_modules, are not searched):
  a/desk.scenarios.md
  a/node_modules/b/b.scenario.md
  c

1 passed, 0 failed
`,
    })
  })

  test('runs all files of a folder, and prints the lines that failed', () => {
    const files = { 'a/b/broken.scenario.md': broken.replace('./', '../../'), 'a/a.scenario.md': scenarios }
    const { failed, output } = turnkeeper('folder', files, 'scenarios', 'a', '--setup', 'greeting.setup.mjs')
    expect(failed).toBe(true)
    expect(output).toMatchInlineSnapshot(`
      "a/a.scenario.md
        ok      Someone says hello
      a/b/broken.scenario.md
        ok      Someone says hello
        FAILED  Someone has no name

          a/b/broken.scenario.md:17: - Bot: Who are you?
          Expected the reply "Who are you?"
            but it was "What is your name?"
          Where: flow 'Greeting', step 'AskName', turn 1

          The conversation so far:

          # Greeting

          ## Turn 1

          User: Hi

          - enters AskName

          Reply: What is your name?

          Now at AskName.

        FAILED  The flow breaks

          a/b/broken.scenario.md:23: - User:
          The turn "" failed with FLOW_ERROR: no name
            at AskName.run (<folder>/greeting.setup.mjs:7:36)
          Where: flow 'Greeting', step 'AskName', turn 2

          The conversation so far:

          # Greeting

          ## Turn 1

          User: Hi

          - enters AskName

          Reply: What is your name?

          Now at AskName.

          ## Turn 2

          User: 

          Failed with FLOW_ERROR: no name


      2 passed, 2 failed
      "
    `)
  })

  test.each<[string, Record<string, string>, string[], string]>([
    [
      'a line that cannot be read',
      { 'a.scenario.md': `${scenarios}## A\nHi` },
      ['a.scenario.md'],
      'a.scenario.md:14: Hi\n',
    ],
    [
      'a set-up that is not there, for each scenario of the file',
      { 'b/a.scenario.md': broken.replace('greeting', 'none') },
      ['b'],
      `b/a.scenario.md
  FAILED  Someone says hello
  FAILED  Someone has no name
  FAILED  The flow breaks

    b/a.scenario.md:3: Setup: ./none.setup.mjs
    The set-up cannot be found: there is no <folder>/b/none.setup.mjs and no <folder>/b/none.setup.mts.


0 passed, 3 failed
`,
    ],
    [
      'a set-up of --setup that is not there, before any file',
      { 'a.scenario.md': scenarios },
      ['a.scenario.md', '--setup', 'b.js'],
      'The set-up cannot be found: there is no <folder>/b.js and no <folder>/b.ts.\n\nUsage: ',
    ],
    [
      'a set-up of --setup that is not one',
      { 'a.scenario.md': scenarios, 'b.mjs': 'export default { flows: 1 }' },
      ['a.scenario.md', '--setup', 'b.mjs'],
      'It exports {"flows":1}.\n    The set-up is b.mjs, as --setup says, and not the one of this line.\n',
    ],
    [
      'a set-up that imports TypeScript',
      { 'a.scenario.md': scenarios, 'b.mjs': "import './flow.js'", 'flow.ts': '' },
      ['a.scenario.md', '--setup', 'b.mjs'],
      'imported from <folder>/b.mjs\n    If it is written in TypeScript, run the command with',
    ],
    [
      'a set-up that imports a file which is not there',
      { 'a.scenario.md': scenarios, 'b.mjs': "import './flow.js'" },
      ['a.scenario.md', '--setup', 'b.mjs'],
      'imported from <folder>/b.mjs\n    The set-up is b.mjs, as --setup says',
    ],
    [
      'a set-up in TypeScript',
      { 'b.ts': 'enum A {}', 'a.scenario.md': scenarios },
      ['a.scenario.md', '--setup', 'b.js'],
      '\n    If it is written in TypeScript, run the command with NODE_OPTIONS="--import tsx", where tsx is installed. Or compile it,',
    ],
    [
      'a set-up that throws',
      {
        'a.scenario.md': scenarios,
        'b.mjs': `
function connect() {
  throw new Error('no database', { cause: new RangeError('no port') })
}
export default connect()`,
      },
      ['a.scenario.md', '--setup', 'b.mjs'],
      `
    The set-up <folder>/b.mjs cannot be loaded: no database
      at connect (<folder>/b.mjs:3:9)
      at <folder>/b.mjs:5:16
      cause: RangeError: no port
        at connect (<folder>/b.mjs:3:43)
        at <folder>/b.mjs:5:16
`,
    ],
    [
      'a set-up that throws an error which is its own cause',
      {
        'a.scenario.md': scenarios,
        'b.mjs': "const error = new Error('no database')\nerror.cause = error\nthrow error",
      },
      ['a.scenario.md', '--setup', 'b.mjs'],
      'cannot be loaded: no database\n      at <folder>/b.mjs:1:15\n      cause: Error: no database\n',
    ],
    [
      'a set-up in CommonJS that throws',
      { 'a.scenario.md': scenarios, 'b.cjs': "throw new Error('no database')" },
      ['a.scenario.md', '--setup', 'b.cjs'],
      'no database\n      at Object.<anonymous> (<folder>/b.cjs:1:7)\n',
    ],
    [
      'a set-up whose function throws',
      { 'a.scenario.md': scenarios, 'b.mjs': "export default function desk() {\n  throw new Error('no database')\n}" },
      ['a.scenario.md', '--setup', 'b.mjs'],
      'a.scenario.md:3: Setup: ./greeting.setup.mjs\n    no database\n      at desk (<folder>/b.mjs:2:9)\n',
    ],
    [
      'a set-up that imports what is not there',
      { 'a.scenario.md': scenarios, 'b.mjs': "import { nothing } from './greeting.setup.mjs'\nexport default nothing" },
      ['a.scenario.md', '--setup', 'b.mjs'],
      "does not provide an export named 'nothing'\n      at <folder>/b.mjs:1\n",
    ],
    [
      'a set-up that is not JavaScript',
      { 'a.scenario.md': scenarios, 'b.mjs': 'export default a b' },
      ['a.scenario.md', '--setup', 'b.mjs'],
      `cannot be loaded: Unexpected identifier 'b'\n    To see the line: node "<folder>/b.mjs"\n`,
    ],
    ['a missing file', {}, ['none.scenario.md'], "There is no file or folder 'none.scenario.md'.\n\nUsage: "],
    ['no file', {}, [], 'Name the files or folders of the scenarios.\n\nUsage: '],
    ['an empty folder', {}, ['.'], 'There is no *.scenario.md in .'],
    ['an unknown option', {}, ['.', '--watch'], "Unknown option '--watch'.\n\nUsage: "],
  ])('fails with a sentence: %s', (name, files, words, sentence) => {
    const { failed, output } = turnkeeper(name.replaceAll(' ', '-'), files, 'scenarios', ...words)
    expect({ failed, output }).toEqual({ failed: true, output: expect.stringContaining(sentence) })
    expect(output).not.toMatch(/ at .*(?:node:|node_modules)/)
  })

  test.each([
    ['process.exit in a flow', 'process.exit(0)', ''],
    ['a rejection that nobody handles', "Promise.reject(new Error('nobody waits'))", '  ok      Someone says hello\n'],
  ])('fails where it did not run to its end: %s', (name, code, run) => {
    const files = {
      'a.scenario.md': scenarios,
      'greeting.setup.mjs': setup.replace('run(turn) {', `$&\n    ${code}`),
    }
    const { failed, output } = turnkeeper(name.replaceAll(' ', '-'), files, 'scenarios', 'a.scenario.md')
    expect(failed).toBe(true)
    expect(output).toContain(
      `a.scenario.md\n${run}\nThe process ended before the scenarios did: by process.exit, or by an error that nothing handled.\n`,
    )
    expect(output).not.toContain('passed')
  })

  // It waits for half a minute in real time: both at once.
  test.concurrent.each([
    ['module', 'await new Promise(() => undefined)', 'there or in a module that it imports, has not settled'],
    ['function', 'export default () => new Promise(() => undefined)', 'has not settled'],
  ])('ends where the %s of a set-up never settles', async (what, text, sentence) => {
    const files = { 'a.scenario.md': scenarios, 'hanging.mjs': text }
    const folder = project(`scenarios-hanging-${what}`, files)
    const bin = join(inject('consumer'), 'node_modules', '.bin', 'turnkeeper')
    const words = ['scenarios', 'a.scenario.md', '--setup', 'hanging.mjs']
    const child = spawn(process.execPath, [bin, ...words], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    const [output, [code]] = await Promise.all([readText(child.stdout), once(child, 'exit')])
    expect(code).toBe(1)
    expect(output).toContain(join(folder, 'hanging.mjs'))
    expect(output).toContain(`${sentence} for 30 seconds.`)
    expect(output).toContain('0 passed, 1 failed')
  })

  test('says how it is used', () => {
    expect(turnkeeper('help', {}, 'scenarios', '--help')).toMatchObject({
      failed: false,
      output: expect.stringMatching(/^Usage: turnkeeper scenarios/),
    })
    expect(turnkeeper('nothing', {})).toMatchObject({
      failed: true,
      output: expect.stringMatching(/^Usage: turnkeeper <command>/),
    })
    expect(turnkeeper('unknown', {}, 'scenario', 'test')).toMatchObject({
      failed: true,
      output: expect.stringMatching(
        /^There is no command 'scenario': the commands are scenarios, diagram, chat, studio\.\n\nUsage: /,
      ),
    })
  })

  test('says its version', () => {
    expect(turnkeeper('version', {}, '--version')).toEqual({ failed: false, output: `${manifest.version}\n` })
  })
})
