// Mutations of what the databases run: the scripts of Redis, the SQL, and the texts that are kept.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const driverMutations = [
  {
    file: 'src/stores/keyv/drivers/redis/redis-scripts.ts',
    tests: ['testing/contract/stores/redis.test'],
    rows: [
      [
        'Redis: stale save wins',
        'swapScript',
        { piece: 'elseif @stored ~= ARGV[2] then', becomes: 'elseif false then' },
      ],
      [
        'Redis: session created over one that is there',
        'swapScript',
        { piece: "if redis.call('EXISTS', key) == 1 then return 0 end", becomes: '' },
      ],
      [
        'Redis: chunks that were cut stay',
        'swapScript',
        { piece: "redis.call('HDEL', key, unpack(ARGV, first, math.min(first + 999, #ARGV)))", becomes: '' },
      ],
      [
        'Redis: greatest age of a session ignored',
        'swapScript',
        { piece: "redis.call('PEXPIREAT', key, latest)", becomes: "redis.call('PERSIST', key)" },
      ],
      [
        'Redis: time to live ignored beside a greatest age',
        'swapScript',
        { piece: "if ttl ~= '' and tonumber(ttl) < redis.call('PTTL', key) then", becomes: 'if false then' },
      ],
      ['Redis: stale delete wins', 'removeScript', { piece: 'if @stored ~= ARGV[1] then return 0 end', becomes: '' }],
      [
        'Redis: time to live not renewed by a save',
        'swapScript',
        { piece: "elseif ttl ~= '' then redis.call('PEXPIRE', key, ttl)", becomes: '' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/sqlite/sqlite-statements.ts',
    tests: ['testing/contract/stores/sqlite.test'],
    rows: [
      ['SQLite: stale save wins', 'update', { piece: 'AND revision = ?6', becomes: 'AND (revision = ?6 OR 1)' }],
      ['SQLite: greatest age of a session put off by a save', 'expiry', { piece: 'min(ifnull', becomes: 'max(ifnull' }],
      ['SQLite: chunks that were cut stay', 'removeChunks', { piece: "type = 'text'", becomes: '0' }],
      ['SQLite: stale delete wins', 'remove', { piece: 'revision = ?2 OR', becomes: '1 OR' }],
      [
        'SQLite: chunks of a deleted session stay',
        'create',
        { piece: 'WHERE session_id = OLD.id', becomes: 'WHERE 0' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/postgres/postgres-statements.ts',
    tests: ['testing/contract/stores/postgres.test'],
    rows: [
      [
        'Postgres: stale save wins',
        'update',
        { piece: 'AND revision = $7 AND', becomes: 'AND (revision = $7 OR true) AND' },
      ],
      ['Postgres: greatest age of a session put off by a save', 'earlier', { piece: 'LEAST(', becomes: 'GREATEST(' }],
      [
        'Postgres: chunks that were cut stay',
        'cut',
        { piece: 'chunk.name = ANY ($8::text[])', becomes: 'false AND $8::text[] IS NOT NULL' },
      ],
      ['Postgres: stale delete wins', 'remove', { piece: 'revision = $2 OR', becomes: 'true OR' }],
      ['Postgres: another session read', 'readHead', { piece: 'WHERE key = $1 AND', becomes: 'WHERE key = $1 OR' }],
      [
        'Postgres: an earlier claim overwritten',
        'postgresStatements',
        { piece: 'WHEN kept.expires_at > now() THEN kept.session_id', becomes: 'WHEN false THEN kept.session_id' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/layout/codec.ts',
    tests: ['src/stores/keyv/layout/codec.'],
    rows: [
      [
        'hooks of a Keyv passed by',
        'createTextCodec.hasHooks',
        { piece: 'keyv.serialize !== undefined &&', becomes: 'false &&' },
      ],
      [
        'value of a hook that is not a text stored',
        'encodeWithHooks',
        { condition: "typeof @text === 'string'", becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/text-escapes.ts',
    tests: ['src/stores/keyv/drivers/text-escapes.'],
    rows: [
      ['text that the database refuses kept as it is', 'encodeText', { piece: '|| hostile.test(text)', becomes: '' }],
      ['text that looks escaped kept as it is', 'encodeText', { piece: `text.startsWith('"') ||`, becomes: '' }],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/redis/redis-session-driver.ts',
    tests: ['testing/contract/stores/redis.test'],
    rows: [
      [
        'Redis: a revision that another process replaced taken for the known one',
        'hasRevision',
        { piece: 'decodeField(reply) === revision', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/redis/redis-session-driver.ts',
    tests: ['src/stores/keyv/drivers/redis/redis-driver.'],
    rows: [
      [
        'Redis: a known revision in doubt believed',
        'read',
        { statement: 'await replication.makeSure(key, knownRevision)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/serverless-store.ts',
    tests: ['src/stores/keyv/serverless-store.'],
    rows: [
      [
        'a store for a serverless platform gives fractions of a millisecond to its backend',
        'serverlessStore',
        { piece: 'Math.ceil(ttlMs)', becomes: 'ttlMs' },
      ],
    ],
  },
  {
    file: 'adapters/upstash/upstash-session-store.ts',
    tests: ['adapters/upstash/upstash-session-store.'],
    rows: [
      [
        'Upstash: sessions stored under an empty namespace',
        'constructor',
        { piece: "|| namespace === ''", becomes: '' },
      ],
    ],
  },
  {
    file: 'adapters/upstash/upstash-session-store.ts',
    tests: ['testing/contract/stores/upstash.test'],
    rows: [
      [
        'Upstash: a client taken that sends a save twice',
        'checkClient',
        { piece: 'Number(client?.retry?.attempts ?? 0) === 0', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'adapters/upstash/upstash-connection.ts',
    tests: ['testing/contract/stores/upstash.test'],
    rows: [
      [
        'Upstash: an error repeats the texts of the conversation',
        'withoutCommand',
        { piece: 'message === error.message ? error : new Error(message)', becomes: 'error' },
      ],
      [
        'Upstash: the scripts that the server forgot are not sent again in a pipeline',
        'withoutCommand',
        { piece: ".replace(/^Command failed: /, '')", becomes: '' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/redis/redis-claims.ts',
    tests: ['src/stores/keyv/drivers/redis/redis-claims.'],
    rows: [
      ['Redis: an earlier claim overwritten', '#set', { piece: "'NX', 'GET',", becomes: "'GET'," }],
      [
        'Redis: claims refused by a server before 7.0',
        '#set',
        { piece: '/syntax error/i.test(error.message)', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/redis/redis-lease.ts',
    tests: ['src/stores/keyv/drivers/redis/redis-lease.'],
    rows: [
      ['Redis: a lease never renewed', 'take', { piece: 'this.#renew(key, token)', becomes: '(() => undefined)' }],
      [
        'Redis: a lease renewed after it was given back',
        '#renew',
        { piece: 'if (this.#renewals.delete(own)) start()', becomes: 'start()' },
      ],
      [
        'Redis: a lease whose reply was lost kept',
        'take',
        { piece: 'this.#giveBack(key, token).catch(() => undefined)', becomes: 'undefined' },
      ],
    ],
  },
  {
    file: 'src/stores/claims.ts',
    tests: ['src/stores/claims.', 'src/stores/memory/memory-store.claim.'],
    rows: [
      ['memory: a claim that expired kept', 'claim', { piece: '&& kept.expiresAt > now', becomes: '' }],
      ['memory: claims without a bound', 'claim', { piece: '&& this.#claims.size <= this.#maxClaims', becomes: '' }],
    ],
  },
  {
    file: 'src/stores/keyv/layout/keys.ts',
    tests: ['src/stores/keyv/layout/keys.'],
    rows: [
      ['a claim under the key of a session', 'claimKey', { piece: '~claim-', becomes: '' }],
      ['a lease under the key of a claim', 'leaseKey', { piece: '~lease-', becomes: '~claim-' }],
    ],
  },
  {
    file: 'src/session/store-access.ts',
    tests: ['src/session/store-access.claim.'],
    rows: [
      [
        'whatever a store answers to a claim believed',
        '#claim',
        { condition: "typeof kept === 'string' && isSessionId(kept)", becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/session/session-lease.ts',
    tests: ['src/engine/turn/session-lease.'],
    rows: [
      [
        'a lease that came after the turn kept',
        'keep',
        { statement: 'if (control.signal.aborted) giveBackLeases(control)', becomes: '' },
      ],
      [
        'a failure to give a lease back not caught',
        'giveBackLeases',
        { piece: 'quietly(giveBack)', becomes: 'giveBack()' },
      ],
      [
        'a second lease of one session asked for',
        'takeLease',
        { piece: 'if (control.leases?.has(sessionId) === true) return undefined', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: ['src/engine/turn/session-lease.'],
    rows: [['leases kept after the turn', 'runTurn', { statement: 'giveBackLeases(control)', becomes: '' }]],
  },
  {
    file: 'src/engine/turn/session/load-session.ts',
    tests: ['src/engine/turn/session-lease.'],
    rows: [
      [
        "the lease of another's session kept",
        'newSession',
        { statement: 'giveBackLeases(control, control.sessionId)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/redis/redis-connection.ts',
    tests: ['src/stores/keyv/drivers/redis/redis-connection.'],
    rows: [
      [
        'Redis: a silent connection never replaced',
        '#watchSilence',
        { statement: 'this.#reopen(client)', becomes: '' },
      ],
      [
        'Redis: commands sent on what was closed meanwhile',
        '#ready',
        {
          piece: "if (this.#isClosed) throw new Error('The connection to Redis is closed.') return client",
          becomes: 'return client',
        },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/redis/redis-replication.ts',
    tests: ['src/stores/keyv/drivers/redis/redis-replication.'],
    rows: [
      [
        'Redis: a write that was done reported as a conflict',
        'conflictAt',
        { piece: "if (attempt === 1) return 'conflict'", becomes: "return 'conflict'" },
      ],
      ['Redis: a write in doubt forgotten', 'swap', { statement: 'this.#doubtful.set(key,', becomes: '' }],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/sql-adapter.ts',
    tests: ['testing/contract/stores/postgres.test'],
    rows: [
      [
        'Postgres: a revision that another process replaced taken for the known one',
        'readUnlessKnown',
        { piece: 'stored === encodeText(knownRevision)', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/sql-adapter.ts',
    tests: ['testing/contract/stores/sqlite.test'],
    rows: [
      [
        'SQLite: a revision that another process replaced taken for the known one',
        'readUnlessKnown',
        { piece: 'stored === encodeText(knownRevision)', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/postgres/postgres-driver.ts',
    tests: ['src/stores/keyv/drivers/postgres/postgres-driver.', 'testing/contract/stores/postgres.test'],
    rows: [
      [
        'Postgres: a swap that was overtaken taken for a conflict',
        'write',
        { piece: '|| !isPassing(row.found)', becomes: '|| true' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/sqlite/sqlite-driver.ts',
    tests: ['src/stores/keyv/drivers/sqlite/sqlite-driver.', 'testing/contract/stores/sqlite.test'],
    rows: [['SQLite: a locked file fails the turn at once', 'run', { piece: '!isBusy(error) ||', becomes: 'true ||' }]],
  },
  {
    file: 'src/stores/keyv/drivers/sqlite/sqlite-driver.ts',
    tests: ['testing/contract/stores/deleted-bytes.test'],
    rows: [
      [
        'SQLite: what is deleted stays in the file',
        'openDatabase',
        { piece: "await run('PRAGMA secure_delete = ON')", becomes: '' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/sqlite/private-file.ts',
    tests: ['src/stores/keyv/drivers/sqlite/', 'testing/contract/stores/deleted-bytes.test'],
    rows: [
      ['SQLite: the file is made for everybody', 'ownerOnly', { piece: '0o600', becomes: '0o666' }],
      ['SQLite: a file that is there is opened', 'makePrivateFile', { piece: "'wx'", becomes: "'w'" }],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/map-driver.ts',
    tests: ['src/stores/keyv/'],
    rows: [
      [
        'Map: greatest age of a session ignored',
        'recordOf',
        { piece: 'Math.min(ttlMs, expiresBy - Date.now())', becomes: 'ttlMs' },
      ],
    ],
  },
]
