import { expect, test } from 'vitest'
import { createSqliteKeyv } from './create-sqlite-keyv.js'

test('without @keyv/sqlite, which is not installed here, createSqliteKeyv names the command that installs it and its requirements', async () => {
  const failed = createSqliteKeyv()
  await expect(failed).rejects.toMatchObject({ code: 'INVALID_INPUT', cause: expect.anything() })
  await expect(failed).rejects.toThrow(
    'Sessions in SQLite need two packages: npm install keyv@5 @keyv/sqlite@4 (its native module sqlite3 is built on ' +
      'installation, which needs python3, make and a C++ compiler; npm 11 wants its install script approved: ' +
      'npm approve-scripts sqlite3, then npm rebuild sqlite3)',
  )
})

test.each([
  [{ busyTimeoutMs: 0 }, 'busyTimeoutMs must be a number above 0; got 0.'],
  [{ ttlMs: Number.NaN }, 'ttlMs must be a number above 0; got NaN.'],
  [{ ttlMs: '5' as never }, "ttlMs must be a number above 0; got the text '5'."],
  [{ lease: { ttlMs: 0 } }, 'lease.ttlMs must be a number above 0; got 0.'],
  [{ lease: true as never }, 'lease must be an object.'],
])('refuses %j', async (options, problem) => {
  await expect(createSqliteKeyv('a.sqlite', options)).rejects.toThrow(`createSqliteKeyv: ${problem}`)
})
