/**
 * `turnkeeper/testing`: a conversation tested without a network, a clock or luck. Takes no test runner for granted.
 */

export type { ConversationOptions, SayInput } from './conversation/conversation.js'
export { Conversation } from './conversation/conversation.js'
export type { ConversationStream } from './conversation/conversation-stream.js'
export type { ConversationReply, MadeToolCall } from './conversation/conversation-turn.js'
export type { ConversationWorldOptions } from './conversation/conversation-world.js'
export type { ExpectedToolCall, PartOf, ReplySchema } from './conversation/expectations.js'
export { ExpectationError } from './expectations/expectation-error.js'
export { FakeSessionStore } from './fake-session-store/fake-session-store.js'
export type { FakeStoreAim, FakeStoreEffect, FakeStoreFault } from './fake-session-store/faults.js'
export type { ExpectedStoreCall, FakeStoreCall, FakeStoreOperation } from './fake-session-store/journal.js'
export type {
  FailOptions,
  FakeSessionStoreOptions,
  HangOptions,
  OutageOptions,
  RivalOptions,
  RivalWriteOptions,
} from './fake-session-store/options.js'
export type {
  CoverageGap,
  CoveredStep,
  CoveredTool,
  CoveredTransition,
  FlowCoverageOfFlow,
  FlowCoverageReport,
} from './flow-coverage/coverage-report.js'
export type { ExpectFullOptions, FlowCoverage, FlowCoverageOptions } from './flow-coverage/flow-coverage.js'
export { coverageOf } from './flow-coverage/flow-coverage.js'
export type { CoveredStepKind } from './flow-coverage/flow-outline.js'
export type { LockGate, LockProbeOptions } from './lock-probe/lock-probe.js'
export { LockProbe } from './lock-probe/lock-probe.js'
export type { RecordedToolCall, RecordedTurn } from './recording/recorded-turn.js'
export type { Recording, RecordingOptions, ReplayOptions } from './recording/recording.js'
export { recordingOf, replay } from './recording/recording.js'
export type {
  AskedExpectation,
  ModelScript,
  RecordedRequest,
  ScriptedAnswer,
  ScriptedFailure,
  ScriptedModelOptions,
  ScriptedProvider,
  ScriptedReplies,
  ScriptedReply,
  ScriptedReplyFunction,
  ScriptedToolCall,
} from './scripted-model/scripted-model.js'
export { ScriptedModel, scriptedProvider } from './scripted-model/scripted-model.js'
export type { Actor, ActorView } from './simulate/plan.js'
export type { SimulateOptions, SimulationResult } from './simulate/simulate.js'
export { simulate } from './simulate/simulate.js'
export type { Invariant, SimulatedTurn } from './simulate/simulated-turn.js'
export type {
  ModelProviderSuiteOptions,
  ModelSuiteAnswer,
  ModelSuiteCall,
  ModelSuiteFailure,
  ModelSuiteReply,
  ModelSuiteSubject,
} from './suites/providers/model-provider-suite.js'
export { modelProviderSuite } from './suites/providers/model-provider-suite.js'
export type { SessionStoreSuiteOptions, SuiteTest } from './suites/stores/session-store-suite.js'
export { sessionStoreSuite } from './suites/stores/session-store-suite.js'
export type { ToolDouble, ToolDoubleCall, ToolDoubleFunction, ToolDoubleResult } from './tool-doubles/tool-doubles.js'
export { ToolDoubles } from './tool-doubles/tool-doubles.js'
export type { RunUntilOptions } from './virtual-clock/virtual-clock.js'
export { VirtualClock } from './virtual-clock/virtual-clock.js'
