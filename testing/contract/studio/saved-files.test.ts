/** A saved test and a saved scenario, run by `node --test` and by the command line in a project that has the package. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StudioLine } from '../../studio/line/line.js'
import { savedScenario } from '../../studio/saved-scenario.js'
import { savedTest } from '../../studio/saved-test.js'
import { writeSourcePackage } from '../source-package.js'

const flows = `
import { writeFileSync } from 'node:fs'
import { event, Flow, finish, go, LogicStep, reply, Step, ToolError, tool } from 'turnkeeper'
import { choices } from 'turnkeeper/parts'

class Ask extends Step {
  static id = 'Ask'
  tools() {
    return [
      tool({
        name: 'find_tables',
        description: 'Finds tables.',
        execute: () => {
          writeFileSync(new URL('called.txt', import.meta.url), 'A real service was called.')
          throw new ToolError('Nobody answers.')
        },
      }),
      tool({ name: 'choose_day', description: 'Chooses.', execute: () => go(Confirm) }),
    ]
  }
}
class Confirm extends LogicStep {
  static id = 'Confirm'
  events() {
    return [event({ name: 'remind', after: 86_400_000, execute: () => reply('Größe \`?\`\\n\\n- yes\\n- no') })]
  }
  run(turn) {
    if (turn.entered) return reply('Is that right?').withParts([choices('sure', [{ value: 'y', label: 'Yes!' }])])
    return turn.choice === undefined ? reply('Yes or no?') : finish('Booked.')
  }
}
export class Booking extends Flow {
  static id = 'Booking'
  model() {
    return { provider: 'any', name: 'small' }
  }
  steps() {
    return [Ask, Confirm]
  }
}
export default () => ({
  flow: Booking,
  script: [
    { toolCalls: [{ name: 'find_tables' }] },
    'For which day?',
    { toolCalls: [{ name: 'choose_day' }] },
  ],
})
`
/** The flow with another reply, with another step, and with another button. */
const broken = [
  flows.replace("finish('Booked.')", "finish('Cancelled.')"),
  flows.replace('go(Confirm)', "reply('Is that right?')"),
  flows.replaceAll('Yes!', 'No!'),
]
let folder = ''
let saved: readonly string[] = []

function write(name: string, text: string | Uint8Array): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

beforeAll(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'saved-files-')))
  mkdirSync(join(folder, 'studio'))
  await writeSourcePackage(folder)
  const module = await import(pathToFileURL(write('flows.mjs', flows)).href)
  const { flow, ...setup } = module.default()
  const startedAt = Date.UTC(2026, 2, 4)
  const stored = { id: 'one', flow: 'Booking', turns: [], startedAt, now: startedAt, madeAt: startedAt }
  const line = new StudioLine(stored, flow, setup, { onChange: () => undefined, onPiece: () => undefined })
  await line.send({ text: 'Hello' })
  await line.send({ text: 'Friday' })
  await line.advance()
  await line.send({ text: 'Yes!', choice: { turn: 2, name: 'sure', value: 'y' } })
  await line.close()
  expect(line.turns.map(({ error, reply }) => error ?? reply)).toEqual([
    'For which day?',
    'Is that right?',
    'Größe `?`\n\n- yes\n- no',
    'Booked.',
  ])
  const source = {
    specifier: '../flows.mjs',
    exportName: 'Booking',
    hasSetup: true,
    doubles: [],
    runner: 'node:test',
  } as const
  const whole = {
    title: 'Ein Tisch für „Ada“',
    slug: 'a-table',
    startedAt,
    turns: line.turns,
    source,
  }
  const files = [...savedTest(whole), ...savedScenario(whole)]
  saved = files.map(({ name, text }) => write(join('studio', name), text))
})
afterAll(() => rmSync(folder, { recursive: true }))

const commands: readonly (readonly [name: string, command: (path: string) => readonly string[], ending: string])[] = [
  ['node --test', (path) => ['--test', path], '.test.mjs'],
  ['turnkeeper scenarios', (path) => ['node_modules/.bin/turnkeeper', 'scenarios', path], '.scenario.md'],
]

test.each(commands)('%s: passes at once, and fails after the flow is broken', (_name, command, ending) => {
  const path = saved.find((one) => one.endsWith(ending)) ?? ''
  rmSync(join(folder, 'called.txt'), { force: true })
  const run = (code: string): { readonly status: number | null; readonly stdout: string } => {
    write('flows.mjs', code)
    return spawnSync(process.execPath, command(path), { cwd: folder, encoding: 'utf8', env: {} })
  }
  expect(run(flows)).toMatchObject({ status: 0, stdout: expect.stringContaining('Ein Tisch für „Ada“') })
  for (const code of broken) {
    expect(code).not.toBe(flows)
    expect(run(code)).toMatchObject({ status: 1, stdout: expect.stringContaining('Ein Tisch für „Ada“') })
  }
  expect(() => rmSync(join(folder, 'called.txt'))).toThrow('ENOENT')
})
