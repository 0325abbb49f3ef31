// The cases of events, parts and tickets over the Fetch handler, for the loop of development and the thresholds of
// coverage.
import { describe, test } from 'vitest'
import { eventCases } from '../../../testing/contract/http/event-cases.js'
import { partCases } from '../../../testing/contract/http/part-cases.js'
import type { Serve } from '../../../testing/contract/http/serve.js'
import { ticketCases } from '../../../testing/contract/http/ticket-cases.js'
import { createFetchHandler } from '../index.js'

const serve: Serve = (engine, options) => {
  const handler = createFetchHandler(engine, { ...options, basePath: '/ai' })
  return (path, init) => handler(new Request(`http://chat.example/ai${path}`, init))
}

describe('events', () => eventCases(test, serve))
describe('parts', () => partCases(test, serve))
describe('tickets', () => ticketCases(test, serve))
