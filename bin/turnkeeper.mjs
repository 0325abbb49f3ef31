#!/usr/bin/env node
// `turnkeeper scenarios <files or folders> [--setup <module>]`: runs scenario files without a test runner.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import process from 'node:process'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { readScenarios } from 'turnkeeper/testing/scenarios'

const usage = `Usage: turnkeeper scenarios <files or folders> [--setup <module>]
       turnkeeper --version

Runs *.scenario.md files, and prints the coverage of set-ups that have one. --setup takes the place of the module that the files name in "Setup:".`

/** The scenario files of a path: itself, or all below a folder. What looks like one and is none is passed over. */
function filesOf(path) {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) throw new Error(`There is no file or folder '${path}'.`)
  if (!found.isDirectory()) return { files: [path], passedOver: [] }
  const entries = readdirSync(path, { recursive: true, withFileTypes: true })
    .map((entry) => ({ file: join(entry.parentPath, entry.name), isLink: entry.isSymbolicLink() }))
    .sort((one, other) => (one.file < other.file ? -1 : 1))
  const isScenario = ({ file }) => file.endsWith('.scenario.md') && !inPackages.test(relative(path, file))
  const files = entries.filter(isScenario).map(({ file }) => file)
  const passedOver = entries.filter((entry) => !isScenario(entry) && mayHaveScenarios(entry)).map(({ file }) => file)
  return { files, passedOver: files.length + passedOver.length === 0 ? [path] : passedOver }
}

const inPackages = /(?:^|[\\/])node_modules[\\/]/

/** Whether an entry of a folder has scenarios by its name, or is a link to a folder, which is not followed. */
function mayHaveScenarios({ file, isLink }) {
  if (isLink && statSync(file, { throwIfNoEntry: false })?.isDirectory()) return !inPackages.test(file)
  return /\.scenarios?(?:\.(?:md|mdx|markdown|txt))?$/i.test(file)
}

/** For how long the command waits for a set-up, which may start services. */
const setupTimeoutMs = 30_000

/** The value of a promise of the set-up that settles in time. */
async function withSetupTimeout(promise, text) {
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
    const unsettled = 'an await at the top level, there or in a module that it imports, has not settled'
    return (await withSetupTimeout(importing, unsettled)).default
  } catch (error) {
    throw new LoadingError(
      `The set-up ${module} cannot be loaded: ${error?.message ?? error}${loadingAdvice(error, module)}`,
      error,
    )
  }
}

/** A set-up module cannot be loaded. The stack is that of the reason: a failure shows where the reason was thrown. */
class LoadingError extends Error {
  constructor(message, reason) {
    super(message, { cause: reason?.cause })
    this.stack = reason?.stack
  }
}

/** With these errors Node.js refuses TypeScript. */
const codesOfTypeScript = ['ERR_UNKNOWN_FILE_EXTENSION', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX']

function loadingAdvice(error, module) {
  if (codesOfTypeScript.includes(error?.code) || missesSource(error)) {
    return `\nIf it is written in TypeScript, run the command with NODE_OPTIONS="--import tsx", where tsx is installed. Or compile it, and name what was compiled with --setup.`
  }
  return error instanceof SyntaxError && !namesFile(error) ? `\nTo see the line: node "${module}"` : ''
}

/** Whether a module was not found by the name that it has after compilation, and is there as TypeScript. */
function missesSource(error) {
  if (error?.code !== 'ERR_MODULE_NOT_FOUND' || error.url === undefined) return false
  const path = fileURLToPath(error.url)
  return [...namesOf(path), `${path}.ts`].some((name) => existsSync(name))
}

/**
 * Whether a stack names a file. It names none for an ES module that cannot be parsed: Node.js shows the line only where
 * it ends.
 */
function namesFile({ stack }) {
  const lines = stack.split('\n').filter((line) => !line.includes('node:') && !line.includes(import.meta.url))
  return lines.some((line) => /[\\/].*:\d+\)?$/.test(line))
}

/** A module by the name that it has after compilation, and as TypeScript. */
function namesOf(module) {
  return [...new Set([module, module.replace(/\.([cm]?)js$/, '.$1ts')])]
}

/**
 * The file of a set-up: the TypeScript where only that is there.
 *
 * @throws LoadingError if there is neither.
 */
function resolveSource(module) {
  const names = namesOf(resolve(module))
  const source = names.find((name) => existsSync(name))
  if (source === undefined) throw new LoadingError(`The set-up cannot be found: there is no ${names.join(' and no ')}.`)
  return source
}

/** The coverages of the set-ups that have one. */
const coverages = new Set()

/** Makes the set-up of a module, anew for each scenario. Its coverage is kept for the report. */
async function makeSetup(module) {
  const path = resolveSource(module)
  const source = await importSetup(path)
  const making = typeof source === 'function' ? Promise.resolve(source()) : source
  const setup = await withSetupTimeout(making, `The function of the set-up ${path} has not settled`)
  if (setup?.coverage !== undefined) coverages.add(setup.coverage)
  return setup
}

/** Runs one file, and prints it. Returns the numbers of scenarios that passed and that failed. */
async function runFile(file, setupOption) {
  console.log(file)
  const path = relative('', file)
  let document
  try {
    document = readScenarios(readFileSync(file, 'utf8'), path)
  } catch (error) {
    console.log(indented(error.message))
    return { passed: 0, failed: 1 }
  }
  const { scenarios, setup, setupLine } = document
  const module = setupOption ?? join(dirname(file), setup)
  let passed = 0
  for (const [index, scenario] of scenarios.entries()) {
    try {
      await scenario.run(() => makeSetup(module))
      passed++
      console.log(`  ok      ${scenario.title}`)
    } catch (error) {
      const blamesSetup = setupOption !== undefined && error.message.startsWith(`${path}:${setupLine}: `)
      const note = blamesSetup ? `\nThe set-up is ${setupOption}, as --setup says, and not the one of this line.` : ''
      // Without its module every other scenario of the file would fail alike.
      const isMissing = error.cause instanceof LoadingError
      const failing = isMissing ? scenarios.slice(index) : [scenario]
      console.log(`${failing.map(({ title }) => `  FAILED  ${title}`).join('\n')}\n${indented(error.message + note)}`)
      if (isMissing) break
    }
  }
  return { passed, failed: scenarios.length - passed }
}

function indented(text) {
  return `\n${text.trimEnd()}\n`.replaceAll(/\n(?=.)/g, '\n    ')
}

function versionOfPackage() {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

async function main() {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      setup: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean', short: 'v' },
    },
  })
  const [command, ...paths] = positionals
  if (values.help || values.version || command === undefined) {
    console.log(values.version ? versionOfPackage() : usage)
    return values.help || values.version ? 0 : 2
  }
  if (command !== 'scenarios') throw new Error(`There is no command '${command}': the only one is scenarios.`)
  if (paths.length === 0) throw new Error('Name the files or folders of the scenarios.')
  // It is the set-up of all files.
  if (values.setup !== undefined) resolveSource(values.setup)
  const found = paths.map(filesOf)
  const files = found.flatMap((one) => one.files)
  const passedOver = found.flatMap((one) => one.passedOver)
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
  if (passedOver.length > 0) {
    console.log(
      `\nPassed over (files run if they end in .scenario.md; links to folders, and node_modules, are not searched):\n  ${passedOver.join('\n  ')}`,
    )
  }
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
  // Node.js adds to an unknown option how a file is named that begins with a dash.
  const text = error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? `${error.message.split('. ')[0]}.` : error.message
  console.log(`${text}\n\n${usage}`)
}
isComplete = true
// What a set-up left open, such as a connection, must not keep the process.
process.stdout.write('', () => process.exit(code))
