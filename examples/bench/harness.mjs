/**
 * Runs a bench and prints its table. A bench measures several times in separate processes and takes the median. It
 * reports whether a target was met, but fails only with `--strict`: a figure from a busy machine must not break a
 * build.
 */
import { spawn } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The middle value; of an even number, the mean of the two in the middle. */
export function median(values) {
  const sorted = Float64Array.from(values).sort()
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Bytes in use after a full garbage collection. Needs `--expose-gc`, which {@link bench} passes to its processes. */
export async function heapInUse() {
  for (let count = 0; count < 4; count++) {
    globalThis.gc()
    // Weak collections and finalizers give way between two tasks.
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/**
 * Declares the bench of a file. Run as a program, the file starts the runs and prints the table.
 *
 * @param options.url - `import.meta.url` of the file.
 * @param options.title - What is measured, in one line.
 * @param options.runs - How many times it is measured. Default 5.
 * @param options.systems - Names of systems that are measured apart: in each run, one process for each of them.
 *   Default: one process measures all.
 * @param options.once - Measures once, one of the `systems` if there are any; returns figures by name. The name of a
 * system is put before its figures: `f1` and `at256` make `f1.at256`.
 * @param options.derive - Adds derived figures to one run, such as ratios. Default: none.
 * @param options.rows - What the table shows: `label`, `figure` (a name), `unit`, and `target` (at
 * most that much) or none.
 */
export function bench({ url, title, runs = 5, systems = [''], once, derive, rows }) {
  const file = fileURLToPath(url)
  if (process.argv[1] !== file) return
  const flag = process.argv.indexOf('--once')
  if (flag >= 0) {
    void once(process.argv[flag + 1]).then((figures) => {
      process.stdout.write(`\n${JSON.stringify(figures)}\n`, () => process.exit(0))
    })
    return
  }
  void measure(file, runs, systems, derive).then((results) => report(basename(file, '.mjs'), title, rows, results))
}

async function measure(file, runs, systems, derive) {
  const results = []
  for (let run = 1; run <= runs; run++) {
    process.stderr.write(`run ${run} of ${runs}\r`)
    const figures = {}
    for (const system of systems) {
      for (const [name, value] of Object.entries(await runOnce(file, system))) {
        figures[system === '' ? name : `${system}.${name}`] = value
      }
    }
    results.push({ ...figures, ...derive?.(figures) })
  }
  return results
}

function runOnce(file, system) {
  const child = spawn(process.execPath, ['--expose-gc', file, '--once', system], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve(JSON.parse(output.trim().split('\n').at(-1)))
      else reject(new Error(`${file} ended with ${code}.`))
    })
  })
}

function report(name, title, rows, results) {
  let misses = 0
  const table = rows.map(({ label, figure, unit, target }) => {
    const values = results.map((result) => result[figure])
    const value = median(values)
    const missed = target !== undefined && !(value <= target)
    if (missed) misses++
    const range = values.length > 1 ? `${show(Math.min(...values))} to ${show(Math.max(...values))}` : ''
    const verdict = target === undefined ? '' : missed ? 'MISS' : 'pass'
    return [label, `${show(value)} ${unit}`, range, target === undefined ? '' : `at most ${target}`, verdict]
  })
  console.log(`\n${title} (${results.length === 1 ? '1 run' : `median of ${results.length} runs`})`)
  printTable(['', ...columns], table)
  // For the table of all benches, which bench.mjs prints.
  const { BENCH_TABLE } = process.env
  if (BENCH_TABLE !== undefined) {
    appendFileSync(BENCH_TABLE, table.map((line) => `${JSON.stringify([name, ...line])}\n`).join(''))
  }
  if (misses > 0 && process.argv.includes('--strict')) process.exitCode = 1
}

/** What a table shows of a row, after its name. */
export const columns = ['measured', 'lowest to highest', 'target', '']

/** Prints lines of texts, in columns. */
export function printTable(heads, lines) {
  const all = [heads, ...lines]
  const widths = heads.map((_, column) => Math.max(...all.map((line) => line[column].length)))
  for (const line of all) {
    console.log(`  ${line.map((text, column) => text.padEnd(widths[column])).join('  ')}`.trimEnd())
  }
}

function show(value) {
  if (!Number.isFinite(value)) return String(value)
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2)
}
