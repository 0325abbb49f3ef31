/**
 * What the HTTP adapters need of an engine. The type is narrower than the engine, so that an application can wrap it
 * (to count turns, for instance) and a test can fake it.
 */
import type { FlowEngine } from '../../../src/index.js'

/**
 * The part of a `FlowEngine` that the routes use. `getSession` and `getSummary` may reject with a `FlowError`, which
 * becomes the reply. None of the others may reject or throw.
 *
 * Without `stream` every reply is sent whole, whatever the client asks for; without `cancel` no turn is cancelled;
 * without `getFlow` the option `authorizeFlow` refuses former names of flows; without `reportRefused` there is no event
 * `auth:refused`; without `textOfRefusal` refused requests get the adapter's own sentences; without `warnInProduction`
 * nothing warns that `authorize` is missing; without `getSummary` each request for news loads the session. The option
 * `tickets` needs `sendEvent` and `getSummary`, the option `health` needs `isReady`, the options `session` and
 * `authorizeFlow` need `getSession`.
 */
export type ServedEngine = Pick<FlowEngine, 'execute' | 'executeDelete' | 'getFlowNames' | 'limits'> &
  Partial<
    Pick<
      FlowEngine,
      | 'stream'
      | 'cancel'
      | 'getFlow'
      | 'reportRefused'
      | 'textOfRefusal'
      | 'warnInProduction'
      | 'isReady'
      | 'getSession'
      | 'getSummary'
      | 'sendEvent'
    >
  >
