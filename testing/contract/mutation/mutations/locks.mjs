// Mutations of the locks of sessions: who has them, who waits, who is turned away, and when they are taken.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const lockMutations = [
  {
    file: 'src/session/lock/lock-line.ts',
    tests: ['src/session/session-lock.'],
    rows: [
      [
        'turns of all owners share the places',
        'counted',
        { piece: 'this.#counted.get(owner)', becomes: '[...this.#counted.values()][0]' },
      ],
      ['who waits for a request that leaves waits on', '#leave', { piece: 'this.#onLeave()', becomes: '' }],
      ['requests of two owners exclude each other', 'areExclusive', { body: '{ return true }' }],
      [
        'request without an owner excludes nobody that comes later',
        'Line.isClosedTo',
        { piece: 'this.holderBefore(caller) !== undefined', becomes: 'this.holderBefore(caller) && caller' },
      ],
      [
        'request overtakes one that waits',
        'Line.isClosedTo',
        { piece: 'areExclusive(wait.caller, caller)', becomes: '!wait' },
      ],
    ],
  },
  {
    file: 'src/session/lock/session-lock.ts',
    tests: ['src/session/session-lock.'],
    rows: [
      [
        'lock not first in, first out',
        '#passOn',
        { piece: 'of Array.from(queue)', becomes: 'of Array.from(queue).reverse()' },
      ],
      [
        'lock freed while others wait',
        '#pass',
        { piece: 'line.holders.length === 0', becomes: 'line.holders.length < 2' },
      ],
      ["late holder releases the next one's lock", '#remove', { piece: 'holder.line = undefined', becomes: '' }],
      [
        'engine that closes lets those run that waited behind others',
        'refuseWaiters',
        { piece: 'line.queue = undefined', becomes: '' },
      ],
      ['holder not told that its lock was taken', 'take', { piece: 'holder.lose()', becomes: '' }],
    ],
  },
  {
    file: 'src/session/lock/session-lock.ts',
    tests: ['src/engine/flow-engine.strangers.'],
    rows: [
      ['strangers stay in the queue', 'setOwner', { piece: 'waiter.resolve()', becomes: '' }],
      [
        'requests for an unknown ID load one after another',
        'setOwner',
        { piece: 'stored === undefined ? nothingStored', becomes: 'stored === undefined ? notLoaded' },
      ],
      [
        'stranger waits for a turn under way',
        'isForeign',
        { piece: 'this.#lines.get(sessionId)?.isForeignTo(caller) === true', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/session/flow-session.ts',
    tests: ['src/session/flow-session.'],
    rows: [
      ['lock kept after its holder is done', '#release', { statement: 'this.#lock.release(holder)', becomes: '' }],
      ['wait that failed stays in the queue', '#queue', { piece: 'waiter.leave()', becomes: '' }],
    ],
  },
  {
    file: 'src/session/flow-session.ts',
    tests: ['src/engine/flow-engine.taken-lock.', 'src/engine/flow-engine.new-session-lock.'],
    rows: [
      [
        'lock of a new session not taken',
        'moveTo',
        { piece: 'this.#lock.tryAcquire(sessionId, holder)', becomes: 'false' },
      ],
      [
        'lock of the ID that was asked for kept',
        'moveTo',
        { piece: 'this.#release(holder)', becomes: 'holder.sessionId = undefined' },
      ],
      [
        'holder whose lock was taken counted for ever',
        '#take',
        { piece: 'if (holder.hasBegun) this.#active--', becomes: '' },
      ],
      ['holder whose lock was taken counted twice', '#end', { condition: 'holder.isTaken', becomes: 'false' }],
      ['lock taken from the application', '#takeableAt', { condition: "'application'", becomes: 'false' }],
      ['request dropped in the queue keeps the lock', '#takeableAt', { condition: 'hasBegun', becomes: 'false' }],
    ],
  },
  {
    file: 'src/session/lock/wait-timer.ts',
    tests: ['src/engine/flow-engine.taken-lock.', 'src/session/flow-session.', 'src/engine/flow-engine.broken-clock.'],
    rows: [
      ['lock never taken from a dropped turn', 'expire', { condition: 'takeableAt(current) <= now', becomes: 'false' }],
      [
        'dropped turn that gets the lock from the application keeps it',
        'start',
        { condition: 'at === Number.POSITIVE_INFINITY', becomes: 'false' },
      ],
      ['lock taken before its moment', 'expire', { condition: 'takeableAt(current) <= now', becomes: 'true' }],
      [
        'wait that ends before the lock can be taken',
        'isOver',
        { piece: '(!met.has(current) && current.hasBegun)', becomes: 'true' },
      ],
      [
        'wait behind living turns without an end',
        'isOver',
        { piece: '!met.has(current) && current.hasBegun', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/session/store-access.ts',
    tests: ['src/engine/flow-engine.taken-lock.', 'src/session/store-access.'],
    rows: [
      ['write repeated after the lock was taken', '#repeat', { piece: 'write.holder?.check()', becomes: '' }],
      ['write begun after the lock was taken', '#attemptWrite', { piece: 'write.holder?.check()', becomes: '' }],
    ],
  },
  {
    file: 'src/engine/turn/control/turn-control.ts',
    tests: ['src/engine/flow-engine.taken-lock.'],
    rows: [
      ['turn goes on without its lock', 'loseLock', { statement: 'this.abort', becomes: '' }],
      [
        'close waits for a turn whose lock was taken',
        'loseLock',
        { piece: 'this.engine.turns.delete(this)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/control/turn-control.ts',
    tests: ['src/engine/flow-engine.waiting.'],
    rows: [
      [
        'turn that waits for itself ends without the likely cause',
        'expire',
        { piece: 'this.lockHolder?.isAwaited === true', becomes: 'false' },
      ],
      [
        'turn for which nothing waits is said to wait for itself',
        'expire',
        { piece: 'this.lockHolder?.isAwaited === true', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/session/find-session.ts',
    tests: ['src/engine/flow-engine.strangers.', 'src/engine/flow-engine.new-session-lock.'],
    rows: [
      ['stranger continues a session without its lock', 'findSession', { condition: 'isStranger', becomes: 'false' }],
      [
        'lock not told whose session was loaded',
        'loadOf',
        { statement: 'engine.session.setOwner(lockHolder, stored)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/session/load-session.ts',
    tests: ['src/engine/flow-engine.strangers.', 'src/engine/flow-engine.new-session-lock.'],
    rows: [['new session not locked', 'newSession', { statement: 'engine.session.moveTo', becomes: '' }]],
  },
  {
    file: 'src/engine/lock/lock-waits.ts',
    tests: ['src/compaction/store-summary.beside.'],
    rows: [["strangers wait for an owner's summary", 'summaryWait', { piece: 'caller: { owner }', becomes: '' }]],
  },
  {
    file: 'src/engine/sessions/remove-session.ts',
    tests: ['src/engine/flow-engine.shared-deletes.', 'src/engine/flow-engine.strangers.'],
    rows: [
      ['each waiting delete has its own place', 'removeOnce', { condition: 'isSame', becomes: 'false' }],
      ['deletes with other options share an outcome', 'isSame', { body: 'return true' }],
      [
        'stranger deletes a session without its lock',
        'removeSession',
        { piece: 'stored === undefined || holder.isStranger', becomes: 'stored === undefined' },
      ],
    ],
  },
  {
    file: 'src/config/deadlines.ts',
    tests: ['src/config/deadlines.'],
    rows: [
      [
        'deadlines forgotten by a clock that throws',
        '#startTimer',
        { statement: 'this.#fail(failure as FlowError)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/session/store-access.ts',
    tests: ['src/engine/flow-engine.broken-clock.', 'src/session/store-access.'],
    rows: [
      [
        'outcome of a write not called unknown where no deadline can be set',
        '#settle',
        { piece: 'abandon(error)', becomes: 'reject(error)' },
      ],
    ],
  },
  {
    file: 'src/errors/engine-errors.ts',
    tests: ['src/engine/flow-engine.waiting.', 'src/errors/engine-errors.'],
    rows: [
      [
        'how to raise a limit missing from the details of an error',
        'TurnTimeoutError',
        { piece: "details: raiseLimit('turnTimeoutMs') +", becomes: "details: '' +" },
      ],
      [
        'turn that waits for itself not told why',
        'TurnTimeoutError',
        { piece: "const likelyCause = isTurn ? ''", becomes: "const likelyCause = true ? ''" },
      ],
    ],
  },
  {
    file: 'src/compaction/store-summary.ts',
    tests: ['src/compaction/'],
    rows: [
      [
        'next turn waits for the model of a summary',
        'storeSummary',
        {
          piece: 'await summarize(control, task)',
          becomes: 'await session.hold(committed.id, () => summarize(control, task), () => ({ counted: false }), true)',
        },
      ],
    ],
  },
]
