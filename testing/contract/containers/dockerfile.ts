// What a Dockerfile does to an empty folder: enough of it to run the one in examples/docker without Docker. COPY, RUN,
// CMD and HEALTHCHECK are done, ENV is remembered; FROM and USER are not, because there is one
// machine and one user here.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** One instruction, in the order of the file. */
export interface Instruction {
  readonly keyword: string
  readonly rest: string
}

/** The parts of an image that this file reads. */
export interface BuiltImage {
  /** The folder of `WORKDIR`. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  readonly command: readonly string[]
  readonly healthCheck: readonly string[]
}

/** The instructions of a Dockerfile: comments left out, continued lines joined. */
export function instructionsOf(dockerfile: string): Instruction[] {
  const lines = dockerfile.replaceAll(/^\s*#.*\n/gm, '').replaceAll(/\\\n\s*/g, '')
  return lines.split('\n').flatMap((line) => {
    const [, keyword, rest] = /^([A-Z]+)\s+(.*)$/.exec(line.trim()) ?? []
    return keyword === undefined || rest === undefined ? [] : [{ keyword, rest }]
  })
}

/**
 * Runs the instructions of `<context>/Dockerfile` in an empty folder.
 *
 * @throws Error if an instruction is unknown or fails.
 */
export async function build(context: string, folder: string, more: Record<string, string> = {}): Promise<BuiltImage> {
  const environment: Record<string, string> = {}
  let command: readonly string[] = []
  let healthCheck: readonly string[] = []
  const isSent = sentFiles(context)
  const nothing = (): void => undefined
  const meanings: Readonly<Record<string, (rest: string) => void | Promise<void>>> = {
    COPY: (rest) => copy(rest, context, folder, isSent),
    RUN: (rest) => run(['sh', '-c', rest], folder, { ...environment, ...more }),
    ENV: (rest) => void Object.assign(environment, settingsOf(rest)),
    CMD(rest) {
      command = listOf(rest)
    },
    HEALTHCHECK(rest) {
      healthCheck = listOf(rest.slice(rest.indexOf('CMD') + 3))
    },
    ...{ FROM: nothing, WORKDIR: nothing, USER: nothing, EXPOSE: nothing },
  }
  for (const { keyword, rest } of instructionsOf(readFileSync(join(context, 'Dockerfile'), 'utf8'))) {
    const meaning = meanings[keyword]
    if (meaning === undefined) throw new Error(`What does ${keyword} do?`)
    await meaning(rest)
  }
  return { folder, environment, command, healthCheck }
}

/** Runs a command to its end. Its output goes to the output of the tests. */
export async function run(
  [program = '', ...words]: readonly string[],
  folder: string,
  environment: Readonly<Record<string, string>>,
): Promise<void> {
  const child = spawn(program, words, { cwd: folder, env: { ...process.env, ...environment }, stdio: ['ignore', 2, 2] })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  if (code !== 0) throw new Error(`'${program} ${words.join(' ')}' ended with ${code ?? signal}.`)
}

function settingsOf(rest: string): Record<string, string> {
  return Object.fromEntries(Array.from(rest.matchAll(/(\w+)=(\S+)/g), ([, name = '', value = '']) => [name, value]))
}

/** The exec form. In the form of a text a shell would be the process that gets the signals. */
function listOf(rest: string): string[] {
  const list: unknown = JSON.parse(rest.trim())
  if (Array.isArray(list) && list.every((word) => typeof word === 'string')) return list
  throw new Error(`Not a list of words: ${rest}`)
}

function copy(rest: string, context: string, folder: string, isSent: (file: string) => boolean): void {
  const names = rest.split(/\s+/)
  const target = names.pop() ?? ''
  for (const name of names) {
    if (!isSent(name)) throw new Error(`.dockerignore keeps ${name} out.`)
    cpSync(join(context, name), join(folder, target, basename(name)), { recursive: true })
  }
}

/** Whether a file is sent to the builder: what .dockerignore says. The last pattern that matches counts. */
function sentFiles(context: string): (file: string) => boolean {
  if (!readdirSync(context).includes('.dockerignore')) return () => true
  const lines = readFileSync(join(context, '.dockerignore'), 'utf8').split('\n')
  const patterns = lines.filter((line) => line.trim() !== '' && !line.startsWith('#'))
  return (file) => {
    const last = patterns.findLast((pattern) => {
      const glob = pattern.replace(/^!/, '').replaceAll('.', '\\.').replaceAll('*', '[^/]*')
      return new RegExp(`^${glob}$`).test(file)
    })
    return last === undefined || last.startsWith('!')
  }
}
