/**
 * Writes the JavaScript of the package: one file for each entry point, one for all that the root is made of, and chunks for
 * what else they share. A module costs a runtime a third of a millisecond to find and load, so sixty of them would cost
 * more than all that is in them; and what the root is made of is compressed best as one text, in the order of
 * `src/index.ts`. The types stay one file for each source; tsc writes those, after it has checked everything.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { entryPoints } from './entry-points.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const core = join(root, 'dist/chunks/core.js')

const options = {
  absWorkingDir: root,
  bundle: true,
  packages: 'external',
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
}

const modules = await modulesOfRoot()
await build({
  ...options,
  stdin: { contents: modules.map((file) => `export * from './${file}'`).join('\n'), resolveDir: root, loader: 'ts' },
  outfile: core,
})

const { outputFiles } = await build({
  ...options,
  entryPoints,
  outdir: 'dist',
  outbase: '.',
  chunkNames: 'chunks/[name]-[hash]',
  splitting: true,
  write: false,
  plugins: [{ name: 'core', setup: takeFromCore }],
})
for (const { path, text } of outputFiles) {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text.replaceAll('"turnkeeper:core"', JSON.stringify(pathToCore(path))))
}

/** The modules that the root is made of, in the order in which they run. */
async function modulesOfRoot() {
  const { metafile } = await build({ ...options, entryPoints: ['src/index.ts'], write: false, metafile: true })
  const [{ inputs }] = Object.values(metafile.outputs).filter(({ entryPoint }) => entryPoint !== undefined)
  return Object.keys(inputs).filter((file) => file !== 'src/index.ts')
}

function takeFromCore({ onResolve }) {
  const known = new Set(modules.map((file) => join(root, file)))
  onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
    const file = join(resolveDir, path).replace(/\.js$/, '.ts')
    return known.has(file) ? { path: 'turnkeeper:core', external: true, sideEffects: false } : undefined
  })
}

function pathToCore(file) {
  const path = relative(dirname(file), core).replaceAll(sep, '/')
  return path.startsWith('.') ? path : `./${path}`
}
