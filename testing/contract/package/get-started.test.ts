/**
 * Follows docs/get-started.md in an empty folder, with the packed package beside it, as a stranger would: its commands,
 * its files, in the order of the page. What the page shows is what comes. `...` at the end of a word stands for the
 * rest of it, which is the same wherever the page repeats that word; in other places for anything. Only
 * the port is another one.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, inject, test } from 'vitest'

interface Block {
  readonly language: string
  /** The file that the sentence before the block names last. */
  readonly file: string | undefined
  readonly text: string
}

/** The blocks of code of a page. */
function blocksOf(page: string): Block[] {
  return Array.from(
    page.matchAll(/([^\n]*)\n\n```(\w+)\n([\s\S]*?)^```$/gm),
    ([, before = '', language = '', text = '']) => ({
      language,
      file: /`([\w.-]+\.(?:ts|json))`:$/.exec(before)?.[1],
      text,
    }),
  )
}

/** Commands of a block of language `console`, each with what it prints. */
function commandsOf(text: string): { readonly command: string; readonly shown: string }[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n')
      return { command: part.slice(0, end), shown: part.slice(end + 1).trim() }
    })
}

/** Words that the page shortens, and what came in their place. */
const words = new Map<string, string>()
const shortened = /\w+\.\.\./g

/** The text of a page as it is here: with the words that came. */
const filledIn = (text: string): string => text.replaceAll(shortened, (word) => words.get(word) ?? word)

/** What `shown` allows. Keeps the words that came the first time. */
function compare(output: string, shown: string): void {
  const unknown = (filledIn(shown).match(shortened) ?? []).slice(0, 1)
  const pattern = filledIn(shown)
    .split(/(\w*\.\.\.)/)
    .map((part) => {
      if (part === '...') return '[\\s\\S]*?'
      if (part === unknown[0]) return '([\\w-]+)'
      return part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
    })
    .join('')
  const match = new RegExp(`^${pattern}$`).exec(output.trim())
  expect(match === null ? output.trim() : shown).toBe(shown)
  if (unknown[0] !== undefined) words.set(unknown[0], match?.[1] ?? '')
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

let server: ChildProcess | undefined
/** Ends the server and what started it: it is the leader of a group of processes. */
afterAll(() => {
  if (server?.pid !== undefined) process.kill(-server.pid)
})

/** Starts the server of the page; resolves to its first line. */
function startServer(command: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const started = spawn('bash', ['-c', command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  server = started
  return new Promise((resolve, reject) => {
    let printed = ''
    let complaints = ''
    started.stdout.on('data', (chunk) => {
      printed += String(chunk)
      if (printed.includes('\n')) resolve(printed.trim())
    })
    started.stderr.on('data', (chunk) => {
      complaints += String(chunk)
    })
    started.once('exit', (code) => reject(new Error(`The server ended with code ${code}: ${complaints}`)))
  })
}

test('what the page shows is what comes', async () => {
  const repository = join(import.meta.dirname, '../../..')
  const blocks = blocksOf(readFileSync(join(repository, 'docs/get-started.md'), 'utf8'))
  const start = join(realpathSync(inject('consumer')), 'a-stranger')
  mkdirSync(join(start, 'turnkeeper'), { recursive: true })
  const [tarball = ''] = readdirSync(inject('consumer')).filter((name) => name.endsWith('.tgz'))
  cpSync(join(inject('consumer'), tarball), join(start, 'turnkeeper', tarball))

  const port = await freePort()
  const env = { ...process.env, PORT: String(port), NO_COLOR: '1', npm_config_prefer_offline: 'true' }
  let folder = start
  const shell = (command: string): string => {
    const where = join(start, 'where')
    const options = { cwd: folder, env, encoding: 'utf8' as const }
    const { status, stdout, stderr } = spawnSync('bash', ['-e', '-c', `${command}\npwd > ${where}`], options)
    expect({ command, status, said: status === 0 ? '' : stdout + stderr }).toEqual({ command, status: 0, said: '' })
    folder = readFileSync(where, 'utf8').trim()
    return stdout
  }

  const done: string[] = []
  for (const { language, file, text } of blocks) {
    if (file !== undefined) writeFileSync(join(folder, file), text)
    else if (text.startsWith('npx tsx server.ts'))
      expect(await startServer(text, folder, env)).toBe(`http://127.0.0.1:${port}/ai`)
    else if (language === 'sh') shell(text)
    else if (language === 'console') {
      for (const { command, shown } of commandsOf(text)) {
        compare(shell(filledIn(command).replaceAll(':3000', `:${port}`)), shown)
      }
    } else throw new Error(`docs/get-started.md has a block of ${language} whose file no sentence names: ${text}`)
    done.push(file ?? language)
  }
  expect(done).toEqual([
    ...['sh', 'tsconfig.json', 'tickets.ts', 'server.ts', 'sh', 'console'],
    ...['tickets.test.ts', 'console', 'booking.ts', 'booking.test.ts', 'console'],
  ])
  expect(existsSync(join(folder, 'node_modules/turnkeeper/dist'))).toBe(true)
  // It installs packages, and a compiler takes a second or two.
}, 300_000)
