// Mutations of listings, and of what goes through them: erasing an owner and sweeping old sessions.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const listingMutations = [
  {
    file: 'src/engine/sessions/erase-owner.ts',
    tests: ['src/engine/flow-engine.sessions.test'],
    rows: [
      [
        'an owner erased by one listing, and not until it is empty',
        'eraseOwner',
        { piece: 'if (listed === 0) return', becomes: 'if (true) return' },
      ],
      [
        'sessions of an erased owner that nobody can read are not counted',
        'eraseOwner',
        { piece: 'failed: unreadable }', becomes: 'failed: 0 }' },
      ],
      [
        'an owner erased while a first turn is under way keeps its session',
        'eraseOwner',
        { piece: 'await turnsSettled(engine, owner)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/sessions/list-sessions.ts',
    tests: ['src/engine/flow-engine.sessions.test'],
    rows: [
      ['a closed engine says that its store failed', 'listPage', { condition: 'session.closing', becomes: 'false' }],
    ],
  },
  {
    file: 'src/engine/sessions/check-session-options.ts',
    tests: ['src/engine/flow-engine.sessions.test'],
    rows: [
      [
        'a listing for an owner who is undefined lists the sessions of everybody',
        'checkListQuery',
        { piece: "owner === undefined && 'owner' in query", becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/engine/sessions/sweep.ts',
    tests: ['src/engine/flow-engine.sessions.test'],
    rows: [
      ['a sweep in a dry run deletes', 'removeOne', { piece: 'if (dryRun)', becomes: 'if (false)' }],
      [
        'a sweep deletes what a turn has saved since it was listed',
        'removeOne',
        { piece: 'isDue(stored, query)', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/engine/sessions/remove-listed.ts',
    tests: ['src/engine/flow-engine.sessions.test'],
    rows: [
      [
        'a listed session deleted whoever owns it by then',
        'removeListed',
        {
          piece: '...(owner === undefined ? {} : { owner })',
          becomes: "...(owner === undefined ? {} : { owner: 'other' })",
        },
      ],
    ],
  },
  {
    file: 'src/stores/memory/list-documents.ts',
    tests: ['testing/suites/stores/right-stores.test'],
    rows: [
      [
        'memory: of sessions created at one time only the first is on a page',
        'isBefore',
        { piece: '(createdAt === other[0] && id < other[1])', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/redis/redis-owners.ts',
    tests: ['testing/contract/stores/redis-listing.test'],
    rows: [
      [
        'Redis: a session that is about to be created taken out of the set of its owner',
        'page',
        { piece: '- graceMs', becomes: '+ graceMs' },
      ],
      [
        'Redis: members of the set of an owner are not decoded',
        'page',
        { piece: 'decodeText(stored)', becomes: 'stored' },
      ],
      [
        'Redis: an unreadable session of an owner is in no count',
        'page',
        { piece: '...unreadableOf(found), last', becomes: 'last' },
      ],
      ['Redis: a deleted session stays in the set of its owner', 'remove', { piece: "'ZREM'", becomes: "'ZSCORE'" }],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/redis/redis-listing.ts',
    tests: ['testing/contract/stores/redis-listing.test'],
    rows: [
      [
        'Redis: a cursor that somebody made up marks that everything was listed',
        '#scanned',
        { piece: 'listing.cursor === undefined || this.#whole.has(listing.cursor)', becomes: 'true' },
      ],
      [
        'Redis: the first listing of an owner ends without its set',
        '#scanned',
        {
          piece: "{ sessions: [], cursor: cursor ?? toCursor(['set', '']) }",
          becomes: 'cursor === undefined ? { sessions: [] } : { sessions: [], cursor }',
        },
      ],
      [
        'Redis: a scan goes on with the cursor of a process that is gone',
        '#scanNode',
        { piece: "run === place.run ? place.scan : '0'", becomes: "place.scan === 'end' ? '0' : place.scan" },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/redis/redis-scripts.ts',
    tests: ['testing/contract/stores/redis-listing.test'],
    rows: [
      [
        'Redis: a set of an owner that lives for ever gets an end',
        'addOwnedScript',
        { piece: 'left == -2 or (left >= 0 and', becomes: 'left < 0 or (left >= 0 and' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/redis/redis-owners.ts',
    tests: ['src/stores/keyv/drivers/redis/redis-owners.test'],
    rows: [
      [
        'Redis: the digest of an owner at every turn of a session that expires',
        'note',
        { piece: 'this.#prolonged.get(key)', becomes: 'undefined as number | undefined' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/page-of-keys.ts',
    tests: ['src/stores/keyv/drivers/page-of-keys.test'],
    rows: [
      [
        'a session that nobody can read is counted on every page before it',
        'pageOf',
        { piece: 'listed.slice(0, isLast ? undefined : read.indexOf(last as string) + 1)', becomes: 'listed' },
      ],
    ],
  },
  {
    file: 'src/engine/sessions/sweep.ts',
    tests: ['src/engine/flow-engine.sessions.test'],
    rows: [
      [
        'a sweep hides what the store cannot read',
        'sweep',
        { piece: 'failed: failed + unreadable', becomes: 'failed' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/sql-listing.ts',
    tests: ['testing/contract/stores/postgres.test'],
    rows: [
      [
        'SQL: the sessions of an earlier release are in no listing of an owner',
        'fillOwners',
        { piece: 'if (owners.length > 0) await statements.fill(owners)', becomes: '' },
      ],
    ],
  },
]
