import { describe, expect, test } from 'vitest'
import type { SqlAdapter } from '../sql-adapter.js'
import { createSqliteDriver } from './sqlite-driver.js'

const busy = Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' })

/** An adapter that records its statements; `answer` answers them. */
function fakeAdapter(
  answer: (statement: string) => Promise<unknown[]>,
  opts: SqlAdapter['opts'] = { dialect: 'sqlite', uri: 'sqlite://a.sqlite' },
): SqlAdapter & { readonly statements: string[] } {
  const statements: string[] = []
  return {
    opts,
    statements,
    query(statement) {
      statements.push(statement)
      return statement.includes('sqlite_master') ? Promise.resolve([{ objects: 9 }]) : answer(statement)
    },
  }
}

describe('createSqliteDriver', () => {
  test('runs one statement at a time, in the order of the calls', async () => {
    let running = 0
    const keys: unknown[] = []
    const driver = createSqliteDriver({
      opts: {},
      async query(statement, key) {
        expect(++running).toBe(1)
        await Promise.resolve()
        running--
        if (statement.startsWith('SELECT revision')) keys.push(key)
        return statement.includes('sqlite_master') ? [{ objects: 9 }] : []
      },
    })
    await Promise.all(['a', 'b', 'c'].map((key) => driver.read(key, [])))
    expect(keys).toEqual(['a', 'b', 'c'])
  })

  test.each(['SQLITE_BUSY', 'SQLITE_LOCKED'])(
    'tries again after %s, and runs other statements meanwhile',
    async (code) => {
      let refusals = 3
      const adapter = fakeAdapter(async (statement) => {
        if (statement.startsWith('INSERT') && refusals-- > 0) throw Object.assign(new Error('locked'), { code })
        return statement.startsWith('INSERT') ? [{ 1: 1 }] : []
      })
      const driver = createSqliteDriver(adapter)
      const removal = driver.remove('key')
      expect(await driver.read('key', [])).toBeUndefined()
      expect(await removal).toBe('done')
      expect(adapter.statements.filter((statement) => statement.startsWith('INSERT'))).toHaveLength(4)
    },
  )

  test('rejects after its timeout, and at once for any other failure', async () => {
    const locked = fakeAdapter(() => Promise.reject(busy), { busyTimeout: 30 })
    await expect(createSqliteDriver(locked).read('key', [])).rejects.toBe(busy)
    expect(locked.statements.length).toBeGreaterThan(1)
    const broken = fakeAdapter(() => Promise.reject(new Error('malformed')))
    await expect(createSqliteDriver(broken).read('key', [])).rejects.toThrow('malformed')
    expect(broken.statements).toHaveLength(1)
  })

  test('sets up again after a failure', async () => {
    let isBroken = true
    const driver = createSqliteDriver(fakeAdapter(async () => (isBroken ? Promise.reject(new Error('broken')) : [])))
    await expect(driver.read('key', [])).rejects.toThrow('broken')
    isBroken = false
    expect(await driver.read('key', [])).toBeUndefined()
  })

  test('creates missing tables, and nothing if all exist', async () => {
    const whole = fakeAdapter(async () => [])
    await createSqliteDriver(whole).read('key', [])
    expect(whole.statements.filter((statement) => statement.startsWith('CREATE'))).toEqual([])
    const empty = {
      ...whole,
      made: [] as string[],
      async query(statement: string) {
        if (statement.startsWith('CREATE')) this.made.push(/"(\w+)"/.exec(statement)?.[1] ?? '')
        return []
      },
    }
    await createSqliteDriver(empty).read('key', [])
    const tables = ['session', 'chunk', 'claim', 'session_expiry', 'session_owner', 'claim_expiry']
    const triggers = ['session_inserted', 'session_updated', 'session_deleted']
    expect(empty.made).toEqual([...tables, ...triggers].map((name) => `keyv_${name}`))
  })

  test.each([
    [undefined, 'FULL'],
    ['full', 'FULL'],
    ['normal', 'NORMAL'],
  ])('with synchronous %s commits with %s', async (synchronous, expected) => {
    const adapter = fakeAdapter(async () => [], synchronous === undefined ? {} : { synchronous })
    await createSqliteDriver(adapter).read('key', [])
    expect(adapter.statements).toContain(`PRAGMA synchronous = ${expected}`)
    expect(adapter.statements).toContain('PRAGMA secure_delete = ON')
  })

  test.each([
    ['sqlite://a.sqlite', true],
    ['/var/lib/a.sqlite', true],
    ['sqlite://:memory:', false],
    ['sqlite://', false],
    [undefined, false],
  ])('over %s is durable: %s', (uri, durable) => {
    const opts = uri === undefined ? {} : { uri }
    expect(createSqliteDriver(fakeAdapter(async () => [], opts)).guarantees.durable).toBe(durable)
  })

  test('close() ends the wait for a locked file at once, and does not wait for an adapter without disconnect', async () => {
    const driver = createSqliteDriver(fakeAdapter(() => Promise.reject(busy), { busyTimeout: 3_600_000 }))
    const read = expect(driver.read('key', [])).rejects.toThrow('The SQLite driver is closed.')
    await driver.close()
    await read
  })
})
