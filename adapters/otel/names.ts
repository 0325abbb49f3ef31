/**
 * The names of spans, attributes and metrics. Those that begin with `gen_ai.` or `error.` are OpenTelemetry's, as in
 * its semantic conventions 1.41 (the last list that has the GenAI names), read on 2026-11-23: `names.test.ts` has that
 * list. They are in development there, so that a later list may rename them. All others are this package's own.
 * `docs/observability.md` has them as tables.
 */

/** What `gen_ai.operation.name` is, and how the name of a span begins. */
export const operation = { turn: 'invoke_workflow', model: 'chat', tool: 'execute_tool' } as const

/** Attributes by what they are for. */
export const attribute = {
  // Of more than one kind of span.
  operationName: 'gen_ai.operation.name',
  conversationId: 'gen_ai.conversation.id',
  errorType: 'error.type',
  // Of a turn.
  workflowName: 'gen_ai.workflow.name',
  turnId: 'turnkeeper.turn.id',
  requestId: 'turnkeeper.request.id',
  completed: 'turnkeeper.turn.completed',
  outcome: 'turnkeeper.turn.outcome',
  // Of a step, and of what it calls.
  step: 'turnkeeper.step',
  // Of an attempt at a model.
  providerName: 'gen_ai.provider.name',
  requestModel: 'gen_ai.request.model',
  modelCall: 'turnkeeper.model.call',
  modelAttempt: 'turnkeeper.model.attempt',
  modelCost: 'turnkeeper.model.cost',
  // Tokens: the counts on spans, and which of them a metric counts.
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedInputTokens: 'gen_ai.usage.cache_read.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  tokenType: 'gen_ai.token.type',
  // What was said: only with `content: true`.
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  systemInstructions: 'gen_ai.system_instructions',
  // Of a tool.
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  // Of an operation of the session store.
  storeOperation: 'turnkeeper.store.operation',
} as const

/** Metrics by what they count. */
export const metric = {
  tokens: 'gen_ai.client.token.usage',
  modelDuration: 'gen_ai.client.operation.duration',
  turns: 'turnkeeper.turns',
  failures: 'turnkeeper.turn.failures',
  turnDuration: 'turnkeeper.turn.duration',
  turnWait: 'turnkeeper.turn.wait',
  conflicts: 'turnkeeper.session.conflicts',
  storeDuration: 'turnkeeper.store.duration',
  cost: 'turnkeeper.model.cost',
} as const
