/**
 * Packs the package and installs it, once for each run, into a new folder, as an outside user would: no peer, no
 * devDependency. The tests in this folder look only at that folder. Needs a build; the folder is removed at the end.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The consumer's folder: `node_modules/turnkeeper` is the packed package. */
    readonly consumer: string
    /** Paths of the files in the package. */
    readonly packed: readonly string[]
  }
}

const root = fileURLToPath(new URL('../../../', import.meta.url))

interface PackReport {
  readonly filename: string
  readonly files: readonly { readonly path: string }[]
}

export default function setup(project: TestProject): () => void {
  const consumer = mkdtempSync(join(tmpdir(), 'turnkeeper-consumer-'))
  const npm = (folder: string, ...words: string[]): string =>
    execFileSync('npm', [...words, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd: folder,
      encoding: 'utf8',
    })
  try {
    const [report] = JSON.parse(npm(root, 'pack', '--json', '--pack-destination', consumer)) as PackReport[]
    if (report === undefined) throw new Error('npm pack reported no package')
    writeFileSync(join(consumer, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }\n')
    npm(consumer, 'install', '--prefer-offline', `./${report.filename}`)
    project.provide('consumer', consumer)
    project.provide(
      'packed',
      report.files.map(({ path }) => path),
    )
  } catch (error) {
    rmSync(consumer, { recursive: true, force: true })
    throw error
  }
  return () => rmSync(consumer, { recursive: true, force: true })
}
