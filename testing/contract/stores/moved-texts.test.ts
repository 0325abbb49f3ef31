/** Decides that the encryption of the page refuses texts that were moved, over the real databases. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Keyv } from 'keyv'
import { afterAll, beforeAll, describe, vi } from 'vitest'
import { encrypt } from '../../../examples/stores/encrypt.js'
import type { SqlAdapter } from '../../../src/stores/keyv/drivers/sql-adapter.js'
import {
  createPostgresKeyv,
  createRedisKeyv,
  createSqliteKeyv,
  KeyvSessionStore,
} from '../../../src/stores/keyv/index.js'
import { isPostgresMissing, type PostgresServer, startPostgres } from '../servers/postgres-server.js'
import { isRedisMissing, type RedisServer, startRedis } from '../servers/redis-server.js'
import { type MovedTextBackend, movedTextCases } from './moved-text-cases.js'
import { redisClient } from './redis-client.js'
import { isSqliteMissing, loadSqlitePackage } from './sqlite-package.js'

vi.mock('@keyv/sqlite', () => loadSqlitePackage())

const secret = crypto.getRandomValues(new Uint8Array(32))

function encrypted(make: () => Promise<Keyv>): () => Promise<KeyvSessionStore> {
  return async () => new KeyvSessionStore({ keyv: await encrypt(await make(), { current: 'a', keys: { a: secret } }) })
}

/** The tables of both SQL drivers are alike. The texts have no quotes. */
function overSql(make: () => Promise<Keyv>): MovedTextBackend {
  async function query(statement: string): Promise<Record<string, string>[]> {
    const keyv = await make()
    try {
      return (await (keyv.store as SqlAdapter).query(statement)) as Record<string, string>[]
    } finally {
      await keyv.disconnect()
    }
  }
  const isOf = (sessionId: string): string => `key = 'turnkeeper:${sessionId}'`
  const idOf = (sessionId: string): string => `(SELECT id FROM turnkeeper_session WHERE ${isOf(sessionId)})`
  return {
    open: encrypted(make),
    async texts(sessionId) {
      const [row] = await query(`SELECT revision, head FROM turnkeeper_session WHERE ${isOf(sessionId)}`)
      const chunks = await query(`SELECT name, body FROM turnkeeper_chunk WHERE session_id = ${idOf(sessionId)}`)
      return { ...row, ...Object.fromEntries(chunks.map(({ name, body }) => [name, body])) }
    },
    async put(sessionId, texts) {
      for (const [name, text] of Object.entries(texts)) {
        const isChunk = name.includes('#')
        const chunk = `UPDATE turnkeeper_chunk SET body = '${text}' WHERE session_id = ${idOf(sessionId)} AND name = '${name}'`
        await query(isChunk ? chunk : `UPDATE turnkeeper_session SET ${name} = '${text}' WHERE ${isOf(sessionId)}`)
      }
    },
  }
}

describe.skipIf(isRedisMissing)('in Redis', () => {
  let server: RedisServer
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server?.close())
  movedTextCases(() => {
    const send = (words: readonly string[]): Promise<unknown> => redisClient(server.url, (client) => client.send(words))
    return {
      open: encrypted(() => createRedisKeyv(server.url)),
      texts: async (sessionId) => {
        const fields = (await send(['HGETALL', `turnkeeper::${sessionId}`])) as string[]
        return Object.fromEntries(
          fields.flatMap((field, index) => (index % 2 ? [] : [[field, fields[index + 1] ?? '']])),
        )
      },
      put: async (sessionId, texts) => {
        await send(['HSET', `turnkeeper::${sessionId}`, ...Object.entries(texts).flat()])
      },
    }
  })
})

describe.skipIf(isSqliteMissing)('in SQLite (needs npm ci --prefix testing/contract/sqlite)', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnkeeper-moved-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  movedTextCases(() => overSql(() => createSqliteKeyv(join(folder, 'moved.sqlite'))))
})

describe.skipIf(isPostgresMissing)('in Postgres', () => {
  let server: PostgresServer
  beforeAll(async () => {
    server = await startPostgres()
  })
  afterAll(() => server?.close())
  movedTextCases(() => overSql(() => createPostgresKeyv(server.url, { maxConnections: 1 })))
})
