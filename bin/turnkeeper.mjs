#!/usr/bin/env node
// `turnkeeper scenarios <files or folders> [--setup <module>]`: runs scenario files without a test runner.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { readScenarios } from 'turnkeeper/testing/scenarios'

const usage = `Usage: turnkeeper scenarios <files or folders> [--setup <module>]

Runs *.scenario.md files, and prints the coverage of set-ups that have one. --setup takes the place of the module that the files name in "Setup:".`

/** The scenario files of a path: itself, or all below a folder. */
function filesOf(path) {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.scenario.md') && !/(?:^|[\\/])node_modules[\\/]/.test(file))
    .map((file) => join(path, file))
    .sort()
}

/** For how long the command waits for a set-up, which may start services. */
const setupTimeoutMs = 30_000

/** The value of a promise that settles in time. */
async function inTime(promise, text) {
  let timer
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${text} for ${setupTimeoutMs / 1000} seconds.`)), setupTimeoutMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** What a set-up module exports as default. */
async function importSetup(module) {
  const importing = import(pathToFileURL(module).href)
  try {
    return (await inTime(importing, 'an await at the top level, there or in a module that it imports, has not settled'))
      .default
  } catch (error) {
    throw new LoadingError(module, error)
  }
}

/** A set-up module cannot be loaded. The stack is that of the reason: a failure shows where the reason was thrown. */
class LoadingError extends Error {
  constructor(module, reason) {
    const advice = loadingAdvice(reason, module)
    super(`The set-up ${module} cannot be loaded: ${reason?.message ?? reason}${advice}`, { cause: reason?.cause })
    this.stack = reason?.stack
  }
}

/** With these errors Node.js refuses TypeScript, or what it imports as `.js`. */
const codesOfTypeScript = ['ERR_MODULE_NOT_FOUND', 'ERR_UNKNOWN_FILE_EXTENSION', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX']

function loadingAdvice(error, module) {
  if (codesOfTypeScript.includes(error?.code)) {
    return `\nIf it is written in TypeScript, run the command with NODE_OPTIONS="--import tsx", where tsx is installed. Or compile it, and name what was compiled with --setup.`
  }
  return error instanceof SyntaxError && !namesFile(error) ? `\nTo see the line: node "${module}"` : ''
}

/**
 * Whether a stack names a file. It names none for an ES module that cannot be parsed: Node.js shows the line only where
 * it ends.
 */
function namesFile({ stack }) {
  const lines = stack.split('\n').filter((line) => !line.includes('node:') && !line.includes(import.meta.url))
  return lines.some((line) => /[\\/].*:\d+\)?$/.test(line))
}

/** The path of a set-up: `.ts` where only that is there. */
function existing(module) {
  const compiled = statSync(module, { throwIfNoEntry: false })
  const source = module.replace(/\.([cm]?)js$/, '.$1ts')
  return compiled === undefined && statSync(source, { throwIfNoEntry: false }) !== undefined ? source : module
}

/** The coverages of the set-ups that have one. */
const coverages = new Set()

/** Makes the set-up of a module, anew for each scenario. Its coverage is kept for the report. */
async function makeSetup(module) {
  const source = await importSetup(module)
  const making = typeof source === 'function' ? Promise.resolve(source()) : source
  const setup = await inTime(making, `The function of the set-up ${module} has not settled`)
  if (setup?.coverage !== undefined) coverages.add(setup.coverage)
  return setup
}

/** Runs one file, and prints it. Returns the numbers of scenarios that passed and that failed. */
async function runFile(file, setupOption) {
  const path = resolve(file)
  console.log(file)
  const counts = { passed: 0, failed: 0 }
  try {
    const { scenarios, setup } = readScenarios(readFileSync(path, 'utf8'), path)
    const module = existing(resolve(setupOption ?? join(dirname(path), setup)))
    for (const scenario of scenarios) {
      try {
        await scenario.run(() => makeSetup(module))
        counts.passed++
        console.log(`  ok      ${scenario.title}`)
      } catch (error) {
        // Every other scenario of the file would fail alike.
        if (error.cause instanceof LoadingError) throw error
        counts.failed++
        console.log(`  FAILED  ${scenario.title}\n${indented(error.message)}`)
      }
    }
  } catch (error) {
    counts.failed++
    console.log(indented(error.message))
  }
  return counts
}

function indented(text) {
  return `\n${text.trimEnd()}\n`.replaceAll(/\n(?=.)/g, '\n    ')
}

async function main() {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { setup: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  })
  const [command, ...paths] = positionals
  if (values.help || command !== 'scenarios' || paths.length === 0) {
    console.log(usage)
    return values.help ? 0 : 2
  }
  const files = paths.flatMap(filesOf)
  if (files.length === 0) {
    console.log(`There is no *.scenario.md in ${paths.join(', ')}.`)
    return 2
  }
  let passed = 0
  let failed = 0
  for (const file of files) {
    const counts = await runFile(file, values.setup)
    passed += counts.passed
    failed += counts.failed
  }
  // A rejection that nobody handles ends the process here, before the summary says that all passed.
  await setImmediate()
  for (const coverage of coverages) console.log(`\n${coverage.text()}`)
  console.log(`\n${passed} passed, ${failed} failed`)
  return failed === 0 ? 0 : 1
}

let isComplete = false
process.on('exit', (exitCode) => {
  if (isComplete) return
  console.log('\nThe process ended before the scenarios did: by process.exit, or by an error that nothing handled.')
  if (exitCode === 0) process.exitCode = 1
})

let code = 2
try {
  code = await main()
} catch (error) {
  console.log(`${error.message}\n\n${usage}`)
}
isComplete = true
// What a set-up left open, such as a connection, must not keep the process.
process.stdout.write('', () => process.exit(code))
