/** The sources of the package's entry points, as `exports` of package.json names what is built of them. */
import { readFileSync } from 'node:fs'

const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
const sourceOf = (file) => file.replace('./dist/', '').replace(/(?:\.d\.ts|\.js)$/, '.ts')

/** Paths from the root of the repository. */
export const entryPoints = Object.values(exports)
  .flatMap(({ node, default: file }) => [node, file])
  .filter((file) => file !== undefined)
  .map(sourceOf)

/**
 * What an application imports: `name` of the entry point, and the `file` that declares its types, in
 * the order of package.json.
 */
export const imports = Object.entries(exports)
  .filter(([, { types }]) => types !== undefined)
  .map(([subpath, { types }]) => ({ name: `turnkeeper${subpath.slice(1)}`, file: sourceOf(types) }))
