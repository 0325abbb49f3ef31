/** The unit tests alone, as `.config/vitest.config.ts` has them, for Stryker. */
import type { ViteUserConfig } from 'vitest/config'
import config from '../../../.config/vitest.config.js'

const { projects = [], ...test } = config.test ?? {}
const unit = projects.find(
  (project) => typeof project === 'object' && 'test' in project && project.test?.name === 'unit',
)

const unitConfig: ViteUserConfig = {
  ...config,
  test: {
    ...test,
    ...(unit as ViteUserConfig).test,
    exclude: [...((unit as ViteUserConfig).test?.exclude ?? []), 'testing/contract/**'],
  },
}

export default unitConfig
