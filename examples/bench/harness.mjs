/**
 * How a bench runs and what it prints. A bench measures in processes of its own, several times; what counts is the
 * median over the runs. It says whether a target was met, and fails only when asked to (`--strict`): a figure measured
 * on a busy machine must not break a build.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The middle value; of an even number, the mean of the two in the middle. */
export function median(values) {
  const sorted = Float64Array.from(values).sort()
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** Bytes in use after everything that nobody holds is gone. Needs `--expose-gc`, which {@link bench} sees to. */
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
 * @param options.runs - How many processes measure. Default 5.
 * @param options.once - Measures once; returns figures by name.
 * @param options.rows - What the table shows: `label`, `figure` (a name), `unit`, and `target` (at most that much) or none.
 */
export function bench({ url, title, runs = 5, once, rows }) {
  const file = fileURLToPath(url)
  if (process.argv[1] !== file) return
  if (process.argv.includes('--once')) {
    void once().then((figures) => {
      process.stdout.write(`\n${JSON.stringify(figures)}\n`, () => process.exit(0))
    })
    return
  }
  void measure(file, runs).then((results) => report(title, rows, results))
}

async function measure(file, runs) {
  const results = []
  for (let run = 1; run <= runs; run++) {
    process.stderr.write(`run ${run} of ${runs}\r`)
    results.push(await runOnce(file))
  }
  return results
}

function runOnce(file) {
  const child = spawn(process.execPath, ['--expose-gc', file, '--once'], { stdio: ['ignore', 'pipe', 'inherit'] })
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

function report(title, rows, results) {
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
  print(`${title} (${results.length === 1 ? '1 run' : `median of ${results.length} runs`})`, table)
  if (misses > 0 && process.argv.includes('--strict')) process.exitCode = 1
}

function print(title, table) {
  const lines = [['', 'measured', 'lowest to highest', 'target', ''], ...table]
  const widths = lines[0].map((_, column) => Math.max(...lines.map((line) => line[column].length)))
  console.log(`\n${title}`)
  for (const line of lines)
    console.log(`  ${line.map((text, column) => text.padEnd(widths[column])).join('  ')}`.trimEnd())
}

function show(value) {
  if (!Number.isFinite(value)) return String(value)
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2)
}
