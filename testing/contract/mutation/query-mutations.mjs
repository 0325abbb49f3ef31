// Faults in the texts of Lua and SQL, which Stryker does not mutate: `[what goes wrong, text, its replacement]`. Each
// text is in its file once, and one of the tests must fail. At most 40 rows: each runs tests over a real server.

/** @type {readonly { file: string, test: string, rows: readonly (readonly [string, string, string])[] }[]} */
export const queryMutations = [
  {
    file: 'src/stores/keyv/drivers/redis/redis-scripts.ts',
    test: 'testing/contract/stores/redis.test.ts',
    rows: [
      ['Redis: a stale save wins', 'elseif stored ~= ARGV[2] then', 'elseif false then'],
      [
        'Redis: a session is created over one that is there',
        "if redis.call('EXISTS', key) == 1 then return 0 end",
        'local unused',
      ],
      ['Redis: a stale delete wins', "if redis.call('HGET', key, 'revision') ~= ARGV[2] then return 0 end", ''],
      [
        'Redis: the ID of a deleted session can be used',
        "redis.call('PEXPIRE', key, ARGV[1])",
        "redis.call('UNLINK', key)",
      ],
      [
        'Redis: chunks that were cut stay',
        "redis.call('HDEL', key, unpack(ARGV, first, math.min(first + 999, #ARGV)))",
        '',
      ],
      [
        'Redis: the greatest age of a session is ignored',
        "redis.call('PEXPIREAT', key, latest)",
        "redis.call('PERSIST', key)",
      ],
      [
        'Redis: the time to live is ignored beside a greatest age',
        "if ttl ~= '' and tonumber(ttl) < redis.call('PTTL', key) then",
        'if false then',
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/redis/redis-scripts.ts',
    test: 'testing/contract/stores/redis-listing.test.ts',
    rows: [
      [
        'Redis: the set of an owner that lives for ever gets an end',
        'left == -2 or (left >= 0 and',
        'left < 0 or (left >= 0 and',
      ],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/sqlite/sqlite-statements.ts',
    test: 'testing/contract/stores/sqlite.test.ts',
    rows: [
      ['SQLite: a stale save wins', 'AND revision = ?6 AND', 'AND ?6 <> 0 AND'],
      ['SQLite: a session is created over one that is there', 'WHERE NOT $', 'WHERE 1 OR NOT $'],
      ['SQLite: a stale delete wins', '(?2 IS NULL OR revision = ?2)', '(?2 IS NULL OR 1)'],
      [
        'SQLite: the ID of a deleted session can be used',
        "expires_at = excluded.expires_at, replaces = 1, head = ''",
        "expires_at = 1, replaces = 1, head = ''",
      ],
      ['SQLite: a mark is a session', "isStored = `revision <> ''", 'isStored = `1'],
      ['SQLite: two have one lease', 'OR session_id = excluded', 'OR 1 OR session_id = excluded'],
      ['SQLite: chunks that were cut stay', "type = 'text'", '0'],
      ['SQLite: chunks of a deleted session stay', 'session_id = OLD.id', '0'],
      ['SQLite: a save puts off the greatest age of a session', 'min(ifnull', 'max(ifnull'],
      ['SQLite: an earlier claim is overwritten', 'THEN session_id ELSE', 'AND 0 THEN session_id ELSE'],
      ['SQLite: everybody has the sessions of an owner', "'owner = ?1 AND", "'?1 <> 0 AND"],
    ],
  },
  {
    file: 'src/stores/keyv/drivers/postgres/postgres-statements.ts',
    test: 'testing/contract/stores/postgres.test.ts',
    rows: [
      ['Postgres: a stale save wins', 'AND revision = $7 AND', 'AND (revision = $7 OR true) AND'],
      ['Postgres: a stale delete wins', 'OR revision = $2) OR', 'OR true) OR'],
      ['Postgres: a mark is a session', "isStored = `revision <> ''", 'isStored = `true'],
      ['Postgres: two have one lease', 'WHERE kept.expires_at <= now() OR', 'WHERE true OR'],
      ['Postgres: chunks that were cut stay', 'chunk.name = ANY ($8::text[])', 'false AND $8::text[] IS NOT NULL'],
      ['Postgres: chunks of a deleted session stay', '(id) ON DELETE CASCADE', '(id)'],
      ['Postgres: a save puts off the greatest age of a session', 'LEAST(', 'GREATEST('],
      [
        'Postgres: an earlier claim is overwritten',
        'WHEN kept.expires_at > now() THEN kept.session_id',
        'WHEN false THEN kept.session_id',
      ],
    ],
  },
  {
    file: 'adapters/d1/d1-statements.ts',
    test: 'testing/contract/cloudflare/d1.test.ts',
    rows: [
      ['D1: a stale save wins', 'AND revision = ?7 AND', 'AND ?7 <> 0 AND'],
      ['D1: a save that is stored already is stored again', 'AND revision <> ?2 AND', 'AND'],
      ['D1: a session is created over one that is there', 'WHERE NOT $', 'WHERE 1 OR NOT $'],
      ['D1: a stale delete wins', 'OR revision = ?2) OR', 'OR 1) OR'],
      ['D1: a mark is a session', "isStored = `revision <> ''", 'isStored = `1'],
      ['D1: a swap that lost writes texts', 'AND session.attempt = ?2', 'AND ?2 <> 0'],
      ['D1: a swap that lost removes texts', 'key = ?1 AND attempt = ?2)', 'key = ?1 AND ?2 <> 0)'],
      ['D1: texts of a deleted session stay', 'session_id = OLD.id', '0'],
      ['D1: a save puts off the greatest age of a session', 'min(ifnull', 'max(ifnull'],
      [
        'D1: an expired session is loaded',
        'head\n  FROM turnkeeper_session WHERE key = ?1 AND',
        'head\n  FROM turnkeeper_session WHERE key = ?1 OR 0 AND',
      ],
      ['D1: an earlier claim is overwritten', 'WHERE turnkeeper_claim.expires_at <=', 'WHERE 0 <='],
    ],
  },
]
