/**
 * `@keyv/sqlite` for tests: installed apart from the root, in testing/contract/sqlite, because its native module is
 * compiled on installation.
 */
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import type KeyvSqlite from '@keyv/sqlite'

const folder = new URL('../sqlite/', import.meta.url)
const isMissing = !existsSync(new URL('node_modules/sqlite3/build/Release/node_sqlite3.node', folder))

/** Whether tests that need it are left out: on a laptop without it. If `CI` is set they must run, and fail. */
export const isSqliteMissing: boolean = process.env.CI === undefined && isMissing

/** The adapter's class, as `@keyv/sqlite` exports it. */
export function loadSqlitePackage(): { readonly default: typeof KeyvSqlite } {
  if (isMissing) throw new Error('@keyv/sqlite is not installed: npm ci --prefix testing/contract/sqlite')
  return createRequire(new URL('package.json', folder))('@keyv/sqlite') as { readonly default: typeof KeyvSqlite }
}
