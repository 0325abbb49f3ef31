/** Removes the last build, so that a deleted source leaves nothing behind in the package or among the examples. */
import { rmSync } from 'node:fs'

for (const folder of ['dist', 'examples/dist']) {
  rmSync(new URL(`../../${folder}`, import.meta.url), { recursive: true, force: true })
}
