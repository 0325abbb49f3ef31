/** The only file of `turnkeeper/testing` that reads files, and only when it is called. */
import { ExpectationError } from '../expectations/expectation-error.js'

/** What is used of `node:fs/promises`. */
interface Files {
  readdir(folder: string): Promise<string[]>
  realpath(path: string): Promise<string>
  stat(path: string): Promise<{ isDirectory(): boolean }>
  readFile(path: string, encoding: 'utf8'): Promise<string>
  readFile(path: string): Promise<{ toString(encoding: 'base64'): string }>
}

/** What is used of `node:url`. */
interface Urls {
  fileURLToPath(url: URL): string
}

/** What is used of `node:path`. */
interface Paths {
  resolve(path: string): string
}

/** A file of a folder: its path in the folder. */
interface JsonFile {
  readonly file: string
  read(): Promise<string>
}

/** The bytes of a file. */
export async function readBytes(path: string): Promise<{ toString(encoding: 'base64'): string }> {
  return (await node<Files>('fs/promises')).readFile(path)
}

/**
 * The JSON files of a folder and of those in it, in the order of their names.
 *
 * @throws `ExpectationError` (rejects) if the folder does not exist.
 */
export async function readJsonFiles(folder: string | URL): Promise<readonly JsonFile[]> {
  const files = await node<Files>('fs/promises')
  const path = typeof folder === 'string' ? folder : (await node<Urls>('url')).fileURLToPath(folder)
  const root = (await node<Paths>('path')).resolve(path)
  const entry = await files.stat(root).catch((error: { readonly code?: unknown }) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
  })
  if (entry?.isDirectory() !== true) {
    const problem = entry === undefined ? 'There is no such folder' : 'This is not a folder'
    throw new ExpectationError(`${problem}: ${root}. replayAll needs the folder with the .json files of the sessions.`)
  }
  const found = await filesIn(files, root, '', new Set())
  return found.sort((one, other) => (one.file < other.file ? -1 : 1))
}

/** @param seen - The folders that were read: a link may lead back to one. */
async function filesIn(files: Files, root: string, inRoot: string, seen: Set<string>): Promise<JsonFile[]> {
  const folder = `${root}/${inRoot}`
  const real = await files.realpath(folder)
  if (seen.has(real)) return []
  seen.add(real)
  const found: JsonFile[] = []
  for (const name of (await files.readdir(folder)).sort()) {
    const path = `${folder}${name}`
    // What cannot be looked at is reported when it is read.
    const entry = await files.stat(path).catch(() => undefined)
    if (entry?.isDirectory() === true) found.push(...(await filesIn(files, root, `${inRoot}${name}/`, seen)))
    else if (/\.json$/i.test(name)) found.push({ file: `${inRoot}${name}`, read: () => files.readFile(path, 'utf8') })
  }
  return found
}

/** A module of Node. Bundlers for browsers and workers must not follow it, so its name is computed. */
function node<Module>(name: string): Promise<Module> {
  return import(/* webpackIgnore: true */ /* @vite-ignore */ ['node', name].join(':'))
}
