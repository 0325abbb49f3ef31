// The files that keep the promises of the contract, each with the tests that belong to it: a test file, or how the
// paths of several begin. `npm run mutate` fails if they notice less than 90 % of what Stryker changes in one file.

const behaviour = 'src/engine/behaviour/'

/** @type {readonly { file: string, tests: readonly string[] }[]} */
const scoredFiles = [
  { file: 'src/session/lock/session-lock.ts', tests: ['src/session/lock/session-lock.', `${behaviour}strangers.`] },
  { file: 'src/session/store-access.ts', tests: ['src/session/store-access.'] },
  {
    file: 'src/engine/turn/draft/turn-draft.ts',
    tests: [
      'src/engine/turn/draft/turn-draft.',
      'src/engine/turn/steps/run-steps.',
      `${behaviour}counted-bytes.`,
      `${behaviour}durable-effects.`,
      `${behaviour}effects.`,
      `${behaviour}forgotten-effects.`,
      `${behaviour}idempotency.`,
      `${behaviour}on-error.`,
      `${behaviour}rollback.`,
      `${behaviour}uncertain-effects.`,
      `${behaviour}versions.`,
    ],
  },
  {
    file: 'src/stores/keyv/layout/chunks.ts',
    tests: [
      'src/stores/keyv/layout/',
      'src/stores/keyv/keyv-session-store.cut.',
      'src/stores/keyv/keyv-session-store.lists.',
      'src/stores/keyv/keyv-session-store.rewritten.',
      'src/stores/keyv/keyv-session-store.test.ts',
    ],
  },
  {
    file: 'src/engine/turn/effects/turn-effects.ts',
    tests: [
      'src/engine/turn/tools/',
      `${behaviour}durable-effects.`,
      `${behaviour}effects-property.`,
      `${behaviour}effects.`,
      `${behaviour}forgotten-effects.`,
      `${behaviour}not-awaited-effects.`,
      `${behaviour}uncertain-effects.`,
    ],
  },
  {
    file: 'src/engine/idempotency/keyed-turns.ts',
    tests: [
      'src/engine/idempotency/',
      `${behaviour}foreign-property.`,
      `${behaviour}idempotency.`,
      `${behaviour}interrupt.`,
      `${behaviour}same-turn.`,
      `${behaviour}superseded-keys.`,
      `${behaviour}strangers.`,
      `${behaviour}unknown-names.`,
    ],
  },
  { file: 'src/stores/memory/memory-store.ts', tests: ['src/stores/memory/'] },
  {
    file: 'adapters/fetch/request/body.ts',
    tests: ['adapters/fetch/request/body.', 'adapters/fetch/request/arrived-body.'],
  },
  {
    file: 'adapters/fetch/request/authorize.ts',
    tests: [
      'adapters/fetch/request/authorize.',
      'adapters/fetch/authorize-flow.',
      'adapters/fetch/every-reply.',
      'adapters/fetch/handler.',
    ],
  },
  {
    file: 'src/engine/model-call/attempts.ts',
    tests: [
      'src/engine/model-call/',
      'src/engine/turn/steps/run-model-step.',
      `${behaviour}broken-clock.`,
      `${behaviour}limits.`,
      `${behaviour}stream-reader.`,
      `${behaviour}wall-time.`,
    ],
  },
]

/**
 * The files whose paths have one of the words; without any, all files.
 *
 * @param {readonly string[]} words
 * @throws {Error} if a word is in no path: a run that measures nothing must not pass
 */
export function chooseScored(words) {
  const unknown = words.find((word) => !scoredFiles.some(({ file }) => file.includes(word)))
  if (unknown !== undefined) {
    const known = scoredFiles.map(({ file }) => file)
    throw new Error([`None of the scored files has '${unknown}' in its path:`, ...known].join('\n'))
  }
  return words.length === 0 ? scoredFiles : scoredFiles.filter(({ file }) => words.some((word) => file.includes(word)))
}

/**
 * The share of a file's mutants that tests noticed.
 *
 * @param {string} file
 * @param {readonly { readonly status: string }[]} results what Stryker made of its mutants
 * @returns {{ score: number, mutants: number, survivors: number }} the score in percent
 */
export function scoreOf(file, results) {
  // Those that no engine can load do not count.
  const valid = results.filter(({ status }) => !['CompileError', 'RuntimeError', 'Ignored'].includes(status))
  if (valid.length === 0) throw new Error(`Stryker found nothing to change in ${file}: there is no score.`)
  const survivors = valid.filter(({ status }) => status === 'Survived' || status === 'NoCoverage').length
  return { score: (100 * (valid.length - survivors)) / valid.length, mutants: valid.length, survivors }
}
