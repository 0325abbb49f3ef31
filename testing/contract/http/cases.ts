// The HTTP cases: one body, run over every way of serving the routes. A runner gives its `test` and how it serves.
import { attachmentCases } from './attachment-cases.js'
import { badRequestCases } from './bad-request-cases.js'
import { endAndFlowsCases } from './end-and-flows-cases.js'
import { eventCases } from './event-cases.js'
import { healthCases } from './health-cases.js'
import { openApiCases } from './openapi-cases.js'
import { partCases } from './part-cases.js'
import { policyCases } from './policy-cases.js'
import { rawCases } from './raw-cases.js'
import { runCases } from './run-cases.js'
import type { Serve, TestFunction } from './serve.js'
import { sessionCases } from './session-cases.js'
import { stateCases } from './state-cases.js'
import { streamCases } from './stream-cases.js'
import { ticketCases } from './ticket-cases.js'

/** Declares all HTTP cases. */
export function httpCases(test: TestFunction, serve: Serve): void {
  runCases(test, serve)
  rawCases(test, serve)
  endAndFlowsCases(test, serve)
  badRequestCases(test, serve)
  policyCases(test, serve)
  streamCases(test, serve)
  stateCases(test, serve)
  healthCases(test, serve)
  sessionCases(test, serve)
  eventCases(test, serve)
  ticketCases(test, serve)
  partCases(test, serve)
  attachmentCases(test, serve)
  openApiCases(test, serve)
}
