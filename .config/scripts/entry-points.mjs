/** The sources of the package's entry points, as `exports` of package.json names what is built of them. */
import { readFileSync } from 'node:fs'

const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))

/** Paths from the root of the repository. */
export const entryPoints = Object.values(exports)
  .flatMap(({ node, default: file }) => [node, file])
  .filter((file) => file !== undefined)
  .map((file) => file.replace('./dist/', '').replace(/\.js$/, '.ts'))
