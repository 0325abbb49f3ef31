/**
 * Creates the database file before SQLite does, so that only its owner can read it. SQLite gives the `-wal` and `-shm`
 * files the same mode. An existing file is not touched, because its mode is the operator's choice.
 */
import { runtimeProcess } from '../../../../config/runtime.js'

/** The part of Node's `fs` that this file uses. */
interface FileSystem {
  openSync(path: string, flags: string, mode: number): number
  closeSync(file: number): void
}

/** Only the owner can read and write. */
const ownerOnly = 0o600

/**
 * Creates an empty file, unless the file exists. Ignores a failure: SQLite then creates the file, or fails for the same
 * reason.
 *
 * @param path - The path that SQLite gets. For an empty path and `:memory:` SQLite creates no file.
 */
export function makePrivateFile(path: string): void {
  if (path === '' || path.includes(':memory:')) return
  try {
    const files = runtimeProcess()?.getBuiltinModule?.('fs') as FileSystem | undefined
    // Only if it does not exist: closing a file that SQLite has open in this process would release SQLite's locks.
    files?.closeSync(files.openSync(path, 'wx', ownerOnly))
  } catch {
    // The file exists, or cannot be created.
  }
}
