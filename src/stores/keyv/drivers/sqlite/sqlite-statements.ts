/**
 * The SQL of the SQLite driver. Each statement is its own transaction: a swap writes its chunks to a column of the
 * session's row, and triggers move them to the table of chunks before the statement ends.
 */
import type { SqlLeaseStatements } from '../sql-leases.js'

/** The statements over one set of tables. */
export interface SqliteStatements extends SqlLeaseStatements {
  /** Counts the tables, indexes and triggers of {@link SqliteStatements.create} that exist. */
  readonly countObjects: string
  /** The number of these objects if all exist. */
  readonly objects: number
  /** Run them one by one, in this order. Each may be run again. */
  readonly create: readonly string[]
  readonly readRevision: string
  readonly readHead: string
  readonly readChunks: string
  readonly readAll: string
  readonly insert: string
  readonly update: string
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

/** The database's clock, in milliseconds since 1970. It is constant within a statement. */
const now = "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
const isLive = `(expires_at IS NULL OR expires_at > ${now})`
/** The mark of a removed session is a row whose revision, head and owner are empty. */
const isStored = `revision <> '' AND ${isLive}`
/** Null if neither a time to live nor a latest expiry is given. */
const expiry = (ttl: string, latest: string): string =>
  `min(ifnull(${now} + ${ttl}, ${latest}), ifnull(${latest}, ${now} + ${ttl}))`
const chunkList = 'SELECT json_group_array(json_array(chunk.name, chunk.body))'

/** @param table - The adapter's own table. */
export function sqliteStatements(table: string): SqliteStatements {
  const quote = (suffix: string): string => `"${`${table}${suffix}`.replaceAll('"', '""')}"`
  const session = quote('_session')
  const chunk = quote('_chunk')
  const claim = quote('_claim')
  const tables = ['_session', '_chunk', '_claim']
  const indexes = ['_session_expiry', '_session_owner', '_claim_expiry']
  const triggers = ['_session_inserted', '_session_updated', '_session_deleted']
  const names = [...tables, ...indexes, ...triggers]
  const literals = names.map((suffix) => `'${`${table}${suffix}`.replaceAll("'", "''")}'`).join(', ')
  // In `added`, a chunk to store is a list of name and text, and a chunk to remove is its name.
  const removeChunks = `
    DELETE FROM ${chunk} WHERE session_id = NEW.id
      AND name IN (SELECT value FROM json_each(NEW.added) WHERE type = 'text');`
  const addChunks = `
    INSERT OR REPLACE INTO ${chunk} (session_id, name, body)
      SELECT NEW.id, value ->> 0, value ->> 1 FROM json_each(NEW.added) WHERE type = 'array';
    UPDATE ${session} SET added = NULL WHERE id = NEW.id;`
  // An expired row is overwritten, and its chunks are removed: `replaces` is always set.
  const insert = `INSERT INTO ${session} (key, revision, expires_at, replaces, head, added, owner)
        VALUES (?1, ?2, ${expiry('?3', '?6')}, 1, ?4, ?5, ?7)
      ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, expires_at = excluded.expires_at,
        replaces = 1, head = excluded.head, added = excluded.added, owner = excluded.owner
      WHERE NOT ${isLive} RETURNING 1`
  const rows = (condition: string, limit: string): string =>
    `SELECT id, key, revision, head FROM ${session} WHERE ${condition} AND ${isStored} ORDER BY id LIMIT ${limit}`
  return {
    countObjects: `SELECT count(*) AS objects FROM sqlite_master WHERE name IN (${literals})`,
    objects: names.length,
    create: [
      'PRAGMA journal_mode = WAL',
      `CREATE TABLE IF NOT EXISTS ${session} (
        id INTEGER PRIMARY KEY,
        key TEXT COLLATE BINARY NOT NULL UNIQUE,
        revision TEXT COLLATE BINARY NOT NULL,
        expires_at INTEGER,
        replaces INTEGER NOT NULL DEFAULT 0,
        head TEXT NOT NULL,
        added TEXT,
        owner TEXT COLLATE BINARY NOT NULL
      )`,
      `CREATE TABLE IF NOT EXISTS ${chunk} (
        session_id INTEGER NOT NULL,
        name TEXT COLLATE BINARY NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (session_id, name)
      )`,
      `CREATE TABLE IF NOT EXISTS ${claim} (
        key TEXT COLLATE BINARY NOT NULL PRIMARY KEY,
        session_id TEXT NOT NULL,
        expires_at INTEGER NOT NULL
      )`,
      `CREATE INDEX IF NOT EXISTS ${quote('_session_expiry')} ON ${session} (expires_at) WHERE expires_at IS NOT NULL`,
      // Every index of SQLite includes the row's ID.
      `CREATE INDEX IF NOT EXISTS ${quote('_session_owner')} ON ${session} (owner)`,
      `CREATE INDEX IF NOT EXISTS ${quote('_claim_expiry')} ON ${claim} (expires_at)`,
      `CREATE TRIGGER IF NOT EXISTS ${quote('_session_inserted')} AFTER INSERT ON ${session}
        WHEN NEW.added IS NOT NULL BEGIN ${addChunks} END`,
      `CREATE TRIGGER IF NOT EXISTS ${quote('_session_updated')} AFTER UPDATE ON ${session}
        WHEN NEW.added IS NOT NULL BEGIN
          DELETE FROM ${chunk} WHERE session_id = NEW.id AND NEW.replaces;
          ${removeChunks} ${addChunks} END`,
      `CREATE TRIGGER IF NOT EXISTS ${quote('_session_deleted')} AFTER DELETE ON ${session}
        BEGIN DELETE FROM ${chunk} WHERE session_id = OLD.id; END`,
    ],
    readRevision: `SELECT revision FROM ${session} WHERE key = ?1 AND ${isStored}`,
    readHead: `SELECT revision, head FROM ${session} WHERE key = ?1 AND ${isStored}`,
    readChunks: `SELECT revision, head, (${chunkList} FROM ${chunk} AS chunk
        WHERE chunk.session_id = session.id AND chunk.name IN (SELECT value FROM json_each(?2))) AS chunks
      FROM ${session} AS session WHERE key = ?1 AND ${isStored}`,
    readAll: `SELECT revision, head, (${chunkList} FROM ${chunk} AS chunk
        WHERE chunk.session_id = session.id) AS chunks
      FROM ${session} AS session WHERE key = ?1 AND ${isStored}`,
    insert,
    update: `UPDATE ${session} SET revision = ?2, expires_at = ${expiry('?3', '?8')}, head = ?4, added = ?5, replaces = ?7
      WHERE key = ?1 AND revision = ?6 AND revision <> ?2 AND ${isStored} RETURNING 1`,
    // A mark replaces the row, and an empty list of chunks all of its chunks. A mark that is there stays as it is.
    remove: `INSERT INTO ${session} (key, revision, expires_at, replaces, head, added, owner)
        VALUES (?1, '', ${now} + ?3, 1, '', '[]', '')
      ON CONFLICT (key) DO UPDATE SET revision = '', expires_at = excluded.expires_at, replaces = 1, head = '',
        added = '[]', owner = ''
      WHERE revision <> '' AND (?2 IS NULL OR revision = ?2) OR NOT ${isLive} RETURNING 1`,
    readMark: `SELECT 1 FROM ${session} WHERE key = ?1 AND revision = '' AND ${isLive}`,
    purge: `DELETE FROM ${session} WHERE id IN (
        SELECT id FROM ${session} WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ?1) RETURNING revision`,
    // A live row is written unchanged, so that the statement returns it.
    claim: `INSERT INTO ${claim} (key, session_id, expires_at) VALUES (?1, ?2, ${now} + ?3)
      ON CONFLICT (key) DO UPDATE SET
        session_id = CASE WHEN ${isLive} THEN session_id ELSE excluded.session_id END,
        expires_at = CASE WHEN ${isLive} THEN expires_at ELSE excluded.expires_at END
      RETURNING session_id`,
    purgeClaims: `DELETE FROM ${claim} WHERE key IN (
        SELECT key FROM ${claim} WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ?1) RETURNING 1`,
    // A token that has the lease takes it again: its first reply may have been lost.
    takeLease: `INSERT INTO ${claim} (key, session_id, expires_at) VALUES (?1, ?2, ${now} + ?3)
      ON CONFLICT (key) DO UPDATE SET session_id = excluded.session_id, expires_at = excluded.expires_at
      WHERE expires_at <= ${now} OR session_id = excluded.session_id RETURNING 1`,
    renewLease: `UPDATE ${claim} SET expires_at = ${now} + ?3 WHERE key = ?1 AND session_id = ?2 RETURNING 1`,
    releaseLease: `DELETE FROM ${claim} WHERE key = ?1 AND session_id = ?2 RETURNING 1`,
    readOwned: `SELECT 1 FROM ${session} WHERE key = ?1 AND owner = ?2 AND ${isStored}`,
    list: rows('id > ?1', '?2'),
    listOwned: rows('owner = ?1 AND id > ?2', '?3'),
  }
}
