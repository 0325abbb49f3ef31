/** The limits and the compaction of a simulated run: the defaults in half of them, else so small that lists are cut. */
import fc from 'fast-check'
import { defaultRules } from './model-lists.js'
import type { ModelCompaction, Rules } from './model-types.js'

const maybe = <T>(usual: T, ...small: T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 1, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...small) })

const { limits } = defaultRules

const compaction: fc.Arbitrary<ModelCompaction> = fc.record({
  kind: fc.constantFrom('window', 'summary'),
  above: fc.constantFrom(3, 5, 9),
  keep: fc.constantFrom(1, 2),
})

export const rules: fc.Arbitrary<Rules> = fc.oneof(
  { weight: 1, arbitrary: fc.constant(defaultRules) },
  {
    weight: 1,
    arbitrary: fc.record({
      limits: fc.record({
        maxHistoryTurns: maybe(limits.maxHistoryTurns, 1, 2, 4),
        maxHistoryBytes: maybe(limits.maxHistoryBytes, 300, 600, 900),
        maxMemoryBytes: maybe(limits.maxMemoryBytes, 200, 500, 900),
        attachmentTurns: maybe(limits.attachmentTurns, 1, 3),
        maxSessionBytes: maybe(limits.maxSessionBytes, 500, 800, 1_200, 2_000),
      }),
      compaction: fc.option(compaction, { nil: undefined, freq: 2 }),
      onTurnError: fc.constantFrom('abort', 'rollback'),
    }),
  },
)
