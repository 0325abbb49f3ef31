/** The pages of `npm run docs`, which nobody reads as often as they find a name that nothing documents or exports. */
import { fileURLToPath } from 'node:url'
import { entryPoints } from './scripts/entry-points.mjs'

const path = (relative) => fileURLToPath(new URL(`../${relative}`, import.meta.url))

export default {
  name: 'Turnkeeper',
  tsconfig: path('.config/tsconfig.build.json'),
  entryPoints: entryPoints.map(path),
  readme: 'none',
  out: path('docs/api'),
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
  validation: {
    notExported: true,
    invalidLink: true,
    notDocumented: true,
    rewrittenLink: true,
  },
  requiredToBeDocumented: ['Class', 'Interface', 'TypeAlias', 'Function', 'Variable', 'Enum', 'Method'],
}
