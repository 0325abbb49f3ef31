/**
 * Makes the file of a database before SQLite does, so that nobody but its owner reads it: SQLite gives `-wal` and
 * `-shm` the mode of the file. A file that is there is not touched, because its mode is the operator's.
 */
import { runtimeProcess } from '../../../../config/runtime.js'

/** The part of Node's `fs` that is used. */
interface FileSystem {
  openSync(path: string, flags: string, mode: number): number
  closeSync(file: number): void
}

/** Only the owner reads and writes. */
const ownerOnly = 0o600

/**
 * Makes an empty file, unless there is one. Does nothing where that fails: SQLite then makes the file, or
 * fails for the same reason.
 *
 * @param path - As SQLite gets it: it makes no file for an empty one and for `:memory:`.
 */
export function makePrivateFile(path: string): void {
  if (path === '' || path.includes(':memory:')) return
  try {
    const files = runtimeProcess()?.getBuiltinModule?.('fs') as FileSystem | undefined
    // Exclusively: closing a file that SQLite has open in this process would release its locks.
    files?.closeSync(files.openSync(path, 'wx', ownerOnly))
  } catch {
    // It is there, or cannot be made.
  }
}
