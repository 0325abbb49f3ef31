/**
 * The SQL of the Postgres driver. A write is one statement, and therefore one transaction: common table expressions
 * swap the session's row and write its chunks. They and the final SELECT see the database as it was when the statement
 * began, so `found` may be older than the row that the swap changed. postgres-driver.ts handles that.
 */

/** The statements over one set of tables. */
export interface PostgresStatements {
  readonly inspect: string
  readonly createSchema: string
  /** Several statements in one text, so in one transaction. Fails if another process creates them at the same time. */
  readonly createTables: string
  readonly readRevision: string
  readonly readHead: string
  readonly readChunks: string
  readonly readAll: string
  readonly insert: string
  readonly append: string
  /** Appends chunks, and removes chunks by name. */
  readonly cut: string
  readonly replace: string
  readonly remove: string
  readonly purge: string
  /** Stores a session ID under a key, unless the key already holds one. Returns the session ID that the key holds. */
  readonly claim: string
  readonly purgeClaims: string
  readonly list: string
  readonly listOwned: string
}

const isLive = '(expires_at IS NULL OR expires_at > now())'
const expiry = (parameter: string): string => `now() + ${parameter}::float8 * interval '1 millisecond'`
/** The earlier of two times, either of which may be null. */
const earlier = (ttl: string, latest: string): string => `LEAST(${expiry(ttl)}, to_timestamp(${latest}::float8 / 1000))`
const chunkList = 'SELECT json_agg(json_build_array(chunk.name, chunk.body))::text'

/**
 * @param schema - As in the adapter's options: an SQL identifier, so folded to lower case unless it is quoted.
 * @param table - The same.
 */
export function postgresStatements(schema: string, table: string): PostgresStatements {
  const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`
  const named = (suffix: string): string => `${quote(fold(schema))}.${quote(`${fold(table)}${suffix}`)}`
  const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`
  const session = named('_session')
  const chunk = named('_chunk')
  const claim = named('_claim')
  const found = `(SELECT revision FROM ${session} WHERE key = $1 AND ${isLive}) AS found`
  const writeChunks = (names: string, bodies: string): string => `written AS (
      INSERT INTO ${chunk} (session_id, name, body)
      SELECT stored.id, added.name, added.body FROM stored, unnest(${names}::text[], ${bodies}::text[]) AS added(name, body)
      ON CONFLICT (session_id, name) DO UPDATE SET body = excluded.body
    )`
  const update = (latest: string): string => `UPDATE ${session} SET revision = $2, head = $3,
      expires_at = ${earlier('$4', latest)}
      WHERE key = $1 AND revision = $7 AND revision <> $2 AND ${isLive} RETURNING id`
  // Deletes an expired row and its chunks. Counting the deleted rows makes the deletion run before the insertion.
  const insert = `WITH gone AS (
      DELETE FROM ${session} WHERE key = $1 AND NOT ${isLive} RETURNING id
    ), stored AS (
      INSERT INTO ${session} (key, revision, head, expires_at, owner)
      SELECT $1, $2, $3, ${earlier('$4', '$7')}, $8 FROM (SELECT count(*) FROM gone) AS before
      ON CONFLICT (key) DO NOTHING RETURNING id
    ), ${writeChunks('$5', '$6')}
    SELECT (SELECT count(*)::int FROM stored) AS written, ${found}`
  const index = (suffix: string): string => `CREATE INDEX IF NOT EXISTS ${quote(`${fold(table)}${suffix}`)}`
  const rows = (condition: string, limit: string): string =>
    `SELECT id::text AS id, key, revision, head FROM ${session} AS session
      WHERE ${condition} AND ${isLive} ORDER BY session.id LIMIT ${limit}::int`
  const exists = (name: string): string => `to_regclass(${literal(name)}) IS NOT NULL`
  return {
    inspect: `SELECT to_regnamespace(${literal(quote(fold(schema)))}) IS NOT NULL AS has_schema,
      ${[session, chunk, claim].map(exists).join(' AND ')} AS has_tables,
      current_setting('server_encoding') AS encoding`,
    createSchema: `CREATE SCHEMA IF NOT EXISTS ${quote(fold(schema))}`,
    createTables: `
      CREATE TABLE IF NOT EXISTS ${session} (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key text COLLATE "C" NOT NULL UNIQUE,
        revision text COLLATE "C" NOT NULL,
        expires_at timestamptz,
        head text NOT NULL,
        owner text COLLATE "C" NOT NULL
      );
      CREATE TABLE IF NOT EXISTS ${chunk} (
        session_id bigint NOT NULL REFERENCES ${session} (id) ON DELETE CASCADE,
        name text COLLATE "C" NOT NULL,
        body text NOT NULL,
        PRIMARY KEY (session_id, name)
      );
      CREATE TABLE IF NOT EXISTS ${claim} (
        key text COLLATE "C" NOT NULL PRIMARY KEY,
        session_id text NOT NULL,
        expires_at timestamptz NOT NULL
      );
      ${index('_session_expiry')} ON ${session} (expires_at) WHERE expires_at IS NOT NULL;
      ${index('_session_owner')} ON ${session} (owner, id);
      ${index('_claim_expiry')} ON ${claim} (expires_at);`,
    readRevision: `SELECT revision FROM ${session} WHERE key = $1 AND ${isLive}`,
    readHead: `SELECT revision, head FROM ${session} WHERE key = $1 AND ${isLive}`,
    // The lateral join forces one index lookup per name. Without statistics Postgres would read all of the session's
    // chunks.
    readChunks: `SELECT revision, head, (${chunkList} FROM unnest($2::text[]) AS wanted(name) CROSS JOIN LATERAL (
        SELECT name, body FROM ${chunk} WHERE session_id = session.id AND name = wanted.name LIMIT 1) AS chunk) AS chunks
      FROM ${session} AS session WHERE key = $1 AND ${isLive}`,
    readAll: `SELECT revision, head, (${chunkList} FROM ${chunk} AS chunk
        WHERE chunk.session_id = session.id) AS chunks
      FROM ${session} AS session WHERE key = $1 AND ${isLive}`,
    insert,
    append: `WITH stored AS (${update('$8')}), ${writeChunks('$5', '$6')}
    SELECT (SELECT count(*)::int FROM stored) AS written, ${found}`,
    cut: `WITH stored AS (${update('$9')}), removed AS (
      DELETE FROM ${chunk} AS chunk USING stored WHERE chunk.session_id = stored.id AND chunk.name = ANY ($8::text[])
    ), ${writeChunks('$5', '$6')}
    SELECT (SELECT count(*)::int FROM stored) AS written, ${found}`,
    replace: `WITH stored AS (${update('$8')}), replaced AS (
      DELETE FROM ${chunk} AS chunk USING stored WHERE chunk.session_id = stored.id AND chunk.name <> ALL ($5::text[])
    ), ${writeChunks('$5', '$6')}
    SELECT (SELECT count(*)::int FROM stored) AS written, ${found}`,
    remove: `WITH removed AS (
      DELETE FROM ${session} WHERE key = $1 AND ($2::text IS NULL OR revision = $2 OR NOT ${isLive}) RETURNING id
    )
    SELECT (SELECT count(*)::int FROM removed) AS written, ${found}`,
    // Skips rows that another statement has locked, so that two purges never wait for each other.
    purge: `WITH expired AS MATERIALIZED (
      SELECT id FROM ${session} WHERE expires_at <= now() ORDER BY expires_at LIMIT $1::int FOR UPDATE SKIP LOCKED
    ), removed AS (
      DELETE FROM ${session} AS session USING expired WHERE session.id = expired.id RETURNING session.id
    )
    SELECT count(*)::int AS written FROM removed`,
    // A live row is written unchanged, so that the statement returns it, even if the row was inserted after the
    // statement began.
    claim: `INSERT INTO ${claim} AS kept (key, session_id, expires_at) VALUES ($1, $2, ${expiry('$3')})
      ON CONFLICT (key) DO UPDATE SET
        session_id = CASE WHEN kept.expires_at > now() THEN kept.session_id ELSE excluded.session_id END,
        expires_at = CASE WHEN kept.expires_at > now() THEN kept.expires_at ELSE excluded.expires_at END
      RETURNING session_id`,
    purgeClaims: `WITH expired AS MATERIALIZED (
      SELECT key FROM ${claim} WHERE expires_at <= now() ORDER BY expires_at LIMIT $1::int FOR UPDATE SKIP LOCKED
    ), removed AS (
      DELETE FROM ${claim} AS claim USING expired WHERE claim.key = expired.key RETURNING claim.key
    )
    SELECT count(*)::int AS written FROM removed`,
    list: rows('session.id > $1::bigint', '$2'),
    listOwned: rows('owner = $1 AND session.id > $2::bigint', '$3'),
  }
}

/** An identifier as Postgres reads it. */
function fold(identifier: string): string {
  const isQuoted = identifier.length > 1 && identifier.startsWith('"') && identifier.endsWith('"')
  return isQuoted ? identifier.slice(1, -1).replaceAll('""', '"') : identifier.toLowerCase()
}
