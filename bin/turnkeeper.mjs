#!/usr/bin/env node
// `turnkeeper scenarios <files or folders> [--setup <module>]`: runs scenario files without a test runner.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
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

/** What a set-up module exports as default. If that is a function, each set-up that it makes must be there in time, too. */
async function loadSetup(module, place) {
  const source = await importSetup(module, place)
  if (typeof source !== 'function') return source
  return () => inTime(Promise.resolve(source()), `The function of the set-up ${module} has not settled`)
}

async function importSetup(module, place) {
  const importing = import(pathToFileURL(module).href)
  try {
    return (await inTime(importing, 'an await at the top level, there or in a module that it imports, has not settled'))
      .default
  } catch (error) {
    const places = placesText(error)
    const advice = loadingAdvice(error, module, places)
    throw new Error(`${place}The set-up ${module} cannot be loaded: ${error?.message ?? error}${places}${advice}`, {
      cause: error,
    })
  }
}

/** With these errors Node.js refuses TypeScript, or what it imports as `.js`. */
const codesOfTypeScript = ['ERR_MODULE_NOT_FOUND', 'ERR_UNKNOWN_FILE_EXTENSION', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX']

function loadingAdvice(error, module, places) {
  if (codesOfTypeScript.includes(error?.code)) {
    return `\nIf it is written in TypeScript, run the command with NODE_OPTIONS="--import tsx", where tsx is installed. Or compile it, and name what was compiled with --setup.`
  }
  // Node.js shows the line only where it ends with the error.
  return error instanceof SyntaxError && places === '' ? `\nTo see the line: node "${module}"` : ''
}

/** `at run (file:///app/desk.js:3:1)`; CommonJS has a path, and a module that cannot be read only its line. */
const framePattern = /^(?:\s+(at (?:async )?(?:.*? \()?))?(file:\S+?|(?:\/|[A-Za-z]:\\).*?)(:\d+(?::\d+\)?)?)$/

/** How many causes of an error are shown: one may be its own. */
const mostCauses = 5

/** Where an error was made: its stack without the runtime, packages and this file. Then its causes. */
function placesText(error, depth = 0) {
  const lines = String(error?.stack ?? '').split('\n')
  const places = lines.flatMap((line) => {
    const [, before = 'at ', url, position] = framePattern.exec(line) ?? []
    if (url === undefined || url === import.meta.url || /[\\/]node_modules[\\/]/.test(url)) return []
    return [`\n  ${before}${url.startsWith('file:') ? fileURLToPath(url) : url}${position}`]
  })
  const { cause } = error ?? {}
  if (!(cause instanceof Error) || depth === mostCauses) return places.join('')
  return `${places.join('')}\n  cause: ${cause.message}${placesText(cause, depth + 1).replaceAll('\n', '\n  ')}`
}

/** The path of a set-up: `.ts` where only that is there. */
function existing(module) {
  const compiled = statSync(module, { throwIfNoEntry: false })
  const source = module.replace(/\.([cm]?)js$/, '.$1ts')
  return compiled === undefined && statSync(source, { throwIfNoEntry: false }) !== undefined ? source : module
}

/** The coverages of the set-ups that have one. */
const coverages = new Set()

/** The set-up, made anew for each scenario; its coverage is kept for the report. */
function covering(source) {
  return async () => {
    const setup = typeof source === 'function' ? await source() : source
    if (setup?.coverage !== undefined) coverages.add(setup.coverage)
    return setup
  }
}

/** Runs one file, and prints it. Returns the numbers of scenarios that passed and that failed. */
async function runFile(file, setupOption) {
  const path = resolve(file)
  console.log(file)
  const counts = { passed: 0, failed: 0 }
  try {
    const { scenarios, setup, setupLine } = readScenarios(readFileSync(path, 'utf8'), path)
    // Where the file names the set-up, a failure begins with that line.
    const place = setupOption === undefined ? `${basename(path)}:${setupLine}: Setup: ${setup}\n` : ''
    const source = covering(await loadSetup(existing(resolve(setupOption ?? join(dirname(path), setup))), place))
    for (const scenario of scenarios) {
      try {
        await scenario.run(source)
        counts.passed++
        console.log(`  ok      ${scenario.title}`)
      } catch (error) {
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
