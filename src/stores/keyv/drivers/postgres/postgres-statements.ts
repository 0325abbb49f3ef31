/**
 * The SQL of the Postgres driver. A write is one statement, and therefore one transaction: common table expressions
 * swap the session's row and write its chunks. They and the final SELECT see the database as it was when the statement
 * began, so `found` may be older than the row that the swap changed. postgres-driver.ts handles that.
 */
import type { SqlLeaseStatements } from '../sql-leases.js'

/** The statements over one set of tables. */
export interface PostgresStatements extends SqlLeaseStatements {
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
  /** Leaves a mark in place of the session. */
  readonly remove: string
  /** Finds a mark. */
  readonly readMark: string
  readonly purge: string
  /** Stores a session ID under a key, unless the key already holds one. Returns the session ID that the key holds. */
  readonly claim: string
  readonly purgeClaims: string
  /** Finds a session of an owner. */
  readonly readOwned: string
  readonly list: string
  readonly listOwned: string
}

const isLive = '(expires_at IS NULL OR expires_at > now())'
/** The mark of a removed session is a row whose revision, head and owner are empty. */
const isStored = `revision <> '' AND ${isLive}`
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
      WHERE key = $1 AND revision = $7 AND revision <> $2 AND ${isStored} RETURNING id`
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
      WHERE ${condition} AND ${isStored} ORDER BY session.id LIMIT ${limit}::int`
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
    readRevision: `SELECT revision FROM ${session} WHERE key = $1 AND ${isStored}`,
    readHead: `SELECT revision, head FROM ${session} WHERE key = $1 AND ${isStored}`,
    // The lateral join forces one index lookup per name. Without statistics Postgres would read all of the session's
    // chunks.
    readChunks: `SELECT revision, head, (${chunkList} FROM unnest($2::text[]) AS wanted(name) CROSS JOIN LATERAL (
        SELECT name, body FROM ${chunk} WHERE session_id = session.id AND name = wanted.name LIMIT 1) AS chunk) AS chunks
      FROM ${session} AS session WHERE key = $1 AND ${isStored}`,
    readAll: `SELECT revision, head, (${chunkList} FROM ${chunk} AS chunk
        WHERE chunk.session_id = session.id) AS chunks
      FROM ${session} AS session WHERE key = $1 AND ${isStored}`,
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
    // The row is deleted, and its chunks with it; the mark is a new row. A mark that is there stays as it is.
    remove: `WITH removed AS (
      DELETE FROM ${session} WHERE key = $1
        AND (revision <> '' AND ($2::text IS NULL OR revision = $2) OR NOT ${isLive}) RETURNING id
    ), marked AS (
      INSERT INTO ${session} (key, revision, head, expires_at, owner)
      SELECT $1, '', '', ${expiry('$3')}, '' FROM (SELECT count(*) FROM removed) AS before
      ON CONFLICT (key) DO NOTHING RETURNING id
    )
    SELECT (SELECT count(*)::int FROM marked) AS written, ${found}`,
    readMark: `SELECT 1 FROM ${session} WHERE key = $1 AND revision = '' AND ${isLive}`,
    // Skips rows that another statement has locked, so that two purges never wait for each other.
    purge: `WITH expired AS MATERIALIZED (
      SELECT id FROM ${session} WHERE expires_at <= now() ORDER BY expires_at LIMIT $1::int FOR UPDATE SKIP LOCKED
    ), removed AS (
      DELETE FROM ${session} AS session USING expired WHERE session.id = expired.id RETURNING session.revision
    )
    SELECT revision FROM removed`,
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
    SELECT key FROM removed`,
    // A token that has the lease takes it again: its first reply may have been lost.
    takeLease: `INSERT INTO ${claim} AS kept (key, session_id, expires_at) VALUES ($1, $2, ${expiry('$3')})
      ON CONFLICT (key) DO UPDATE SET session_id = excluded.session_id, expires_at = excluded.expires_at
      WHERE kept.expires_at <= now() OR kept.session_id = excluded.session_id RETURNING 1`,
    renewLease: `UPDATE ${claim} SET expires_at = ${expiry('$3')} WHERE key = $1 AND session_id = $2 RETURNING 1`,
    releaseLease: `DELETE FROM ${claim} WHERE key = $1 AND session_id = $2 RETURNING 1`,
    readOwned: `SELECT 1 FROM ${session} WHERE key = $1 AND owner = $2 AND ${isStored}`,
    list: rows('session.id > $1::bigint', '$2'),
    listOwned: rows('owner = $1 AND session.id > $2::bigint', '$3'),
  }
}

/** An identifier as Postgres reads it. */
function fold(identifier: string): string {
  const isQuoted = identifier.length > 1 && identifier.startsWith('"') && identifier.endsWith('"')
  return isQuoted ? identifier.slice(1, -1).replaceAll('""', '"') : identifier.toLowerCase()
}
