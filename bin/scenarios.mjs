// `turnkeeper scenarios`: runs scenario files without a test runner.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import process from 'node:process'
import { setImmediate } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { readScenarios } from 'turnkeeper/testing/scenarios'
import { LoadingError, loadModule, resolveSource, withTimeout } from './load-module.mjs'

export const usage = `Usage: turnkeeper scenarios <files or folders> [--setup <module>]

Runs *.scenario.md files, and prints the coverage of set-ups that have one. --setup takes the place of the module that the files name in "Setup:".`

const theSetup = 'The set-up'
const typescript =
  'If it is written in TypeScript, run the command with NODE_OPTIONS="--import tsx", where tsx is installed. Or compile it, and name what was compiled with --setup.'

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

/** The coverages of the set-ups that have one. */
const coverages = new Set()

/** Makes the set-up of a module, anew for each scenario. Its coverage is kept for the report. */
async function makeSetup(module) {
  const path = resolveSource(module, theSetup)
  const { default: source } = await loadModule(path, theSetup, { typescript })
  const making = typeof source === 'function' ? Promise.resolve(source()) : source
  const setup = await withTimeout(making, `The function of the set-up ${path} has not settled`)
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

/** Runs the files that the arguments name. Returns the exit code. */
async function run(argv) {
  const { positionals: paths, values } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { setup: { type: 'string' } },
  })
  if (paths.length === 0) throw new Error('Name the files or folders of the scenarios.')
  // It is the set-up of all files.
  if (values.setup !== undefined) resolveSource(values.setup, theSetup)
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

export async function scenarios(argv) {
  let isComplete = false
  process.on('exit', (exitCode) => {
    if (isComplete) return
    console.log('\nThe process ended before the scenarios did: by process.exit, or by an error that nothing handled.')
    if (exitCode === 0) process.exitCode = 1
  })
  try {
    return await run(argv)
  } finally {
    isComplete = true
  }
}
