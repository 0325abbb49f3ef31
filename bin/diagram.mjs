// `turnkeeper diagram`: prints the flows of a module as a Mermaid flowchart, or checks a file that has it.
import { existsSync, readFileSync } from 'node:fs'
import process from 'node:process'
import { parseArgs } from 'node:util'
import { diagramOf } from 'turnkeeper/diagram'
import { loadFlows } from './load-flows.mjs'
import { LoadingError, moduleIn } from './load-module.mjs'

export const usage = `Usage: turnkeeper diagram <flows module> [--check <file>] [--session <file.json>]...

Prints the flows that the module exports as a Mermaid flowchart. --check fails if the file does not have it: a .mmd file, or a page with a mermaid block. --session adds the moves of a stored session, or of a list of them.`

export async function diagram(argv) {
  const { positionals, values } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { check: { type: 'string' }, session: { type: 'string', multiple: true } },
  })
  const module = moduleIn(positionals)
  const sessions = values.session?.flatMap(readSessions)
  // What the module prints must not get into the diagram.
  console.log = console.error
  const { flows } = await loadFlows(module)
  const text = textOf(flows, sessions)
  if (values.check === undefined) {
    process.stdout.write(`${text}\n`)
    return 0
  }
  const difference = differenceOf(values.check, text)
  if (difference === undefined) return 0
  console.error(`${difference}\n${renewal(values.check, module, values.session)}`)
  return 1
}

function readSessions(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new Error(`The session ${file} cannot be read: ${error.message}`)
  }
}

function textOf(flows, sessions) {
  try {
    return diagramOf(flows, sessions === undefined ? {} : { sessions }).mermaid()
  } catch (error) {
    throw new LoadingError(`The flows cannot be drawn: ${error?.message ?? error}`, error)
  }
}

/** The first line of a file that is not as in the diagram, in words; `undefined` if the file has the diagram. */
function differenceOf(file, text) {
  if (!existsSync(file)) return `There is no ${file}.`
  const found = linesOf(readFileSync(file, 'utf8'))
  const expected = linesOf(text)
  // Of several flowcharts, the one that is alike for longest.
  const starts = found.flatMap((line, index) => (line === expected[0] ? [index] : []))
  const places = starts.map((start) => ({ start, alike: alikeLines(expected, found.slice(start)) }))
  const [best] = places.sort((one, other) => other.alike - one.alike)
  if (best === undefined) return `${file} has no line '${expected[0]}'.`
  const { start, alike } = best
  const next = found[start + alike]
  // It may go on with a flow that is gone.
  if (alike === expected.length && isEnd(next)) return undefined
  const shown = (line) => (isEnd(line) ? 'the end of the flowchart' : line)
  return `${file}:${start + alike + 1} differs.\n- ${shown(next)}\n+ ${shown(expected[alike])}`
}

function linesOf(text) {
  return text.split('\n').map((line) => line.trim())
}

function alikeLines(expected, found) {
  const differing = expected.findIndex((line, index) => line !== found[index])
  return differing === -1 ? expected.length : differing
}

/** A flowchart ends with the file, an empty line, or the fence of a block. */
function isEnd(line) {
  return line === undefined || line === '' || /^(?:```|~~~)/.test(line)
}

function renewal(file, module, sessions = []) {
  const words = [module, ...sessions.flatMap((session) => ['--session', session])]
  const command = `npx turnkeeper diagram ${words.map(quoted).join(' ')}`
  const isMissing = !existsSync(file)
  if (!/\.(?:md|mdx|markdown)$/i.test(file))
    return `To ${isMissing ? 'create' : 'renew'} it: ${command} > ${quoted(file)}`
  if (isMissing) return `Create it with a mermaid block that has what this prints: ${command}`
  return `Replace the mermaid block with what this prints: ${command}`
}

function quoted(word) {
  return /^[\w./\\:@-]+$/.test(word) ? word : `"${word}"`
}
