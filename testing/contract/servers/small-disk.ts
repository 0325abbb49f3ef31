/// <reference types="node" />
// A disk of a few megabytes that a test can fill: a tmpfs, which only root may mount.
import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A disk under a test's control. */
export interface SmallDisk {
  /** The folder of its mount. */
  readonly path: string
  /** Writes a file until nothing more fits. */
  fill(): Promise<void>
  /** Removes that file. */
  free(): Promise<void>
  /** Unmounts it. Nothing may use it any more. */
  close(): void
}

/** Whether this process may mount a disk. If not, tests with a full disk are left out. */
export const isSmallDiskMissing: boolean = !canMount()

/**
 * Mounts a disk.
 *
 * @param owner - The user whose folder it is. Default: the one who runs the tests.
 */
export function mountSmallDisk(owner?: string): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'turnkeeper-disk-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', path])
  if (owner !== undefined) {
    const id = (flag: string): number => Number(execFileSync('id', [flag, owner], { encoding: 'utf8' }))
    chownSync(path, id('-u'), id('-g'))
  }
  const filler = join(path, 'filler')
  return {
    path,
    async fill() {
      const file = await open(filler, 'a')
      try {
        for (;;) await file.appendFile('x'.repeat(65_536))
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      } finally {
        await file.close()
      }
    },
    free: () => rm(filler, { force: true }),
    close() {
      execFileSync('umount', [path])
      rmSync(path, { recursive: true })
    },
  }
}

function canMount(): boolean {
  if (process.getuid?.() !== 0) return false
  const path = mkdtempSync(join(tmpdir(), 'turnkeeper-disk-'))
  try {
    const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path]).status === 0
    if (isMounted) execFileSync('umount', [path])
    return isMounted
  } finally {
    rmSync(path, { recursive: true })
  }
}
