import { expect, test } from 'vitest'
import { ConfigManager } from '../config/config-manager.js'
import { FlowEngine, type FlowEngineOptions, MemorySessionStore, type SessionStore } from '../index.js'

/** The warnings of an engine when a handler without `authorize` is made. */
function warningsOf(options: FlowEngineOptions): string[] {
  const texts: string[] = []
  const ignore = (): void => undefined
  const logger = { debug: ignore, info: ignore, error: ignore, warn: (text: string) => void texts.push(text) }
  new FlowEngine({ logger, ...options }).warnOpenHandler('flowRoutes')
  return texts
}

const inProduction = new ConfigManager({ values: { NODE_ENV: 'production' } })
const open =
  "flowRoutes: everyone may call these routes, because there is no authorize. Set authorize, or authorize: 'none' if everyone may."

test('in production a handler without authorize is reported, with the memory store', () => {
  expect(warningsOf({ configManager: inProduction })).toEqual([
    `${open} Sessions are in the memory of this process, where a flood of requests evicts them: keep public traffic in Redis, Postgres or the store of your platform.`,
  ])
})

test('over another store only the handler is reported', () => {
  const memory = new MemorySessionStore()
  const sessionStore: SessionStore = {
    guarantees: memory.guarantees,
    load: (sessionId) => memory.load(sessionId),
    create: (document) => memory.create(document),
    save: (document, revision) => memory.save(document, revision),
    delete: (sessionId, revision) => memory.delete(sessionId, revision),
    close: () => memory.close(),
  }
  expect(warningsOf({ configManager: inProduction, sessionStore })).toEqual([open])
})

test('elsewhere nothing is reported, and a reader that throws for unknown settings does no harm', () => {
  expect(warningsOf({ configManager: new ConfigManager({ values: { NODE_ENV: 'development' } }) })).toEqual([])
  const strict = {
    get(key: string): string {
      if (key === 'SESSION_STORE') return 'memory'
      throw new Error(`There is no setting ${key}.`)
    },
  }
  expect(warningsOf({ configManager: strict })).toEqual([])
})

test('a logger that throws does not fail the handler', () => {
  const logger = {
    ...{ debug: () => undefined, info: () => undefined, error: () => undefined },
    warn: () => Promise.reject(new Error('The log is full.')),
  } as unknown as Required<FlowEngineOptions>['logger']
  expect(() => new FlowEngine({ configManager: inProduction, logger }).warnOpenHandler('flowRoutes')).not.toThrow()
})
