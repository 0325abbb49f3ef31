/** The unit project of `.config/vitest.config.ts`, with its tests replaced by those that MUTATION_TESTS names. */
import type { ViteUserConfig } from 'vitest/config'
import config from '../../../.config/vitest.config.js'

const { projects = [], ...test } = config.test ?? {}
const unit = projects.find(
  (project): project is ViteUserConfig =>
    typeof project === 'object' && 'test' in project && project.test?.name === 'unit',
)
const parts = (process.env.MUTATION_TESTS ?? '').split(' ')

const mutationConfig: ViteUserConfig = {
  ...config,
  test: {
    ...test,
    ...unit?.test,
    include: parts.map((part) => (part.endsWith('.test.ts') ? part : `${part}*test.ts`)),
    exclude: [],
  },
}

export default mutationConfig
