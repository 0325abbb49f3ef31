/** For Stryker: the unit project of `.config/vitest.config.ts`, and of its tests those that MUTATION_TESTS names. */
import type { ViteUserConfig } from 'vitest/config'
import config from '../../../.config/vitest.config.js'

const { projects = [], ...test } = config.test ?? {}
const unit = projects.find(
  (project): project is ViteUserConfig =>
    typeof project === 'object' && 'test' in project && project.test?.name === 'unit',
)
const parts = (process.env.MUTATION_TESTS ?? '').split(' ')

const unitConfig: ViteUserConfig = {
  ...config,
  test: {
    ...test,
    ...unit?.test,
    include: parts.map((part) => {
      if (part.endsWith('.test.ts')) return part
      return part.endsWith('/') ? `${part}**/*.test.ts` : `${part}*test.ts`
    }),
  },
}

export default unitConfig
