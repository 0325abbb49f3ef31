/**
 * The baseline: what a careful developer writes over a backend without a library: the whole document as one JSON text,
 * loaded, changed and saved only over the revision that was loaded. Two round trips a turn.
 *
 * F3  Redis: a hash; HGET, and a script that compares the revision and sets both fields
 * F6  a SQLite file (WAL, synchronous = NORMAL): SELECT, and UPDATE ... WHERE revision = ?
 * F7  Postgres: the same through a pool, with prepared statements
 */
import { promisify } from 'node:util'
import { createClient } from '@keyv/redis'
import pg from 'pg'
import { answer, respond, stepCount, userMessage } from './work.mjs'

const swap = `
if redis.call('HGET', KEYS[1], 'revision') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'revision', ARGV[2], 'document', ARGV[3])
return 1`

/** F3. */
export async function createF3(url) {
  const client = createClient({ url })
  client.on('error', () => {})
  await client.connect()
  const script = await client.scriptLoad(swap)
  return createFloor({
    insert: (id, json) => client.hSet(id, { revision: '1', document: json }),
    read: (id) => client.hGet(id, 'document'),
    async update(id, expected, revision, json) {
      const words = { keys: [id], arguments: [String(expected), String(revision), json] }
      return (await client.evalSha(script, words)) === 1
    },
    remove: (id) => client.del(id),
    close: () => client.close(),
  })
}

/** F6. @param sqlite3 - The native module. */
export async function createF6(sqlite3, file) {
  const database = new sqlite3.Database(file)
  await promisify(database.exec).call(
    database,
    `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
     CREATE TABLE floor (id TEXT PRIMARY KEY, revision INTEGER, document TEXT)`,
  )
  const prepare = (text) => database.prepare(text)
  const select = prepare('SELECT document FROM floor WHERE id = ?')
  const update = prepare('UPDATE floor SET revision = ?, document = ? WHERE id = ? AND revision = ?')
  const insert = prepare('INSERT INTO floor VALUES (?, 1, ?)')
  const remove = prepare('DELETE FROM floor WHERE id = ?')
  const get = promisify(select.get).bind(select)
  // Not promisified, because the number of changed rows is on `this`.
  const run = (statement, ...values) =>
    new Promise((resolve, reject) => {
      statement.run(...values, function onDone(error) {
        if (error === null) resolve(this.changes)
        else reject(error)
      })
    })
  return createFloor({
    insert: (id, json) => run(insert, id, json),
    read: async (id) => (await get(id))?.document,
    update: async (id, expected, revision, json) => (await run(update, revision, json, id, expected)) === 1,
    remove: (id) => run(remove, id),
    async close() {
      for (const statement of [select, update, insert, remove]) await promisify(statement.finalize).call(statement)
      await promisify(database.close).call(database)
    },
  })
}

/** F7. */
export async function createF7(url) {
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  await pool.query('CREATE TABLE floor (id text PRIMARY KEY, revision int, document text)')
  const query = (name, text, values) => pool.query({ name, text, values })
  return createFloor({
    insert: (id, json) => query('insert', 'INSERT INTO floor VALUES ($1, 1, $2)', [id, json]),
    async read(id) {
      const { rows } = await query('select', 'SELECT document FROM floor WHERE id = $1', [id])
      return rows[0]?.document
    },
    async update(id, expected, revision, json) {
      const text = 'UPDATE floor SET revision = $1, document = $2 WHERE id = $3 AND revision = $4'
      return (await query('update', text, [revision, json, id, expected])).rowCount === 1
    },
    remove: (id) => query('remove', 'DELETE FROM floor WHERE id = $1', [id]),
    close: () => pool.end(),
  })
}

function createFloor({ insert, read, update, remove, close }) {
  let started = 0
  return {
    /** Stores a session with so many messages. */
    async seed(length) {
      const id = `floor-${++started}`
      const document = newDocument(id, length)
      await insert(id, JSON.stringify(document))
      return id
    },
    async turn(id) {
      const json = await read(id)
      if (typeof json !== 'string') throw new Error(`The floor has no session '${id}'.`)
      const document = JSON.parse(json)
      const { messages } = document
      messages.push({ role: 'user', content: userMessage(1) })
      const { text } = await callModel(messages)
      messages.push({ role: 'assistant', content: text })
      document.step = (document.step + 1) % stepCount
      const loaded = document.revision++
      if (!(await update(id, loaded, document.revision, JSON.stringify(document)))) {
        throw new Error('Another request changed the session.')
      }
    },
    /** A new session with its first turn. */
    async begin() {
      const id = await this.seed(0)
      await this.turn(id)
      return id
    },
    async load(id) {
      JSON.parse(await read(id))
    },
    remove,
    close,
  }
}

function newDocument(id, length) {
  const messages = Array.from({ length }, (_, index) =>
    index % 2 === 0 ? { role: 'user', content: userMessage(index / 2 + 1) } : { role: 'assistant', content: answer },
  )
  return {
    id,
    revision: 1,
    flow: { name: 'Support' },
    step: 0,
    runStatus: 'running',
    context: {},
    error: [],
    messages,
  }
}

async function callModel(messages) {
  return respond(messages.at(-1).role, false)
}
