// In its own file, because the mocked packages would also be mocked in later tests of the same file.
import { expect, test, vi } from 'vitest'

test.each(['keyv', '@keyv/postgres', 'pg'])(
  'createPostgresKeyv without %s says which command installs what it needs',
  async (name) => {
    vi.resetModules()
    vi.doMock(name, () => {
      throw new Error(`Cannot find package '${name}'`)
    })
    try {
      const fresh = await import('./create-postgres-keyv.js')
      const failed = fresh.createPostgresKeyv('postgres://127.0.0.1:1/app')
      await expect(failed).rejects.toMatchObject({ code: 'INVALID_INPUT', cause: expect.anything() })
      await expect(failed).rejects.toThrow(
        'Sessions in Postgres need three packages: npm install keyv@5 @keyv/postgres@2 pg@8',
      )
    } finally {
      vi.doUnmock(name)
    }
  },
)
