/**
 * The package made from the sources, for tests that run it in another process: no build is needed,
 * and it is never an old one.
 */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../../', import.meta.url))

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly node?: string; readonly default: string }>>
  readonly peerDependencies: Readonly<Record<string, string>>
}

/**
 * Writes `node_modules/turnkeeper` into a folder: every entry point of `package.json`, and the command, as
 * `node_modules/.bin/turnkeeper`. The packages that it needs go into its files; peers are left out.
 */
export async function writeSourcePackage(folder: string): Promise<void> {
  const { exports, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest
  const target = join(folder, 'node_modules', 'turnkeeper')
  const entryPoints: Record<string, string> = {}
  const ownExports: Record<string, string> = {}
  for (const [subpath, entry] of Object.entries(exports)) {
    if (typeof entry === 'string') continue
    const compiled = (entry.node ?? entry.default).replace('./dist/', '')
    entryPoints[compiled.replace(/\.js$/, '')] = compiled.replace(/\.js$/, '.ts')
    ownExports[subpath] = `./${compiled}`
  }
  await build({
    absWorkingDir: root,
    entryPoints,
    outdir: target,
    outbase: root,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'neutral',
    external: [...Object.keys(peerDependencies), '@upstash/redis', 'cloudflare:*', 'node:*'],
    logLevel: 'error',
  })
  writeFileSync(
    join(target, 'package.json'),
    JSON.stringify({ name: 'turnkeeper', type: 'module', exports: ownExports }),
  )
  cpSync(join(root, 'bin'), join(target, 'bin'), { recursive: true })
  const command = join(folder, 'node_modules', '.bin', 'turnkeeper')
  mkdirSync(dirname(command), { recursive: true })
  symlinkSync('../turnkeeper/bin/turnkeeper.mjs', command)
}
