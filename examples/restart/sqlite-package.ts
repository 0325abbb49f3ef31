/**
 * Where the server finds `@keyv/sqlite`. An application has it among its own packages. In this repository it is
 * separate, in testing/contract/sqlite, because its native module is compiled on installation. Loaded with `--import`,
 * this module makes a process look there, too.
 */
import { createRequire, type ResolveHook, register } from 'node:module'
import { isMainThread } from 'node:worker_threads'

const name = '@keyv/sqlite'
const apart = new URL('../../../testing/contract/sqlite/package.json', import.meta.url).href

/** The environment with which a server finds the package; `undefined` if it is not installed. */
export function sqliteOptions(): Readonly<Record<string, string>> | undefined {
  if (isThere(import.meta.url)) return {}
  return isThere(apart) ? { NODE_OPTIONS: `--import=${import.meta.url}` } : undefined
}

/** Makes this process find the package, too. Returns whether it is installed. */
export function findSqlite(): boolean {
  const options = sqliteOptions()
  if (options?.NODE_OPTIONS !== undefined) register(import.meta.url)
  return options !== undefined
}

function isThere(from: string): boolean {
  try {
    createRequire(from)(name)
    return true
  } catch {
    return false
  }
}

/** Called by Node for each module that is imported. */
export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  try {
    return await nextResolve(specifier, context)
  } catch (error) {
    if (specifier !== name) throw error
    return nextResolve(specifier, { ...context, parentURL: apart })
  }
}

if (isMainThread && process.env.NODE_OPTIONS?.includes(import.meta.url)) register(import.meta.url)
