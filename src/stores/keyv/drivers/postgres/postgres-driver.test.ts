import { describe, expect, test } from 'vitest'
import { swapOf } from '../../../../../testing/contract/stores/driver-cases.js'
import { isSqlAdapter, type SqlAdapter } from '../sql-adapter.js'
import { createPostgresDriver } from './postgres-driver.js'

const swap = swapOf('key', { expectedRevision: 'r1', revision: 'r2' })

const ready = { has_schema: true, has_tables: true, encoding: 'UTF8' }

/** An adapter that answers each statement with the result of `answer`: rows, or an error to throw. */
function fakeAdapter(
  answer: (statement: string, values: unknown) => object | Error,
  opts: SqlAdapter['opts'] = { dialect: 'postgres' },
): SqlAdapter & { readonly statements: string[] } {
  const statements: string[] = []
  return {
    opts,
    statements,
    async query(statement, values) {
      statements.push(statement)
      const answered = /server_encoding/.test(statement) ? ready : answer(statement, values)
      if (answered instanceof Error) throw answered
      return [answered]
    },
  }
}

const failure = (code: string): Error => Object.assign(new Error(`failed with ${code}`), { code })

describe('createPostgresDriver', () => {
  test('repeats a swap that another writer overtook, and uses the second result', async () => {
    const answers = [
      { written: 0, found: 'r1' },
      { written: 0, found: 'r9' },
    ]
    const driver = createPostgresDriver(fakeAdapter(() => answers.shift() as object))
    expect(await driver.swap(swap)).toBe('conflict')
    expect(answers).toEqual([])
  })

  test.each([
    [{ written: 1, found: 'r1' }, 'done'],
    [{ written: 0, found: 'r2' }, 'done'],
    [{ written: 0, found: 'r9' }, 'conflict'],
    [{ written: 0, found: null }, 'conflict'],
  ])('takes %j for %s', async (answer, outcome) => {
    const adapter = fakeAdapter(() => answer)
    expect(await createPostgresDriver(adapter).swap(swap)).toBe(outcome)
    expect(adapter.statements).toHaveLength(2)
  })

  test('rejects after twenty races in a row', async () => {
    const adapter = fakeAdapter(() => ({ written: 0, found: 'r1' }))
    const message = 'A session in Postgres was changed by others during each of 20 attempts.'
    await expect(createPostgresDriver(adapter).swap(swap)).rejects.toThrow(message)
    await expect(createPostgresDriver(adapter).remove('key')).rejects.toThrow(message)
  })

  test.each(['40001', '40P01'])('repeats a statement that failed with %s, up to twenty times', async (code) => {
    const answers = [failure(code), failure(code), { written: 1, found: 'r1' }]
    expect(await createPostgresDriver(fakeAdapter(() => answers.shift() as object)).swap(swap)).toBe('done')
    const adapter = fakeAdapter(() => failure(code))
    await expect(createPostgresDriver(adapter).swap(swap)).rejects.toMatchObject({ code })
    expect(adapter.statements).toHaveLength(1 + 20)
  })

  test('rejects with any other failure, and does not try again', async () => {
    const adapter = fakeAdapter(() => failure('57014'))
    await expect(createPostgresDriver(adapter).swap(swap)).rejects.toMatchObject({ code: '57014' })
    expect(adapter.statements).toHaveLength(2)
  })

  test.each(['23505', '42P07'])('finds tables that another process creates at the same moment (%s)', async (code) => {
    const states = [{ ...ready, has_schema: false, has_tables: false }, ready]
    const created: string[] = []
    const driver = createPostgresDriver({
      opts: { schema: 'talks' },
      async query(statement) {
        if (/server_encoding/.test(statement)) return [states.shift()]
        if (!statement.includes('CREATE')) return []
        created.push(statement)
        if (statement.includes('CREATE TABLE')) throw failure(code)
        return []
      },
    })
    expect(await driver.read('key', [])).toBeUndefined()
    expect(created[0]).toBe('CREATE SCHEMA IF NOT EXISTS "talks"')
  })

  test('stops creating tables after twenty attempts, or at once without permission; the next call tries again', async () => {
    for (const [code, attempts] of [
      ['23505', 20],
      ['42501', 1],
    ] as const) {
      let tries = 0
      const driver = createPostgresDriver({
        opts: {},
        async query(statement) {
          if (/server_encoding/.test(statement)) return [{ ...ready, has_tables: false }]
          tries++
          throw failure(code)
        },
      })
      await expect(driver.read('key', [])).rejects.toMatchObject({ code })
      expect(tries).toBe(attempts)
      await expect(driver.read('key', [])).rejects.toMatchObject({ code })
      expect(tries).toBe(2 * attempts)
    }
  })

  test("names its tables as Postgres reads the adapter's table name", async () => {
    const names = async (opts: SqlAdapter['opts']): Promise<string | undefined> => {
      const adapter = fakeAdapter(() => ({ revision: 'r1', head: '{}' }), opts)
      await createPostgresDriver(adapter).read('key', [])
      return /FROM (\S+)/.exec(adapter.statements[1] ?? '')?.[1]
    }
    expect(await names({})).toBe('"public"."keyv_session"')
    expect(await names({ schema: 'Talks', table: 'Sessions' })).toBe('"talks"."sessions_session"')
    expect(await names({ schema: '"My""Talks"', table: '"A b"'.replace(' ', '_') })).toBe('"My""Talks"."A_b_session"')
  })

  test('refuses a table name that Postgres would truncate', () => {
    expect(() => createPostgresDriver(fakeAdapter(() => ready, { table: 't'.repeat(48) }))).not.toThrow()
    expect(() => createPostgresDriver(fakeAdapter(() => ready, { table: 't'.repeat(49) }))).toThrow(
      `The Postgres table name '${'t'.repeat(49)}' is longer than 48 bytes.`,
    )
  })

  test('closes an adapter that has no disconnect', async () => {
    const driver = createPostgresDriver(fakeAdapter(() => ready))
    await driver.close()
    await expect(driver.readAll('key')).rejects.toThrow('The Postgres driver is closed.')
  })
})

describe('isSqlAdapter', () => {
  const query = async (): Promise<unknown> => []
  test.each([
    [{ opts: { dialect: 'postgres' }, query }, true],
    [{ opts: { dialect: 'sqlite' }, query }, false],
    [{ opts: { dialect: 'postgres' } }, false],
    [{ query }, false],
    [{ opts: null, query }, false],
    [undefined, false],
    [null, false],
    [new Map(), false],
  ])('of %j is %s', (adapter, expected) => {
    expect(isSqlAdapter(adapter, 'postgres')).toBe(expected)
  })
})
