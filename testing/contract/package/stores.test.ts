/** Checks what an application gets if it names a store whose packages it has not installed. */
import { expect, test } from 'vitest'
import { project, run } from './run.js'

const program = `
import { FlowEngine } from 'turnkeeper'
await FlowEngine.create().then(
  () => console.log('made'),
  (error) => console.log(error.code, error.message),
)
`

test.each([
  ['redis', 'INVALID_INPUT Sessions in Redis need two packages: npm install keyv@5 @keyv/redis@5'],
  ['sqlite', 'INVALID_INPUT Sessions in SQLite need two packages: npm install keyv@5 @keyv/sqlite@4'],
  ['postgres', 'INVALID_INPUT Sessions in Postgres need'],
])('SESSION_STORE=%s says what to install', (store, message) => {
  const folder = project(`stores-${store}`, { 'start.mjs': program })
  const before = { store: process.env.SESSION_STORE, url: process.env.POSTGRES_URL }
  process.env.SESSION_STORE = store
  process.env.POSTGRES_URL = 'postgres://127.0.0.1:1/none'
  try {
    expect(run(folder, 'start.mjs').output).toContain(message)
  } finally {
    restore('SESSION_STORE', before.store)
    restore('POSTGRES_URL', before.url)
  }
})

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
