/**
 * Writes the JavaScript of the package: one file for each entry point, one for all that the root is made of, and chunks
 * for what else they share. A module costs a runtime a third of a millisecond to find and load: sixty of them would
 * cost more than all that is in them. What the root is made of is compressed best as one text, in the order of
 * `src/index.ts`. The packages that the root needs at run time are in that file, too: as imports they make loading it
 * half as long again (docs/decisions/root-size.md). The types stay one file for each source; tsc
 * writes those, after it has checked everything.
 */
import { readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { bundled } from './bundled.mjs'
import { entryPoints } from './entry-points.mjs'
import { productionBill, readLock } from './sbom.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const core = 'dist/chunks/core.js'
/** The lists of the root's names. */
const rootLists = ['src/index.ts', 'src/index.node.ts']

const packageName = /^[^./]/

const options = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  logLevel: 'warning',
}

const modules = await modulesOfRoot()
const contents = [
  ...modules.map((file) => `export * from './${file}'`),
  ...Object.entries(bundled).map(([path, { name }]) => `export { ${name} } from '${path}'`),
]
await build({
  ...options,
  stdin: { contents: contents.join('\n'), resolveDir: root, loader: 'ts' },
  outfile: core,
  banner: { js: Object.keys(bundled).map(licenceOf).join('\n') },
  plugins: [{ name: 'packages', setup: leaveOtherPackages }],
})

const entryOptions = {
  ...options,
  packages: 'external',
  outdir: 'dist',
  outbase: '.',
  write: false,
}
const inCore = modules.map((source) => [source, core])
// Without splitting: the list that both have would be one more file to load.
const lists = await build({
  ...entryOptions,
  entryPoints: rootLists,
  plugins: [{ name: 'core', setup: takeFrom(new Map(inCore)) }],
})
// Others take the root's names from the core file, and the names of `turnkeeper/testing` from that entry
// point, which so is one file.
const others = await build({
  ...entryOptions,
  entryPoints: entryPoints.filter((file) => !rootLists.includes(file)),
  chunkNames: 'chunks/[name]-[hash]',
  splitting: true,
  plugins: [
    {
      name: 'core and testing',
      setup: takeFrom(new Map([...inCore, ['src/index.ts', core], ['testing/index.ts', 'dist/testing/index.js']])),
    },
  ],
})
for (const { path, text } of [...lists.outputFiles, ...others.outputFiles]) {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(
    path,
    text.replaceAll(/"turnkeeper:(dist\/[\w./-]+)"/g, (_, file) => JSON.stringify(pathTo(file, path))),
  )
}
await writeFile(join(root, 'dist/sbom.cdx.json'), `${JSON.stringify(productionBill(readLock()), null, 2)}\n`)

/** The modules that the root is made of, in the order in which they run. */
async function modulesOfRoot() {
  const { metafile } = await build({
    ...options,
    packages: 'external',
    entryPoints: ['src/index.ts'],
    write: false,
    metafile: true,
  })
  const [{ inputs }] = Object.values(metafile.outputs).filter(({ entryPoint }) => entryPoint !== undefined)
  return Object.keys(inputs).filter((file) => file !== 'src/index.ts')
}

function leaveOtherPackages({ onResolve }) {
  onResolve({ filter: packageName }, ({ path }) =>
    Object.hasOwn(bundled, path) ? undefined : { path, external: true },
  )
}

/**
 * The licence of a package, as a comment. In ASCII: with any other character, V8 keeps the whole file
 * with two bytes for each.
 */
function licenceOf(name) {
  const text = readFileSync(join(root, 'node_modules', name, bundled[name].licence), 'utf8')
  return `/* ${name}\n\n${text.trim().replaceAll(/[“”]/g, '"')}\n*/`
}

/**
 * Imports what `files` lists, by source, from its built file. The path gets its final form when the
 * importing file is written.
 */
function takeFrom(files) {
  const importFrom = (file) =>
    file === undefined ? undefined : { path: `turnkeeper:${file}`, external: true, sideEffects: false }
  return ({ onResolve }) => {
    onResolve({ filter: packageName }, ({ path }) => importFrom(Object.hasOwn(bundled, path) ? core : undefined))
    onResolve({ filter: /^\./ }, ({ path, resolveDir, kind }) => {
      if (kind === 'entry-point') return undefined
      const source = relative(root, join(resolveDir, path)).replaceAll(sep, '/').replace(/\.js$/, '.ts')
      return importFrom(files.get(source))
    })
  }
}

function pathTo(file, importer) {
  const path = relative(dirname(importer), join(root, file)).replaceAll(sep, '/')
  return path.startsWith('.') ? path : `./${path}`
}
