// The files whose mutation score docs/contributing.md has, each with the tests that belong to it: those beside it, and
// those that are about it elsewhere, as the rows of mutations/ name them.

/** @type {readonly { file: string, tests: readonly string[] }[]} */
export const scoredFiles = [
  { file: 'adapters/fetch/cors.ts', tests: ['adapters/fetch/cors.', 'adapters/fetch/options.'] },
  { file: 'adapters/fetch/request/headers.ts', tests: ['adapters/fetch/request/headers.'] },
  {
    file: 'adapters/fetch/request/body.ts',
    tests: ['adapters/fetch/request/body.', 'adapters/fetch/request/arrived-body.'],
  },
  {
    file: 'src/engine/turn/commit/settle-turn-error.ts',
    tests: [
      'src/engine/turn/settle-turn-error.',
      'src/engine/flow-engine.atomic.',
      'src/engine/flow-engine.bad-code.',
      'src/engine/flow-engine.busy.',
      'src/engine/flow-engine.durable-effects.',
      'src/engine/flow-engine.events.',
      'src/engine/flow-engine.idempotency.',
      'src/engine/flow-engine.interrupt.',
      'src/engine/flow-engine.mask.',
      'src/engine/flow-engine.rollback.',
      'src/engine/flow-engine.session-bytes.',
      'src/engine/flow-engine.session-state.',
      'src/engine/flow-engine.store-trouble.',
      'src/engine/flow-engine.uncertain-effects.',
    ],
  },
  { file: 'src/session/store-access.ts', tests: ['src/session/store-access.'] },
  {
    file: 'src/engine/turn/draft/turn-draft.ts',
    tests: [
      'src/engine/turn/turn-draft.',
      'src/engine/turn/run-steps.',
      'src/engine/flow-engine.counted-bytes.',
      'src/engine/flow-engine.effects.',
      'src/engine/flow-engine.idempotency.',
      'src/engine/flow-engine.older-layout.',
      'src/engine/flow-engine.on-error.',
      'src/engine/flow-engine.rollback.',
      'src/engine/flow-engine.versions.',
    ],
  },
  { file: 'src/stores/memory/memory-store.ts', tests: ['src/stores/memory/memory-store.'] },
  { file: 'src/session/lock/session-lock.ts', tests: ['src/session/session-lock.'] },
]
