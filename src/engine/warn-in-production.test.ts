import { expect, test } from 'vitest'
import { ConfigManager } from '../config/config-manager.js'
import { FlowEngine, type FlowEngineOptions, MemorySessionStore, type SessionStore } from '../index.js'

/** The warnings of an engine after a call. */
function warningsOf(options: FlowEngineOptions): string[] {
  const texts: string[] = []
  const ignore = (): void => undefined
  const logger = { debug: ignore, info: ignore, error: ignore, warn: (text: string) => void texts.push(text) }
  new FlowEngine({ logger, ...options }).warnInProduction('Open.', 'In memory.')
  return texts
}

const inProduction = new ConfigManager({ values: { NODE_ENV: 'production' } })
test('in production the warning is logged, with the text for the memory store', () => {
  expect(warningsOf({ configManager: inProduction })).toEqual(['Open. In memory.'])
})

test('over another store the text for the memory store is left out', () => {
  const memory = new MemorySessionStore()
  const sessionStore: SessionStore = {
    guarantees: memory.guarantees,
    load: (sessionId) => memory.load(sessionId),
    create: (document) => memory.create(document),
    save: (document, revision) => memory.save(document, revision),
    delete: (sessionId, revision) => memory.delete(sessionId, revision),
    close: () => memory.close(),
  }
  expect(warningsOf({ configManager: inProduction, sessionStore })).toEqual(['Open.'])
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

test('a logger that throws does not fail the call', () => {
  const logger = {
    ...{ debug: () => undefined, info: () => undefined, error: () => undefined },
    warn: () => Promise.reject(new Error('The log is full.')),
  } as unknown as Required<FlowEngineOptions>['logger']
  expect(() =>
    new FlowEngine({ configManager: inProduction, logger }).warnInProduction('Open.', 'In memory.'),
  ).not.toThrow()
})
