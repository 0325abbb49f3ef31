/** Checks `npx turnkeeper diagram`, and how the commands are found: what they print on which stream, and the exit code. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeSourcePackage } from '../source-package.js'

const order = `
import { Flow, LogicStep, finish, go, reply } from 'turnkeeper'
class Ask extends LogicStep {
  static id = 'Ask'
  static next = ['Confirm']
  run({ entered }) { return entered ? reply('Which size?') : go(Confirm) }
}
class Confirm extends LogicStep {
  static id = 'Confirm'
  run() { return finish('Done.') }
}
export class Order extends Flow {
  static id = 'Order'
  static aliases = ['Purchase']
  steps() { return [Ask, Confirm] }
}
console.log('The module was loaded.')
`
const drawn = `flowchart LR
  subgraph flow1["Order"]
    flow1_step1["Ask"]
    flow1_step2["Confirm"]
    flow1_step3(["End"])
    flow1_step1 -.-> flow1_step2
  end
`
const session = {
  id: 'session-1',
  flow: {
    name: 'Purchase',
    currentStep: 'Confirm',
    sequence: [
      { step: 'Ask', level: 0 },
      { step: 'Confirm', level: 0 },
    ],
  },
}
/** A module with a flow whose class has this ID. */
const flowNamed = (id: string): string => `class extends Order { static id = '${id}' }`

let folder = ''

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'diagram-')))
  await writeSourcePackage(folder)
  write({ 'order.mjs': order })
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

function turnkeeper(...words: string[]): { code: number | null; output: string; errors: string } {
  const command = join(folder, 'node_modules', '.bin', 'turnkeeper')
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...words], { cwd: folder, encoding: 'utf8' })
  return { code: status, output: stdout, errors: stderr.replaceAll(folder, '<folder>') }
}

describe('turnkeeper diagram', () => {
  test('prints the flows and nothing else', () => {
    expect(turnkeeper('diagram', './order.mjs')).toEqual({
      code: 0,
      output: drawn,
      errors: 'The module was loaded.\n',
    })
  })

  test('finds flows under any name, and the default first: a flow, a set-up, or a function that returns one', () => {
    const start = "import { Order } from '../order.mjs'\nexport { Order }\nexport const other = 1\n"
    const found = [
      `export default ${flowNamed('Main')}`,
      `export default { flow: ${flowNamed('Main')} }`,
      `export default async () => ({ flow: ${flowNamed('Main')} })`,
      `export default () => ${flowNamed('Main')}`,
    ].map((end, index) => {
      write({ [`found/${index}.mjs`]: `${start}${end}` })
      const { output } = turnkeeper('diagram', `found/${index}.mjs`)
      return [...output.matchAll(/subgraph \w+\["(\w+)"\]/g)].map(([, name]) => name)
    })
    expect(found).toEqual(Array.from(found, () => ['Main', 'Order']))
  })

  test('knows the set-up, and the names of the exports, as the studio needs them', () => {
    write({
      'setup.mjs': `import { Order } from './order.mjs'
class Inner extends Order { static id = 'Inner' }
export { Order, Order as default }
export const make = () => ({ flow: Inner, script: [] })`,
      'made.mjs':
        "import * as setup from './setup.mjs'\nexport { Order } from './order.mjs'\nexport default setup.make",
      'app.mjs': "export { Order } from './order.mjs'\nexport default { fetch() {} }",
      'loads.mjs': `import { loadFlows } from './node_modules/turnkeeper/bin/load-flows.mjs'
console.log = () => undefined
const loaded = await Promise.all(['setup', 'made', 'app'].map((name) => loadFlows('./' + name + '.mjs')))
process.stdout.write(JSON.stringify(loaded.map(({ flows, setup, source: { file, ...rest } }) => [flows.map(({ id }) => id), setup, rest, file])))`,
    })
    const { stdout } = spawnSync(process.execPath, ['loads.mjs'], { cwd: folder, encoding: 'utf8' })
    expect(JSON.parse(stdout)).toEqual([
      [['Order'], {}, { exportNames: { Order: 'Order' }, hasSetup: false }, join(folder, 'setup.mjs')],
      [
        ['Inner', 'Order'],
        { script: [] },
        { exportNames: { Order: 'Order' }, hasSetup: true },
        join(folder, 'made.mjs'),
      ],
      [['Order'], {}, { exportNames: { Order: 'Order' }, hasSetup: false }, join(folder, 'app.mjs')],
    ])
  })

  test('draws a flow once that is exported twice, from CommonJS too', () => {
    write({
      'twice.mjs': "import { Order } from './order.mjs'\nexport { Order, Order as Same, Order as default }",
      'common.cjs': `const { Flow, LogicStep } = require('turnkeeper')
class Ask extends LogicStep { static id = 'Ask'; run() {} }
class Order extends Flow { static id = 'Order'; steps() { return [Ask] } }
module.exports = { Order }`,
    })
    expect(turnkeeper('diagram', 'twice.mjs')).toMatchObject({ code: 0, output: drawn })
    expect(turnkeeper('diagram', 'common.cjs').output.match(/subgraph/g)).toHaveLength(1)
  })

  test('adds stored sessions, one or many of a file', () => {
    write({ 'one.json': JSON.stringify(session), 'list.json': JSON.stringify([session, session]) })
    const { output } = turnkeeper('diagram', 'order.mjs', '--session', 'one.json', '--session', 'list.json')
    expect(output).toContain('flow1_step1 -->|"3"| flow1_step2')
    expect(output).toContain('flow1_step3(["End<br>never"])')
  })
})

describe('turnkeeper diagram --check', () => {
  test.each([
    ['what the command printed', 'same.mmd', drawn],
    ['other line ends and indentation', 'ends.mmd', `  ${drawn.trimEnd().replaceAll('\n', '\r\n\t')}`],
    [
      'a block of a page, after another flowchart',
      'page.md',
      `# Order\n\n\`\`\`mermaid\nflowchart LR\n  subgraph a\n\`\`\`\n\n- so:\n  \`\`\`mermaid\n  ${drawn.replaceAll('\n', '\n  ')}\`\`\`\nText.`,
    ],
  ])('accepts %s', (_what, name, text) => {
    write({ [name]: text })
    expect(turnkeeper('diagram', 'order.mjs', '--check', name)).toMatchObject({ code: 0, output: '' })
  })

  test.each([
    [
      'a step that has another name now',
      'old.mmd',
      drawn.replace('Confirm', 'Check'),
      'old.mmd:4 differs.\n- flow1_step2["Check"]\n+ flow1_step2["Confirm"]\nTo renew it: npx turnkeeper diagram order.mjs > old.mmd\n',
    ],
    [
      'a flow more than there is',
      'more.mmd',
      `${drawn}  subgraph flow2["Gone"]\n  end\n`,
      'more.mmd:8 differs.\n- subgraph flow2["Gone"]\n+ the end of the flowchart\n',
    ],
    [
      'a flowchart that ends early',
      'less.md',
      `\`\`\`mermaid\n${drawn.split('\n').slice(0, 5).join('\n')}\n\`\`\``,
      'less.md:7 differs.\n- the end of the flowchart\n+ flow1_step1 -.-> flow1_step2\nReplace the mermaid block with what this prints: npx turnkeeper diagram order.mjs\n',
    ],
    ['a page without a flowchart', 'none.md', '# Order', "none.md has no line 'flowchart LR'.\nReplace the mermaid"],
  ])('refuses %s', (_what, name, text, message) => {
    write({ [name]: text })
    const { code, output, errors } = turnkeeper('diagram', 'order.mjs', '--check', name)
    expect({ code, output, errors }).toEqual({ code: 1, output: '', errors: expect.stringContaining(message) })
  })

  test('refuses a file that is not there, with the command that writes it', () => {
    write({ 'one.json': JSON.stringify(session) })
    const words = ['diagram', 'order.mjs', '--session', 'one.json', '--check', 'my docs/new.mmd']
    expect(turnkeeper(...words)).toMatchObject({
      code: 1,
      errors: expect.stringContaining(
        'There is no my docs/new.mmd.\nTo create it: npx turnkeeper diagram order.mjs --session one.json > "my docs/new.mmd"\n',
      ),
    })
    expect(turnkeeper('diagram', 'order.mjs', '--check', 'new.md')).toMatchObject({
      code: 1,
      errors: expect.stringContaining(
        'There is no new.md.\nCreate it with a mermaid block that has what this prints: npx turnkeeper diagram order.mjs\n',
      ),
    })
  })
})

describe('turnkeeper diagram fails with a sentence', () => {
  test.each<[string, Record<string, string>, string[], string]>([
    ['no module', {}, [], 'Name one module that exports flows.\n\nUsage: turnkeeper diagram '],
    ['two modules', {}, ['order.mjs', 'b.mjs'], 'Name one module that exports flows.\n\nUsage: '],
    ['an unknown option', {}, ['order.mjs', '--watch'], "Unknown option '--watch'.\n\nUsage: turnkeeper diagram "],
    [
      'a module that is not there',
      {},
      ['gone.js'],
      'The flows module cannot be found: there is no <folder>/gone.js and no <folder>/gone.ts.\n\nUsage: ',
    ],
    [
      'a module without flows',
      { 'empty.mjs': 'export const one = 1' },
      ['empty.mjs'],
      'The flows module <folder>/empty.mjs must export a class that extends Flow, or as default a set-up { flow } or a function that returns one. It exports one.\n',
    ],
    [
      'flows of another copy of the package',
      { 'copy.mjs': 'export class Copy { addContext() {} }' },
      ['copy.mjs'],
      'Copy extends the Flow of another copy of turnkeeper: run the command that is installed beside it.\n',
    ],
    [
      'TypeScript, of which Node.js may not load all',
      { 'typed.ts': 'enum A {}' },
      ['typed.ts'],
      'npm install --save-dev tsx, and run the command with NODE_OPTIONS="--import tsx".\n',
    ],
    [
      'a module that throws',
      { 'throws.mjs': "function connect() {\n  throw new Error('no database')\n}\nconnect()" },
      ['throws.mjs'],
      'The flows module <folder>/throws.mjs cannot be loaded: no database\n    at connect (file://<folder>/throws.mjs:2:9)\n',
    ],
    [
      'a function that throws',
      { 'makes.mjs': "export default function make() {\n  throw new Error('no key')\n}" },
      ['makes.mjs'],
      'The default export of <folder>/makes.mjs failed: no key\n    at make (file://<folder>/makes.mjs:2:9)\n',
    ],
    [
      'a flow that throws when it is made',
      {
        'broken.mjs': `import { Flow } from 'turnkeeper'\nexport class A extends Flow {\n  constructor() { super(); throw new Error('no') }\n}`,
      },
      ['broken.mjs'],
      'The flows cannot be drawn: no\n    at new A (file://<folder>/broken.mjs:3:34)\n',
    ],
    [
      'a session that is not JSON',
      { 'a.json': '{' },
      ['order.mjs', '--session', 'a.json'],
      'The session a.json cannot be read: ',
    ],
    [
      'no session',
      { 'b.json': '[1]' },
      ['order.mjs', '--session', 'b.json'],
      'sessions must be documents as engine.getSession returns them; got 1.\n',
    ],
  ])('%s', (_what, files, words, message) => {
    write(files)
    const { code, output, errors } = turnkeeper('diagram', ...words)
    expect({ code, output, errors }).toEqual({ code: 2, output: '', errors: expect.stringContaining(message) })
  })

  test('a folder without the package', () => {
    const elsewhere = realpathSync(mkdtempSync(join(tmpdir(), 'diagram-bare-')))
    try {
      writeFileSync(join(elsewhere, 'flows.mjs'), order)
      const { code, errors } = turnkeeper('diagram', join(elsewhere, 'flows.mjs'))
      expect(code).toBe(2)
      expect(errors).toMatch(/Cannot find package 'turnkeeper'.*\n.*: npm install turnkeeper\n/)
    } finally {
      rmSync(elsewhere, { recursive: true })
    }
  })
})

describe('turnkeeper', () => {
  test.each([
    [['--help'], 0, /^Usage: turnkeeper <command>\n/],
    [[], 2, /^Usage: turnkeeper <command>\n/],
    [
      ['toString'],
      2,
      /^There is no command 'toString': the commands are scenarios, diagram, chat, studio\.\n\nUsage: /,
    ],
    [['diagram', '--help'], 0, /^Usage: turnkeeper diagram <flows module>/],
    [['scenarios', '-h'], 0, /^Usage: turnkeeper scenarios <files or folders>/],
  ])('%j', (words, code, output) => {
    expect(turnkeeper(...words)).toEqual({ code, output: expect.stringMatching(output), errors: '' })
  })
})
