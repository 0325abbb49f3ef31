// Loads the flows of an application for a command, and decides which exports of its module are flows.
import { Flow } from 'turnkeeper'
import { LoadingError, loadModule, resolveSource, withTimeout } from './load-module.mjs'

const what = 'The flows module'
const adviceOf = {
  typescript:
    'If it is written in TypeScript: Node.js 22.18 loads it itself, and on every version tsx does. npm install --save-dev tsx, and run the command with NODE_OPTIONS="--import tsx".',
  turnkeeper: '\nIt is the package of the flows: npm install turnkeeper',
}

/**
 * The flows that a module exports: that of its default first, then the others by name. The default may be a flow, a
 * set-up with the property `flow`, or a function that returns one of them.
 *
 * @returns the flows, the set-up (`{}` if there is none), and the `source`: the file, the names under which it exports
 * the flows, by their IDs, and whether its default is a set-up.
 * @throws LoadingError if it cannot be loaded, or has no flow.
 */
export async function loadFlows(module) {
  const file = resolveSource(module, what)
  const exported = await loadModule(file, what, adviceOf)
  const main = await defaultOf(exported, file)
  const hasSetup = isFlow(main?.flow)
  const flows = [...new Set([main, main?.flow, ...Object.values(exported)].filter(isFlow))]
  if (flows.length === 0) throw new LoadingError(`${what} ${file} must export ${expected}. ${foundIn(exported)}`)
  // Of two names the other one is taken, not `default`.
  const names = Object.keys(exported).sort((one, other) => (other === 'default') - (one === 'default'))
  const named = names.filter((name) => isFlow(exported[name])).map((name) => [exported[name].id, name])
  return { flows, setup: hasSetup ? main : {}, source: { file, exportNames: Object.fromEntries(named), hasSetup } }
}

const expected = 'a class that extends Flow, or as default a set-up { flow } or a function that returns one'

function foundIn(exported) {
  const other = Object.values(exported).find((value) => Object(value?.prototype).addContext !== undefined)
  if (other === undefined) return `It exports ${Object.keys(exported).join(', ') || 'nothing'}.`
  return `${other.name} extends the Flow of another copy of turnkeeper: run the command that is installed beside it.`
}

function isFlow(value) {
  return value?.prototype instanceof Flow
}

async function defaultOf({ default: main }, file) {
  if (typeof main !== 'function' || isFlow(main)) return main
  try {
    return await withTimeout(main(), `The function of ${file} has not settled`)
  } catch (error) {
    throw new LoadingError(`The default export of ${file} failed: ${error?.message ?? error}`, error)
  }
}
