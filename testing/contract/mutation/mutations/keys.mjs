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
      ['running turn joined by another request', 'run', { statement: 'current.request !== request', becomes: '' }],
      [
        'repeats of a cancelled turn cancelled too',
        '#join',
        {
          statement: "outcome.error?.code === 'TURN_ABORTED' && signal?.aborted === true && !isCancelled",
          becomes: '',
        },
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
        { piece: '!this.#entries.has(name)', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/session/keyed-session.ts',
    tests: [...keyTests, 'src/engine/flow-engine.unknown-names.'],
    rows: [
      [
        'nothing claimed for a flow that was registered while the turn waited',
        'openKeyedSession',
        { piece: 'control.claimed === undefined', becomes: 'false' },
      ],
      ['repeat of a stored turn runs', 'openKeyedSession', { statement: 'replay !== undefined', becomes: '' }],
      ['claimed session not looked at', 'openClaimed', { piece: 'if (isNew)', becomes: 'if (id)' }],
    ],
  },
  {
    file: 'src/engine/idempotency/answer-repeat.ts',
    tests: [...keyTests, 'src/engine/flow-engine.unknown-names.'],
    rows: [
      [
        'ID claimed for a flow that is not registered',
        'replayBeforeLock',
        { piece: "control.flowName === ''", becomes: 'false' },
      ],
      [
        'repeat of an answered message interrupts the turn under way',
        'replayBeforeLock',
        { piece: 'return stored && replayOf(stored, idempotency)', becomes: 'return undefined' },
      ],
      [
        'requests that look lose their place',
        'replayBeforeLock',
        {
          piece: 'engine.arrivals.look(input, async () => {',
          becomes: '(async (_id: string, look: () => Promise<Replay | undefined>) => look())(sessionId, async () => {',
        },
      ],
      [
        'receipt of the process that won not read',
        'replayAfterConflict',
        { piece: 'return stored && replayOf(stored, own)', becomes: 'return undefined' },
      ],
    ],
  },
  {
    file: 'src/engine/idempotency/claim-session.ts',
    tests: keyTests,
    rows: [
      [
        'first message answered again for each repeat after its session ended',
        'claimId',
        { piece: 'round++', becomes: 'round += 0' },
      ],
      ['repeated first message asks for the lock', 'claimId', { statement: 'replay !== undefined', becomes: '' }],
    ],
  },
  {
    file: 'src/engine/lock/busy.ts',
    tests: [...keyTests, 'src/engine/flow-engine.merge.', 'src/engine/flow-engine.cancel.'],
    rows: [
      ['turn that may be a repeat interrupted', 'policyFor', { statement: 'mayBeRepeat(underWay)', becomes: '' }],
      [
        'answered message interrupts the turn that was loaded',
        'newcomers',
        { piece: 'hasReceipt(loaded, turn.input)', becomes: 'false' },
      ],
      ['policy forgotten for what came while a turn was loaded', 'applyPolicy', { body: '{}' }],
      [
        'repeats of superseded messages run again',
        'takeMessages',
        { piece: 'engine.keyedTurns.follow(turn.control.replaced, turn)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/lock/cancel-turn.ts',
    tests: keyTests,
    rows: [['repeat of an answered message cancelled', 'cancelTurn', { piece: '!mayBeRepeat(turn)', becomes: 'true' }]],
  },
  {
    file: 'src/engine/turn/session/find-session.ts',
    tests: [...keyTests, 'src/engine/flow-engine.merge.', 'src/engine/flow-engine.interrupt.'],
    rows: [['interrupted first turn loses its session', 'continuesUnstored', { body: '{ return false }' }]],
  },
  {
    file: 'src/engine/turn/session/session-lease.ts',
    tests: ['src/engine/turn/session-lease.'],
    rows: [['strangers wait for a lease', 'leaseName', { body: '{ return sessionId }' }]],
  },
  {
    file: 'src/engine/turn/effects/turn-effects.ts',
    tests: ['src/engine/flow-engine.uncertain-effects.'],
    rows: [['work under way begun again', 'TurnEffects.#resultUnderWay', { body: '{ return undefined }' }]],
  },
  {
    file: 'src/engine/turn/draft/trim-lists.ts',
    tests: keyTests,
    rows: [
      ['receipt of the first turn removed', 'trimReceipts', { piece: 'list[0]?.turn === 1 ? 1 : 0', becomes: '0' }],
      ['receipts outlive their replies', 'trimReceipts', { piece: '< firstTurn) count++', becomes: '< 0) count++' }],
    ],
  },
  {
    file: 'src/engine/turn/commit/settle-turn-error.ts',
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
