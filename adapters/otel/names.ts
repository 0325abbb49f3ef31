/**
 * The names of spans, attributes and metrics. Those that begin with `gen_ai.` or `error.` are OpenTelemetry's, as in
 * its semantic conventions 1.41 (the last list that has the GenAI names), read on 2026-11-23: `names.test.ts` has that
 * list. They are still in development, so a later version may rename them. All others belong to this package.
 * `docs/observability.md` has the tables.
 */

/** The values of `gen_ai.operation.name`, which also begin the names of spans. */
export const operation = { turn: 'invoke_workflow', model: 'chat', tool: 'execute_tool' } as const

/** Attributes by their purpose. */
export const attribute = {
  // On more than one kind of span.
  operationName: 'gen_ai.operation.name',
  conversationId: 'gen_ai.conversation.id',
  errorType: 'error.type',
  // On turns.
  workflowName: 'gen_ai.workflow.name',
  turnId: 'turnkeeper.turn.id',
  requestId: 'turnkeeper.request.id',
  event: 'turnkeeper.event',
  completed: 'turnkeeper.turn.completed',
  outcome: 'turnkeeper.turn.outcome',
  // On steps and their calls.
  step: 'turnkeeper.step',
  // On model attempts.
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
  // Texts of the conversation: only with `content: true`.
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  systemInstructions: 'gen_ai.system_instructions',
  // On tools.
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  // On operations of the session store.
  storeOperation: 'turnkeeper.store.operation',
} as const

/** Metrics by their purpose. */
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
