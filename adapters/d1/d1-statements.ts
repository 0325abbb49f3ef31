/**
 * The SQL of the D1 driver. D1 runs the statements of a batch in one transaction, but a statement cannot see the result
 * of another. So the first statement of a write marks the row with a token unique to this attempt, and the following
 * ones change nothing unless the row has the token.
 */

/** The database's clock, in milliseconds since 1970. It is constant within a statement, not within a batch. */
const now = "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
const isLive = `(expires_at IS NULL OR expires_at > ${now})`
/** The mark of a removed session is a row whose revision, head and owner are empty. */
const isStored = `revision <> '' AND ${isLive}`
/** Null if neither a time to live nor a latest expiry is given. */
const expiry = (ttl: string, latest: string): string =>
  `min(ifnull(${now} + ${ttl}, ${latest}), ifnull(${latest}, ${now} + ${ttl}))`

/** The row of a session, if this attempt wrote it. */
const written = '(SELECT id FROM turnkeeper_session WHERE key = ?1 AND attempt = ?2)'

/** Run in one batch; each is safe to repeat. A text is the rest of a long head, or a chunk. */
export const createTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS turnkeeper_session (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    revision TEXT NOT NULL,
    attempt TEXT NOT NULL,
    expires_at INTEGER,
    owner TEXT NOT NULL,
    head TEXT NOT NULL
  )`,
  `CREATE TABLE IF NOT EXISTS turnkeeper_text (
    session_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    part INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (session_id, name, part)
  )`,
  `CREATE TABLE IF NOT EXISTS turnkeeper_claim (
    key TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    expires_at INTEGER NOT NULL
  )`,
  'CREATE INDEX IF NOT EXISTS turnkeeper_session_owner ON turnkeeper_session (owner, id)',
  `CREATE INDEX IF NOT EXISTS turnkeeper_session_expiry ON turnkeeper_session (expires_at)
    WHERE expires_at IS NOT NULL`,
  'CREATE INDEX IF NOT EXISTS turnkeeper_claim_expiry ON turnkeeper_claim (expires_at)',
  `CREATE TRIGGER IF NOT EXISTS turnkeeper_session_deleted AFTER DELETE ON turnkeeper_session
    BEGIN DELETE FROM turnkeeper_text WHERE session_id = OLD.id; END`,
]

/** Reads the row of a key. The head is left out if the caller knows the revision. */
export const readHead: string = `SELECT revision, CASE WHEN revision IS ?2 THEN '' ELSE head END AS head
  FROM turnkeeper_session WHERE key = ?1 AND ${isStored}`

/** Selects texts by name: the head, and the names in a list. */
const named = "name IN (SELECT 'head' UNION ALL SELECT value FROM json_each(?3))"

const readTexts = `SELECT name, part, body FROM turnkeeper_text
  WHERE session_id = (SELECT id FROM turnkeeper_session WHERE key = ?1 AND revision IS NOT ?2)`

/** The rest of the head, and the texts of a list of names. */
export const readSomeTexts: string = `${readTexts}
  AND ${named} ORDER BY name, part`
export const readAllTexts: string = `${readTexts} ORDER BY name, part`

/** Overwrites an expired row. */
export const insert: string = `INSERT INTO turnkeeper_session (key, revision, attempt, expires_at, owner, head)
    VALUES (?1, ?2, ?3, ${expiry('?4', '?5')}, ?6, ?7)
  ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, attempt = excluded.attempt,
    expires_at = excluded.expires_at, owner = excluded.owner, head = excluded.head
  WHERE NOT ${isLive}`

export const update: string = `UPDATE turnkeeper_session
  SET revision = ?2, attempt = ?3, expires_at = ${expiry('?4', '?5')}, head = ?6
  WHERE key = ?1 AND revision = ?7 AND revision <> ?2 AND ${isStored}`

export const removeAllTexts: string = `DELETE FROM turnkeeper_text WHERE session_id = ${written}`
/** The rest of the head, and the texts of a list of names. */
export const removeSomeTexts: string = `${removeAllTexts}
  AND ${named}`

/** D1 takes 100 parameters: two, and three for each text. */
export const mostTexts = 32

/** @param count - the number of texts */
export function insertTexts(count: number): string {
  const rows = Array.from({ length: count }, (_, row) => `(?${3 * row + 3}, ?${3 * row + 4}, ?${3 * row + 5})`)
  return `INSERT INTO turnkeeper_text (session_id, name, part, body)
    SELECT session.id, text.column1, text.column2, text.column3
    FROM turnkeeper_session AS session, (VALUES ${rows.join(', ')}) AS text
    WHERE session.key = ?1 AND session.attempt = ?2`
}

/** Reads the stored row after a write, even if it has just expired. */
export const readOutcome: string = `SELECT revision FROM turnkeeper_session
  WHERE key = ?1 AND (attempt = ?2 OR ${isLive})`

export const remove: string = `DELETE FROM turnkeeper_session
  WHERE key = ?1 AND (revision <> '' AND (?2 IS NULL OR revision = ?2) OR NOT ${isLive})`
/** Leaves a mark if the row was removed, or there was none. */
export const mark: string = `INSERT INTO turnkeeper_session (key, revision, attempt, expires_at, owner, head)
    VALUES (?1, '', '', ${now} + ?2, '', '')
  ON CONFLICT (key) DO NOTHING`
export const readMark: string = `SELECT 1 FROM turnkeeper_session WHERE key = ?1 AND revision = '' AND ${isLive}`
export const readRevision: string = `SELECT revision FROM turnkeeper_session WHERE key = ?1 AND ${isStored}`

export const claim: string = `INSERT INTO turnkeeper_claim (key, session_id, expires_at) VALUES (?1, ?2, ${now} + ?3)
  ON CONFLICT (key) DO UPDATE SET session_id = excluded.session_id, expires_at = excluded.expires_at
  WHERE turnkeeper_claim.expires_at <= ${now}`
export const readClaim = 'SELECT session_id FROM turnkeeper_claim WHERE key = ?1'

export const readOwned: string = `SELECT 1 FROM turnkeeper_session WHERE key = ?1 AND owner = ?2 AND ${isStored}`

/** Limited, because the texts of a session are deleted with it. */
export const purgeSessions: string = `DELETE FROM turnkeeper_session
  WHERE id IN (SELECT id FROM turnkeeper_session WHERE expires_at <= ${now} LIMIT ?1) RETURNING revision`
export const purgeClaims: string = `DELETE FROM turnkeeper_claim
  WHERE key IN (SELECT key FROM turnkeeper_claim WHERE expires_at <= ${now} LIMIT ?1) RETURNING key`

const page = (columns: string, owner: string): string =>
  `SELECT ${columns} FROM turnkeeper_session WHERE id > CAST(?1 AS INTEGER)${owner} AND ${isStored} ORDER BY id LIMIT ?2`

/** Reads a page of the sessions of `owner`, or of all if it is `undefined`: the beginnings of their heads. */
export function listHeads(owner: string | undefined): string {
  return page('id, key, revision, head', owner === undefined ? '' : ' AND owner = ?3')
}

/** Reads the rest of the long heads among them. */
export const readHeads = `SELECT session_id, name, part, body FROM turnkeeper_text
  WHERE name = 'head' AND session_id IN (SELECT value FROM json_each(?1)) ORDER BY session_id, part`
