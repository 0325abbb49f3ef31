/**
 * The entry point `turnkeeper/testing/msw`: a flow service for the tests of a front end, played by MSW.
 *
 * @module turnkeeper/testing/msw
 */
export type { FlowServiceHandlers, FlowServiceOptions, ScriptedFlowServiceOptions } from './flow-service-handlers.js'
export { flowServiceHandlers } from './flow-service-handlers.js'
export type {
  BrokenServiceTurn,
  FailedServiceTurn,
  FlowServiceRun,
  FlowServiceScript,
  ServiceReply,
  ServiceTurn,
  ServiceTurnFunction,
  UnreachedServiceTurn,
} from './service-turn.js'
