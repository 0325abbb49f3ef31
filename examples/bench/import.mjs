/**
 * The cost of the package itself: the time to import its root, or the harness, in a new process, the Node modules it
 * needs, and its bundled size.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { bench, median } from './harness.mjs'

const rounds = 21
/** The imports of a program with model and logic steps. */
const applicationNames = 'Flow, FlowEngine, LogicStep, Step, finish, go, reply, stay, tool'
const here = fileURLToPath(new URL('.', import.meta.url))

bench({
  url: import.meta.url,
  title: `import: the root of the package, and the harness (medians of ${rounds} interleaved rounds of processes)`,
  runs: 1,
  async once() {
    const bare = []
    const root = []
    const harness = []
    for (let round = 0; round < rounds; round++) {
      bare.push(importTime('data:text/javascript,'))
      root.push(importTime('turnkeeper'))
      harness.push(importTime('turnkeeper/testing'))
    }
    const application = await bundle(`export { ${applicationNames} } from 'turnkeeper'`)
    const whole = await bundle("export * from 'turnkeeper'")
    return {
      milliseconds: median(root) - median(bare),
      harness: median(harness) - median(bare),
      application: application.kibibytes,
      whole: whole.kibibytes,
      nodeModules: whole.nodeModules,
    }
  },
  rows: [
    { label: 'import, over an empty module', figure: 'milliseconds', unit: 'ms', target: 15 },
    { label: 'import of turnkeeper/testing, the root included', figure: 'harness', unit: 'ms', target: 20 },
    { label: 'modules of Node in the graph', figure: 'nodeModules', unit: '', target: 0 },
    { label: 'an application, minified and gzipped', figure: 'application', unit: 'KiB' },
    { label: 'all that the root exports', figure: 'whole', unit: 'KiB', target: 66 },
  ],
})

function importTime(specifier) {
  const program = `const start = performance.now(); await import('${specifier}'); console.log(performance.now() - start)`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: here,
  })
  if (status !== 0) throw new Error(String(stderr))
  return Number(stdout)
}

async function bundle(contents) {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: here },
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  const [file] = outputFiles
  const outside = Object.values(metafile.outputs).flatMap(({ imports }) => imports)
  return {
    nodeModules: outside.length,
    kibibytes: gzipSync(file.contents, { level: 9 }).byteLength / 1024,
  }
}
