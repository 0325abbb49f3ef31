// `npx turnkeeper studio` and `npx turnkeeper chat` as their user starts them: what they print, serve and write, and
// what is left when they end.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { writeSourcePackage } from '../source-package.js'
import { endProcess } from '../worker-processes.js'
import { pageText } from './studio-server.js'

const flows = `
import { Flow, LogicStep, Step, reply } from 'turnkeeper'
import { word } from './word.js'
import json from './word.json' with { type: 'json' }
class Echo extends LogicStep {
  static id = 'Echo'
  initialState() { return { turns: 0 } }
  run({ message }) {
    this.state.turns++
    if (message === 'environment') return reply(Object.keys(process.env).filter((name) => /TURNKEEPER/.test(name)).join() || 'none')
    if (message === 'crash') return new Promise(() => setImmediate(() => { throw new Error('It crashed.') }))
    if (message === 'exit') process.exit(3)
    if (message === 'kill') process.kill(process.pid, 'SIGKILL')
    if (message === 'secret') return reply('It is ' + process.env.MY_API_KEY)
    return reply([word, json.word, this.state.turns, message].join(' '))
  }
}
class Ask extends Step {
  static id = 'Ask'
  prompt() { return 'Ask.' }
  model() { return { provider: 'any', name: 'small' } }
}
export class Chat extends Flow { static id = 'Chat'; steps() { return [Echo] } }
export class Talk extends Flow { static id = 'Talk'; steps() { return [Ask] } }
export default { flow: Chat, script: () => 'Scripted.' }
console.log('The flows run in ' + process.pid + '.')
`
const canaries = { MY_API_KEY: 'canary-6f1c0d', HELLO: 'canary-2b77aa' }
/** Reports the connections and, in the end, the processor time of a process. */
const watching = `
import { Socket } from 'node:net'
const { connect } = Socket.prototype
Socket.prototype.connect = function (...words) { console.log('A connection leaves.'); return connect.apply(this, words) }
process.on('exit', () => { const { user, system } = process.cpuUsage(); console.log('processor time: ' + (user + system)) })
`

let base = ''
let folder = ''
const started: Command[] = []

beforeAll(async () => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'studio-commands-')))
  await writeSourcePackage(base)
  writeFileSync(join(base, 'node_modules/turnkeeper/testing/studio/page.html'), pageText)
})

beforeEach(() => {
  folder = mkdtempSync(join(base, 'app-'))
  write({
    'package.json': '{"type":"module"}',
    'flows.js': flows,
    'word.js': "export const word = 'One'",
    'word.json': '{"word":"and"}',
  })
})

afterEach(async () => {
  await Promise.all(started.splice(0).map((command) => command.close()))
})

afterAll(() => rmSync(base, { recursive: true, force: true }))

function write(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
}

/** Saves as many editors do: another file takes the place of the old one. */
function replace(path: string, text: string): void {
  write({ [`${path}~`]: text })
  renameSync(join(folder, `${path}~`), join(folder, path))
}

/** A command that runs in the folder. */
class Command {
  output = ''
  errors = ''
  readonly process: ChildProcess
  /** The streams close when the last process ends that has them. */
  readonly #closed: Promise<unknown>
  #look = (): void => undefined

  constructor(words: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const command = join(base, 'node_modules', '.bin', 'turnkeeper')
    const { NODE_ENV: _test, ...env } = process.env
    this.process = spawn(process.execPath, [command, ...words], { cwd: folder, env: { ...env, ...environment } })
    this.#closed = once(this.process, 'close').then(() => this.#look())
    this.process.stdout?.on('data', (piece) => {
      this.output += piece
      this.#look()
    })
    this.process.stderr?.on('data', (piece) => {
      this.errors += String(piece).replaceAll(folder, '<folder>')
      this.#look()
    })
    started.push(this)
  }

  /** What the output has that matches, as soon as it has. @param from - The index from which to look. */
  async printed(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    while (true) {
      const found = pattern.exec(`${this.output}\n${this.errors}`.slice(from))
      if (found !== null) return found
      if (this.process.exitCode !== null) throw new Error(`It has ended: ${this.output}${this.errors}`)
      await new Promise<void>((resolve) => {
        this.#look = resolve
      })
    }
  }

  async ended(): Promise<{ readonly code: number | null; readonly output: string; readonly errors: string }> {
    await this.#closed
    return { code: this.process.exitCode, output: this.output, errors: this.errors }
  }

  async close(): Promise<void> {
    await endProcess(this.process)
    await this.#closed
  }
}

function run(...words: string[]): Promise<Awaited<ReturnType<Command['ended']>>> {
  return new Command(words).ended()
}

/** The page of a studio, as far as it speaks with the server. */
class Page {
  /** Everything that the server has answered. */
  answers = ''
  readonly command: Command
  readonly origin: string
  readonly token: string

  constructor(command: Command, origin: string, token: string) {
    this.command = command
    this.origin = origin
    this.token = token
  }

  static async of(command: Command): Promise<Page> {
    const [, origin = '', token = ''] = await command.printed(
      /^Turnkeeper studio for flows\.js: (http:\/\/127\.0\.0\.1:\d+)\/#([\w-]{43})$/m,
    )
    return new Page(command, origin, token)
  }

  async get(): Promise<string> {
    const text = await (await fetch(this.origin)).text()
    this.answers += text
    return text
  }

  async call(route: string, body: object): Promise<Record<string, unknown>> {
    const response = await fetch(`${this.origin}/api/${route}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-studio-token': this.token, origin: this.origin },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    this.answers += text
    return JSON.parse(text)
  }

  /** Sends a message. Returns the replies so far, without those before the last two. */
  async say(line: unknown, text: string): Promise<readonly string[]> {
    const { problem } = await this.call('send', { line, text })
    if (problem !== undefined) return [String(problem)]
    const { history } = (await this.call('line', { line })) as {
      readonly history: readonly { readonly reply: string }[]
    }
    return history.slice(-2).map(({ reply }) => reply)
  }

  /** Changes the code, and waits until it is served. */
  async after(change: () => void): Promise<void> {
    const from = this.command.output.length
    change()
    await this.command.printed(/^The flows run in \d+\.$/m, from)
    while (
      !(await fetch(this.origin).then(
        ({ ok }) => ok,
        () => false,
      ))
    );
  }
}

async function studio(
  words: readonly string[] = [],
  environment: Readonly<Record<string, string>> = {},
): Promise<Page> {
  return await Page.of(new Command(['studio', './flows.js', ...words], environment))
}

function files(under = folder): readonly string[] {
  return readdirSync(under, { recursive: true }).map(String).sort()
}

describe('turnkeeper studio', () => {
  test('prints one line with its address, serves the page, and runs turns', async () => {
    const page = await studio()
    expect(await page.get()).toBe(pageText)
    const { line } = await page.call('begin', { flow: 'Chat' })
    expect(await page.say(line, 'Hello')).toEqual(['One and 1 Hello'])
    const { line: other } = await page.call('begin', { flow: 'Talk' })
    expect(await page.say(other, 'Hello')).toEqual(['Scripted.'])
    expect(page.command.output.split('\n')).toHaveLength(3)
    expect(page.command.errors).toBe('')
  })

  test('uses under two seconds of processor time, and nothing leaves the machine', async () => {
    write({ 'watching.mjs': watching })
    const page = await studio([], { NODE_OPTIONS: '--import ./watching.mjs' })
    await page.get()
    page.command.process.kill('SIGTERM')
    const { output } = await page.command.ended()
    const microseconds = [...output.matchAll(/processor time: (\d+)/g)].map(([, time]) => Number(time))
    expect(microseconds).toHaveLength(2)
    expect(microseconds.reduce((sum, time) => sum + time)).toBeLessThan(2_000_000)
    expect(output).not.toContain('A connection leaves.')
  })

  test('goes on with changed code, at the same address, in the same conversation', async () => {
    const page = await studio()
    const { line } = await page.call('begin', { flow: 'Chat' })
    expect(await page.say(line, 'Hello')).toEqual(['One and 1 Hello'])
    const from = page.command.output.length
    await page.after(() => {
      replace('word.js', "export const word = 'Two'")
      write({ 'notes.js': 'Nothing imports this.' })
    })
    expect(await page.say(line, 'again')).toEqual(['One and 1 Hello', 'Two and 2 again'])
    expect(page.command.output.slice(from)).toMatch(
      /^word\.js has changed: the studio starts again\.\nThe flows run in \d+\.\n$/,
    )
    // `node --watch` would not see a file that was replaced twice.
    await page.after(() => replace('word.js', "export const word = 'Three'"))
    await page.after(() => write({ 'word.json': '{"word":"or"}' }))
    write({ 'word.cjs': "require('fs')\nexports.word = 'Three'" })
    await page.after(() => replace('word.js', "export * from './word.cjs'"))
    await page.after(() => write({ 'word.cjs': "require('fs')\nexports.word = 'Four'" }))
    await page.after(() => write({ 'flows.js': flows.replace("'Echo'", "'Echo' // changed") }))
    expect(await page.say(line, 'again')).toEqual(['Two and 2 again', 'Four or 3 again'])
    expect(page.command.errors).toBe('')
  })

  test('shows why code does not load, and goes on when it does', async () => {
    const page = await studio()
    const { line } = await page.call('begin', { flow: 'Chat' })
    replace('word.js', 'export const word = ')
    await page.command.printed(/flows\.js cannot be loaded: Unexpected/)
    await page.command.printed(/^The studio starts again when the code changes\.$/m)
    await page.after(() => replace('word.js', "export const word = 'Mended'"))
    expect(await page.say(line, 'Hello')).toEqual(['Mended and 1 Hello'])
    replace('word.js', "export { word } from './none/later.js'")
    await page.command.printed(/Cannot find module '.*none.later\.js'/)
    replace('word.js', "export { word } from './later.js'")
    await page.command.printed(/Cannot find module '<folder>.later\.js'/)
    await page.after(() => write({ 'later.js': "export const word = 'Later'" }))
    expect(await page.say(line, 'Hello')).toEqual(['Mended and 1 Hello', 'Later and 2 Hello'])
  })

  test('starts another process after one that has failed at run time, when the code changes', async () => {
    const page = await studio()
    replace('word.js', "export const word = 'One'\nsetImmediate(() => { throw new Error('Failed.') })")
    await page.command.printed(/Error: Failed\./)
    await page.after(() => replace('word.js', "export const word = 'Mended'"))
    const { line } = await page.call('begin', { flow: 'Chat' })
    expect(await page.say(line, 'Hello')).toEqual(['Mended and 1 Hello'])
  })

  test('starts another process at once after one that has served and ends by itself', async () => {
    const page = await studio()
    const { line } = await page.call('begin', { flow: 'Chat' })
    expect(await page.say(line, 'Hello')).toEqual(['One and 1 Hello'])
    const from = page.command.output.length
    for (const message of ['crash', 'exit', 'kill']) {
      await page.after(() => void page.call('send', { line, text: message }).catch(() => undefined))
    }
    expect(page.command.output.slice(from).replaceAll(/in \d+\.$/gm, 'in it.')).toBe(
      ['exit code 1', 'exit code 3', 'SIGKILL']
        .map((how) => `The process of the flows has ended (${how}): it starts again.\nThe flows run in it.\n`)
        .join(''),
    )
    expect(page.command.errors).toContain('Error: It crashed.')
    expect(await page.say(line, 'Hello?')).toEqual(['One and 1 Hello', 'One and 2 Hello?'])
    await page.after(() => replace('word.js', "export const word = 'Two'"))
    expect(await page.say(line, 'Hm')).toEqual(['One and 2 Hello?', 'Two and 3 Hm'])
  })

  test('passes over what the flows send to their parent process', async () => {
    const sent = `null, 'text', 1, [null], { 'watch:import': 'file:', port: undefined }, { 'watch:require': [1, {}] }`
    write({ 'word.js': `export const word = 'One'\nfor (const one of [${sent}]) process.send(one)` })
    const page = await studio()
    const { line } = await page.call('begin', { flow: 'Chat' })
    expect(await page.say(line, 'Hello')).toEqual(['One and 1 Hello'])
    expect(page.command.errors).toBe('')
  })

  test('watches the module of the flows, though Node.js reports no file', async () => {
    write({ 'quiet.mjs': 'delete process.env.WATCH_REPORT_DEPENDENCIES' })
    const page = await studio([], { NODE_OPTIONS: '--import ./quiet.mjs' })
    await page.after(() => replace('flows.js', flows.replace('json.word,', "'changed',")))
    const { line } = await page.call('begin', { flow: 'Chat' })
    expect(await page.say(line, 'Hello')).toEqual(['One changed 1 Hello'])
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('ends all its processes with %s', async (signal) => {
    const { command } = await studio()
    const [, pid] = await command.printed(/The flows run in (\d+)/)
    command.process.kill(signal)
    expect(await command.ended()).toMatchObject({ code: 0, errors: '' })
    expect(() => process.kill(Number(pid), 0)).toThrow('ESRCH')
  })

  test('ends, though a turn does not, and is stopped while it has failed', async () => {
    write({ 'word.js': "export const word = 'One'\nprocess.on('SIGTERM', () => { for (;;); })" })
    const page = await studio()
    page.command.process.kill('SIGTERM')
    expect(await page.command.ended()).toMatchObject({ code: 0 })
    write({ 'word.js': "export const word = 'One'" })
    const { command } = await studio()
    write({ 'word.js': 'broken(' })
    await command.printed(/^The studio starts again when the code changes\.$/m)
    command.process.kill('SIGTERM')
    expect(await command.ended()).toMatchObject({ code: 0 })
  })

  test('leaves no process behind if it is killed', async () => {
    const { command } = await studio()
    command.process.kill('SIGKILL')
    // Only once the process of the flows has ended, too.
    await command.ended()
  })

  test('shows nothing of the environment, and gives the flows nothing of its own', async () => {
    const page = await studio([], canaries)
    await page.get()
    const { line } = await page.call('begin', { flow: 'Chat' })
    expect(await page.say(line, 'environment')).toEqual(['none'])
    expect(await page.say(line, 'secret')).toEqual(['none', 'It is [MY_API_KEY]'])
    await page.call('turn', { line, turn: 2 })
    await page.call('save', { line, as: 'test', name: 'environment' })
    await page.call('unknown', {})
    const leaving = new AbortController()
    const updates = await fetch(`${page.origin}/api/updates`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-studio-token': page.token, origin: page.origin },
      body: '{}',
      signal: leaving.signal,
    })
    const first = await updates.body?.getReader().read()
    leaving.abort()
    page.answers += new TextDecoder().decode(first?.value)
    expect(page.answers).toContain('"type":"lines"')
    expect(page.answers).not.toContain('canary')
  })

  test('writes below its folder only', async () => {
    const before = files()
    const page = await studio()
    const { line } = await page.call('begin', { flow: 'Chat' })
    await page.say(line, 'Hello')
    await page.call('save', { line, as: 'test', name: '../../escape' })
    expect(files().filter((path) => !before.includes(path))).toEqual([
      'turnkeeper-studio',
      'turnkeeper-studio/.gitignore',
      'turnkeeper-studio/escape.test.mjs',
      'turnkeeper-studio/lines',
      'turnkeeper-studio/lines/chat-1.json',
    ])
    const elsewhere = mkdtempSync(join(base, 'elsewhere-'))
    const second = await studio(['--folder', elsewhere])
    await second.call('begin', { flow: 'Chat' })
    expect(files(elsewhere)).toEqual(['.gitignore', 'lines', 'lines/chat-1.json'])
  })

  test('says so if it cannot write, and goes on', async () => {
    symlinkSync('gone', join(folder, 'link'))
    const page = await studio(['--folder', 'link'])
    const { line } = await page.call('begin', { flow: 'Chat' })
    await page.command.printed(/^The line chat-1 is not written\. E[A-Z]+: .*link/m)
    expect(await page.say(line, 'Hello')).toEqual(['One and 1 Hello'])
  })

  test('serves on the port that is asked for, and says so if it is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const refused = await run('studio', './flows.js', '--port', String(port))
    expect(refused).toMatchObject({ code: 2, errors: `Port ${port} is taken: choose another with --port.\n` })
    other.close()
    await once(other, 'close')
    const page = await studio(['--port', String(port)])
    expect(page.origin).toBe(`http://127.0.0.1:${port}`)
  })

  test.each([
    ['what is not a port', ['./flows.js', '--port', 'x'], "'x' is not a port."],
    ['a port that is too large', ['./flows.js', '--port', '65536'], "'65536' is not a port."],
    ['no module', [], 'Name one module that exports flows.'],
    ['two modules', ['./flows.js', './word.js'], 'Name one module that exports flows.'],
    ['another option', ['./flows.js', '--host', '0.0.0.0'], "Unknown option '--host'."],
    ['a module that is not there', ['./none.js'], 'The flows module cannot be found: there is no <folder>/none.js'],
    [
      'a module without flows',
      ['./word.js'],
      'The flows module <folder>/word.js must export a class that extends Flow',
    ],
    [
      'a folder that is a file',
      ['./flows.js', '--folder', './word.js'],
      'The studio writes to the folder <folder>/word.js, which is a file or a link.',
    ],
    ['code that does not load at the start', ['./broken.js'], 'The flows module <folder>/broken.js cannot be loaded'],
  ])('refuses %s', async (_what, words, text) => {
    write({ 'broken.js': 'export const = 1' })
    const { code, output, errors } = await run('studio', ...words)
    expect([code, output.replace(/^The flows run in .*\n/, '')]).toEqual([2, ''])
    expect(errors.slice(0, text.length)).toBe(text)
    expect(files()).not.toContain('turnkeeper-studio')
  })

  test('refuses production, before it loads the flows', async () => {
    const command = new Command(['studio', './flows.js'], { NODE_ENV: 'production' })
    expect(await command.ended()).toMatchObject({
      code: 2,
      output: '',
      errors: expect.stringMatching(/^The studio is for development, and NODE_ENV is production\.\n/),
    })
  })

  test.skipIf('typescript' in process.features)('says how to load TypeScript', async () => {
    write({ 'typed.ts': `${flows}\nexport const typed: string = 'typed'` })
    for (const command of ['studio', 'chat']) {
      const { code, errors } = await run(command, './typed.ts')
      expect([code, errors]).toEqual([2, expect.stringContaining('npm install --save-dev tsx')])
    }
  })
})

describe('turnkeeper chat', () => {
  async function chat(words: readonly string[], input: string, environment = {}): ReturnType<typeof run> {
    const command = new Command(['chat', ...words], environment)
    command.process.stdin?.end(input)
    const { output, ...rest } = await command.ended()
    return { ...rest, output: output.replace(/^The flows run in \d+\.\n/, '') }
  }

  test('talks with a flow, line by line', async () => {
    const { code, output, errors } = await chat(
      ['./flows.js', '--flow', 'Chat'],
      'Hello\n/back\nenvironment\n/save Hello\n',
    )
    expect(output).toBe(`Chat. /help lists the commands.
> One and 1 Hello
> Back at the beginning.
> none
> ${join(folder, 'turnkeeper-studio', 'hello.test.mjs')}
> 
`)
    expect([code, errors]).toEqual([0, ''])
    expect(files()).toContain('turnkeeper-studio/lines/chat-2.json')
  })

  test('takes the last line without an end, and stops at /quit', async () => {
    const { output } = await chat(['./flows.js', '--flow=Talk', '--folder=kept'], 'Hello\n/quit\nHello?')
    expect(output).toBe('Talk. /help lists the commands.\n> Scripted.\n> ')
    expect(await chat(['./flows.js', '--flow=Chat'], 'Hello')).toMatchObject({
      output: 'Chat. /help lists the commands.\n> One and 1 Hello\n> \n',
    })
    expect(files()).toContain('kept/lines/talk-1.json')
  })

  test.each([
    ['none of several flows', ['./flows.js'], {}, 'Name one of the flows with --flow: Chat, Talk.'],
    ['a flow that is not there', ['./flows.js', '--flow=No'], {}, "There is no flow 'No': name one of Chat, Talk."],
    ['production', ['./flows.js', '--flow=Chat'], { NODE_ENV: 'production' }, 'The studio is for development'],
    [
      'a folder that is a file',
      ['./flows.js', '--flow=Chat', '--folder=word.js'],
      {},
      'The studio writes to the folder',
    ],
    ['no module', [], {}, 'Name one module that exports flows.'],
  ])('refuses %s', async (_what, words, environment, text) => {
    const { code, output, errors } = await chat(words, 'Hello\n', environment)
    expect([code, output, errors.slice(0, text.length)]).toEqual([2, '', text])
  })
})
