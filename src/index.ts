/**
 * The engine, flows, steps, tools, errors and the memory store: the parts that an application needs to define and run
 * conversations.
 *
 * @module turnkeeper
 */

// Keep this list by hand.

// Replies

export { HttpContentType } from './util/http-content-type.js'

// Errors

export {
  BudgetExceededError,
  InvalidInputError,
  ModelBlockedError,
  ModelError,
} from './errors/engine-errors.js'
export type { FlowErrorCode } from './errors/error-facts.js'
export type { AnyFlowError } from './errors/flow-error.js'
export { FlowError } from './errors/flow-error.js'
export {
  SessionConflictError,
  SessionFlowInvariantError,
  SessionFlowMismatchError,
  SessionStoreError,
} from './errors/session-errors.js'

// Sessions and stores

export type { FlowSession } from './session/flow-session.js'
export type { LockEvent } from './session/lock/lock-request.js'
export type { SessionDocument } from './session/session-document.js'
export type {
  SessionListQuery,
  SessionSaveHint,
  SessionStore,
  SessionSummary,
  UnderReplicatedReport,
} from './session/session-store.js'
export type { MemorySessionBacking } from './stores/memory/memory-store.js'
export { MemorySessionStore } from './stores/memory/memory-store.js'

// Settings and time

export type { Clock } from './config/clock.js'
export type { ConfigReader } from './config/config-manager.js'
export { ConfigManager } from './config/config-manager.js'

// Models

export type {
  FilePart,
  FinishReason,
  ImagePart,
  Message,
  MessagePart,
  ReasoningPart,
  StoredMessage,
  TextPart,
  TokenUsage,
  ToolCallPart,
  ToolDefinition,
  ToolResultPart,
} from './model/message.js'
export type { ModelBudgets } from './model/model-budget.js'
export type {
  Model,
  ModelChoice,
  ModelFailure,
  ModelProviderAdapter,
  ModelRequest,
  ModelResponse,
  ModelSelection,
  ModelStreamPart,
  ResolvedModelSelection,
  RuntimeModel,
} from './model/model-provider.js'
export type { ReplyPart } from './model/reply-part.js'

// Flows and their steps

export type { Awaitable, BaseStep, StepConstructor } from './flow/base-step.js'
export type {
  CompactionPolicy,
  FlowCompaction,
} from './flow/compaction.js'
export { End, EndStep } from './flow/end-step.js'
export type { EventOptions, FlowEvent } from './flow/event.js'
export { event } from './flow/event.js'
export type { FlowConstructor } from './flow/flow.js'
export { Flow } from './flow/flow.js'
export type { FlowConstructorMap, FlowRegistration } from './flow/flow-registry.js'
export { LogicStep } from './flow/logic-step.js'
export { Step } from './flow/step.js'
export type { Tool, ToolCall, ToolOptions } from './flow/tool.js'
export { ToolError, tool } from './flow/tool.js'
export type { ReplyContent, StateOf, Transition } from './flow/transition.js'
export { back, call, finish, go, reply, retry, stay } from './flow/transition.js'
export type { FlowLogger, FlowServices, ModelBlockedDetails, Turn } from './flow/turn.js'
export type { JsonObject, JsonValue } from './util/json.js'

// The engine

export type { EngineEventMap } from './engine/core/engine-events.js'
export type { EngineLimits } from './engine/core/engine-limits.js'
export type {
  DeleteResult,
  ExecuteDeleteResult,
  ExecuteResult,
  FlowEngineOptions,
  FlowRunInput,
  RunResponseType,
  SendEventInput,
} from './engine/core/engine-options.js'
export type { FlowStream, FlowStreamEvent } from './engine/core/flow-stream.js'
export { FlowEngine } from './engine/flow-engine.js'
