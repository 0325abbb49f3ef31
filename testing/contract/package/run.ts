/** Runs a tool of the repository on the consumer's folder, and returns what it printed. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { inject } from 'vitest'

const typescript = createRequire(import.meta.url).resolve('typescript/bin/tsc')

/** Writes files (path to text) into a new folder inside the consumer's. */
export function project(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(inject('consumer'), name)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

/** What the command printed on both streams; `failed` if it exited with another code than 0. */
export function run(folder: string, ...words: string[]): { failed: boolean; output: string } {
  try {
    return {
      failed: false,
      output: execFileSync(process.execPath, words, { cwd: folder, encoding: 'utf8', stdio: 'pipe' }),
    }
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string }
    return { failed: true, output: `${stdout ?? ''}${stderr ?? ''}` }
  }
}

/** Compiles a folder by its tsconfig.json. */
export function compile(folder: string): { failed: boolean; output: string } {
  return run(folder, typescript, '-p', '.', '--pretty', 'false')
}
