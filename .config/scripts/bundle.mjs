/**
 * Writes the JavaScript of the package: one file for each entry point, one for all that the root is made of, and chunks
 * for what else they share. A module costs a runtime a third of a millisecond to find and load: sixty of them would
 * cost more than all that is in them. What the root is made of is compressed best as one text, in the order of
 * `src/index.ts`. The types stay one file for each source; tsc
 * writes those, after it has checked everything.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { entryPoints } from './entry-points.mjs'
import { productionBill, readLock } from './sbom.mjs'
import { buildStudioPage } from './studio-page.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const core = 'dist/chunks/core.js'
/** What the root loads late, with the first outside event or timer. */
const late = 'dist/chunks/waiting.js'
const lateSource = 'src/engine/waiting/index.ts'
/**
 * The file that loads it, which is not part of the core file: a bundler keeps whatever a late import may need, so that
 * an entry point which takes one function of the core file would bring all of it.
 */
const engine = 'dist/chunks/engine.js'
const engineSource = 'src/engine/flow-engine.ts'
/** The lists of the root's names. */
const rootLists = ['src/index.ts', 'src/index.node.ts']

const options = {
  absWorkingDir: root,
  bundle: true,
  format: 'esm',
  platform: 'neutral',
  target: 'es2022',
  logLevel: 'warning',
}

const modules = await modulesOfRoot()
const contents = modules.map((file) => `export * from './${file}'`)
await build({
  ...options,
  stdin: { contents: contents.join('\n'), resolveDir: root, loader: 'ts' },
  outfile: core,
})

const entryOptions = {
  ...options,
  packages: 'external',
  outdir: 'dist',
  outbase: '.',
  write: false,
}
const inCore = modules.map((source) => [source, core])
const inRoot = [...inCore, [engineSource, engine]]
const [engineFile, waitingFile] = await Promise.all([chunk(engineSource), chunk(lateSource)])
// Without splitting: the list that both have would be one more file to load.
const lists = await build({
  ...entryOptions,
  entryPoints: rootLists,
  plugins: [{ name: 'core', setup: takeFrom(new Map(inRoot)) }],
})
// Others take the root's names from the core file, and the names of `turnkeeper/testing` from that entry
// point, which so is one file.
const isTool = (file) => /^testing\/(?:diagram|studio)\//.test(file)
const rest = entryPoints.filter((file) => !rootLists.includes(file))
// Tools for a developer have what they need of the harness in files of their own: shared, it would be more files for
// each test that loads the harness.
const [others, tools] = await Promise.all([
  entryFiles(rest.filter((file) => !isTool(file))),
  entryFiles(rest.filter(isTool)),
])
const files = [
  ...lists.outputFiles,
  ...others.outputFiles,
  ...tools.outputFiles,
  { path: join(root, engine), text: engineFile.text },
  { path: join(root, late), text: waitingFile.text },
]
for (const { path, text } of files) {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(
    path,
    text.replaceAll(/"turnkeeper:(dist\/[\w./-]+)"/g, (_, file) => JSON.stringify(pathTo(file, path))),
  )
}
await mkdir(join(root, 'dist/testing/studio'), { recursive: true })
await writeFile(join(root, 'dist/testing/studio/page.html'), await buildStudioPage())
await writeFile(join(root, 'dist/sbom.cdx.json'), `${JSON.stringify(productionBill(readLock()), null, 2)}\n`)

/** The modules that the root is made of, in the order in which they run. */
async function modulesOfRoot() {
  const { metafile } = await build({
    ...options,
    packages: 'external',
    entryPoints: ['src/index.ts'],
    write: false,
    metafile: true,
    plugins: [{ name: 'late', setup: loadLate }],
  })
  const [{ inputs }] = Object.values(metafile.outputs).filter(({ entryPoint }) => entryPoint !== undefined)
  return Object.keys(inputs).filter((file) => file !== 'src/index.ts' && file !== engineSource)
}

/** Entry points, and chunks for what they share. */
function entryFiles(files) {
  return build({
    ...entryOptions,
    entryPoints: files,
    chunkNames: 'chunks/[name]-[hash]',
    splitting: true,
    plugins: [
      {
        name: 'core and testing',
        setup: takeFrom(new Map([...inRoot, ['src/index.ts', core], ['testing/index.ts', 'dist/testing/index.js']])),
      },
    ],
  })
}

/** A file that takes the root's modules from the core file. */
async function chunk(source) {
  const { outputFiles } = await build({
    ...entryOptions,
    entryPoints: [source],
    plugins: [
      { name: 'late', setup: loadLate },
      { name: 'core', setup: takeFrom(new Map(inCore)) },
    ],
  })
  return outputFiles[0]
}

function loadLate({ onResolve }) {
  onResolve({ filter: /\/waiting\/index\.js$/ }, ({ kind }) =>
    kind === 'dynamic-import' ? { path: './waiting.js', external: true } : undefined,
  )
}

/**
 * Imports what `files` lists, by source, from its built file. The path gets its final form when the
 * importing file is written.
 */
function takeFrom(files) {
  const importFrom = (file) =>
    file === undefined ? undefined : { path: `turnkeeper:${file}`, external: true, sideEffects: false }
  return ({ onResolve }) => {
    onResolve({ filter: /^\./ }, ({ path, resolveDir, kind }) => {
      if (kind === 'entry-point') return undefined
      const source = relative(root, join(resolveDir, path)).replaceAll(sep, '/').replace(/\.js$/, '.ts')
      // Only the helpers for tests make engines.
      const makesEngines = source === 'src/index.ts' && relative(root, resolveDir).startsWith('testing')
      return importFrom(makesEngines ? 'dist/src/index.js' : files.get(source))
    })
  }
}

function pathTo(file, importer) {
  const path = relative(dirname(importer), join(root, file)).replaceAll(sep, '/')
  return path.startsWith('.') ? path : `./${path}`
}
