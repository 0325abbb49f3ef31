// Mutations of idempotency keys: receipts, joins and claims.

const keyTests = ['src/engine/flow-engine.idempotency.']

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const keyMutations = [
  {
    file: 'src/engine/idempotency/receipts.ts',
    tests: keyTests,
    rows: [
      [
        'key of another request answered',
        'replayOf',
        { statement: 'receipt.request !== requestKey?.request', becomes: '' },
      ],
      ['first message whose reply is gone runs again', 'replayOf', { statement: 'replay === undefined', becomes: '' }],
      [
        'every replay of a completed session is completed',
        'replyOf',
        { piece: ' && turn === document.turns', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/idempotency/keyed-turns.ts',
    tests: [...keyTests, 'src/engine/idempotency/keyed-turns.'],
    rows: [
      [
        'running turn joined by another request',
        'run',
        { statement: 'current.input.idempotency?.request !== request', becomes: '' },
      ],
      [
        'repeats of a cancelled turn cancelled too',
        '#join',
        { statement: "outcome.error?.code === 'TURN_ABORTED' && isLeft", becomes: '' },
      ],
      ['running turns of all owners joined', 'nameOf', { piece: '[sessionId, owner ?? null, key]', becomes: '[key]' }],
      [
        'repeat waits for ever for a dropped turn',
        '#outcomeWithin',
        { piece: '() => resolve(undefined)', becomes: '() => undefined' },
      ],
      [
        'repeat that names the session of a first turn runs',
        'addSession',
        { piece: 'this.#turns.set(name, turn)', becomes: 'turn.names.add(name)' },
      ],
    ],
  },
  {
    file: 'src/engine/idempotency/keyed-session.ts',
    tests: keyTests,
    rows: [
      ['repeat of a stored turn runs', 'openKeyedSession', { statement: 'replay !== undefined', becomes: '' }],
      [
        'claimed session not looked at',
        'claimSession',
        { piece: 'sessionId === ownId', becomes: 'sessionId !== undefined' },
      ],
    ],
  },
  {
    file: 'src/engine/idempotency/answer-repeat.ts',
    tests: keyTests,
    rows: [
      [
        'repeat waits for the turn under way',
        'replayBesideLock',
        { piece: 'return stored && replayOf(stored, idempotency)', becomes: 'return undefined' },
      ],
      [
        'receipt of the process that won not read',
        'replayAfterConflict',
        { piece: 'return stored && replayOf(stored, own)', becomes: 'return undefined' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/trim-lists.ts',
    tests: keyTests,
    rows: [
      ['receipt of the first turn removed', 'trimReceipts', { piece: 'list[0]?.turn === 1 ? 1 : 0', becomes: '0' }],
      ['receipts outlive their replies', 'trimReceipts', { piece: '< firstTurn) count++', becomes: '< 0) count++' }],
    ],
  },
  {
    file: 'src/engine/turn/settle-turn-error.ts',
    tests: keyTests,
    rows: [
      [
        'failed turn does not look for the outcome of another process',
        'settleTurnError',
        { piece: 'recordedOutcome(control, second)', becomes: 'undefined' },
      ],
      [
        'failure that aborts a session has no receipt',
        'saveFailure',
        { piece: 'requestKeys.length === 0', becomes: 'true' },
      ],
      [
        'rolled back turn has a receipt',
        'saveFailure',
        { piece: 'abortedBy === undefined || requestKeys', becomes: 'requestKeys' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: keyTests,
    rows: [['init runs for a repeat', 'runFlow', { statement: 'keyed?.replay !== undefined', becomes: '' }]],
  },
]
