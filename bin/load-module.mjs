/** Loads a module of the application for a command: a set-up of scenarios, or flows. It gives advice if that fails. */
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The module of flows that a command names. */
export function moduleIn([module, another]) {
  if (module !== undefined && another === undefined) return module
  throw new Error('Name one module that exports flows.')
}

/** For how long a command waits for a module or its function, which may start services. */
const timeoutMs = 30_000

/** The value of a promise of the application that settles in time. */
export async function withTimeout(promise, text) {
  let timer
  const late = new Promise((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${text} for ${timeoutMs / 1000} seconds.`)), timeoutMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * What a module exports.
 *
 * @param file - The file that `resolveSource` has found.
 * @param what - What the module is: 'The set-up'.
 * @param adviceOf - The last lines of the message, by the kind of the error: `typescript`, or `turnkeeper` if only that
 * is not installed.
 * @throws LoadingError
 */
export async function loadModule(file, what, adviceOf) {
  try {
    const unsettled = 'an await at the top level, there or in a module that it imports, has not settled'
    return await withTimeout(import(pathToFileURL(file).href), unsettled)
  } catch (error) {
    const advice = loadingAdvice(error, file, adviceOf)
    throw new LoadingError(`${what} ${file} cannot be loaded: ${error?.message ?? error}${advice}`, error)
  }
}

/** A module cannot be loaded. The stack is that of the reason: a failure shows where the reason was thrown. */
export class LoadingError extends Error {
  constructor(message, reason) {
    super(message, { cause: reason?.cause })
    this.stack = reason?.stack
  }
}

/** With these errors Node.js refuses TypeScript. */
const codesOfTypeScript = ['ERR_UNKNOWN_FILE_EXTENSION', 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX']

function loadingAdvice(error, file, { typescript, turnkeeper = '' }) {
  if (codesOfTypeScript.includes(error?.code) || missesSource(error)) return `\n${typescript}`
  if (/^Cannot find (?:package|module) 'turnkeeper['/]/.test(error?.message)) return turnkeeper
  return error instanceof SyntaxError && !namesFile(error) ? `\nTo see the line: node "${file}"` : ''
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
  const commands = new URL('.', import.meta.url).href
  const lines = stack.split('\n').filter((line) => !line.includes('node:') && !line.includes(commands))
  return lines.some((line) => /[\\/].*:\d+\)?$/.test(line))
}

/** A module by the name that it has after compilation, and as TypeScript. */
function namesOf(module) {
  return [...new Set([module, module.replace(/\.([cm]?)js$/, '.$1ts')])]
}

/**
 * The file of a module: the TypeScript where only that is there.
 *
 * @throws LoadingError if there is neither.
 */
export function resolveSource(module, what) {
  const names = namesOf(resolve(module))
  const source = names.find((name) => existsSync(name))
  if (source === undefined) throw new LoadingError(`${what} cannot be found: there is no ${names.join(' and no ')}.`)
  return source
}
