/**
 * Writes the JavaScript of the package: one file for each entry point, and chunks for what they share. A module costs a
 * runtime a third of a millisecond to find and load, so sixty of them would cost more than all that is in them. The
 * types stay one file for each source; tsc writes those, after it has checked everything.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))
const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const entryPoints = Object.values(exports)
  .map(({ default: file }) => file)
  .filter((file) => file !== undefined)
  .map((file) => file.replace('./dist/', '').replace(/\.js$/, '.ts'))

await build({
  absWorkingDir: root,
  entryPoints,
  outdir: 'dist',
  outbase: '.',
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  packages: 'external',
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
})
