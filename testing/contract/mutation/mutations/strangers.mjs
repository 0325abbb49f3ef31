// Mutations of what keeps a session of another owner like an unknown ID.

const strangerTests = ['src/engine/flow-engine.strangers.', 'src/engine/flow-engine.session-foreign.']
const sameTests = ['src/engine/flow-engine.foreign-property.']

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const strangerMutations = [
  {
    file: 'src/engine/core/foreign-session.ts',
    tests: [...strangerTests, 'src/engine/flow-engine.get-session.'],
    rows: [
      [
        'malformed session of another owner revealed',
        'loadFor',
        { piece: '!isMalformed(error) || error.owner === owner', becomes: 'error' },
      ],
      ['who asked for a foreign session not named', 'reportForeign', { piece: '{ askedBy }', becomes: '{}' }],
      ['whose session was asked for not named', 'reportForeign', { piece: '{ owner }', becomes: '{}' }],
    ],
  },
  {
    file: 'src/engine/sessions/get-session.ts',
    tests: ['src/engine/flow-engine.get-session.', ...strangerTests],
    rows: [
      [
        "another owner's session given to who names his own",
        'getSession',
        { piece: 'options === undefined', becomes: 'true' },
      ],
      [
        'session asked for by nobody given to everybody',
        'loadOwn',
        { piece: 'stored === undefined', becomes: 'isForeign' },
      ],
      [
        'getSession takes options that it does not know',
        'checkOptions',
        { statement: "checkOptionNames('getSession', options, optionNames)", becomes: '' },
      ],
      [
        'load of a foreign session reported without its request',
        'loadOwn',
        { piece: 'requestId: caller.requestId', becomes: 'requestId: undefined' },
      ],
      ['load of a foreign session not reported', 'loadOwn', { condition: 'isForeign', becomes: 'false' }],
    ],
  },
  {
    file: 'src/engine/turn/session/find-session.ts',
    tests: strangerTests,
    rows: [['run of a foreign session not reported', 'loadOf', { condition: 'isForeign', becomes: 'false' }]],
  },
  {
    file: 'src/engine/core/session-state.ts',
    tests: strangerTests,
    rows: [
      [
        'refused input for a foreign session not reported',
        'lookUpState',
        { condition: 'found.isForeign', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/engine/sessions/remove-session.ts',
    tests: [...strangerTests, 'src/engine/flow-engine.events-of-sessions.'],
    rows: [
      ['delete of a foreign session not reported', 'load', { condition: 'isForeign', becomes: 'false' }],
      ['owner of a deleted session not named', 'named', { body: '{ return {} }' }],
    ],
  },
  {
    file: 'src/engine/lock/cancel-turn.ts',
    tests: strangerTests,
    rows: [
      [
        'cancel of a foreign session not reported',
        'turnUnderWay',
        { condition: 'other !== undefined', becomes: 'false' },
      ],
      [
        'application cancels the turn of a stranger',
        'turnUnderWay',
        { piece: 'turns.find(({ holder }) => holder.isOwn) ??', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/control/turn-control.ts',
    tests: strangerTests,
    rows: [['owner missing in the events of a turn', 'report', { piece: 'turn.owner = owner', becomes: '{}' }]],
  },
  {
    file: 'src/engine/idempotency/receipts.ts',
    tests: strangerTests,
    rows: [['owner missing in the event of a repeat', 'reportReplay', { piece: '{ owner }', becomes: '{}' }]],
  },
  {
    file: 'src/engine/idempotency/arrivals.ts',
    tests: sameTests,
    rows: [["requests wait for a stranger's look", 'nameOf', { piece: 'owner ?? null', becomes: 'null' }]],
  },
  {
    file: 'src/engine/idempotency/answer-repeat.ts',
    tests: strangerTests,
    rows: [
      [
        'stranger with a key looks twice where the owner has a turn',
        'replayBeforeLock',
        { piece: 'isLocked(sessionId, input)', becomes: 'isLocked(sessionId, undefined)' },
      ],
    ],
  },
  {
    file: 'src/session/flow-session.ts',
    tests: sameTests,
    rows: [
      [
        "policy of a stranger's turn applied to those of the owner",
        'awaitedLock',
        { piece: 'holder.waitOf().caller', becomes: 'undefined' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/chunked-session-store.ts',
    tests: ['src/stores/keyv/keyv-session-store.strangers.'],
    rows: [
      [
        "cache used for another owner's session",
        '#knownTo',
        { piece: 'isForeign ? undefined', becomes: 'false ? undefined' },
      ],
      [
        'cache emptied by a stranger',
        '#read',
        {
          piece: 'if (known !== undefined) this.#known?.delete(key) throw error',
          becomes: 'this.#known?.delete(key); throw error',
        },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/layout/read-session.ts',
    tests: ['src/stores/keyv/keyv-session-store.strangers.'],
    rows: [
      ['chunks of a foreign session decoded', 'isForeign', { body: '{ return false }' }],
      [
        'whole session read for a stranger',
        '#readUnknown',
        { condition: 'caller?.owner !== undefined', becomes: 'false' },
      ],
      ['owner of a malformed session not named', 'malformed', { piece: 'ownerIn(head)', becomes: 'undefined' }],
    ],
  },
]
