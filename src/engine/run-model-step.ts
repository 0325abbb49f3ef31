/**
 * A model step: calls the model, runs the tools it asks for, and goes on until there is an answer or a move. Every
 * tool call gets its result in memory, whatever happens to it.
 */
import { FlowCodeError } from '../errors/engine-errors.js'
import { FlowError } from '../errors/flow-error.js'
import { message, textMessage } from '../flow/conversation-memory.js'
import type { Step } from '../flow/step.js'
import type { Tool } from '../flow/tool.js'
import { Transition } from '../flow/transition.js'
import type { Message, MessagePart, TextPart, TokenUsage, ToolCallPart, ToolDefinition } from '../model/message.js'
import type { ResolvedModel } from '../model/model-registry.js'
import { withoutCredentials } from '../model/model-selection.js'
import { limitExceeded } from './engine-limits.js'
import { modelError, partsOf, spend, usageOf } from './model-answer.js'
import { ModelCall } from './model-call.js'
import type { StepRun } from './run-steps.js'
import { runTool, toolResult } from './run-tool.js'

/** How a model step ended: with a text that was sent as it was stored, or with a transition. */
export type ModelStepOutcome = { readonly text: string } | { readonly transition: Transition }

/** Where the messages of a model step are kept. */
export function namespaceOf(step: Step, stepId: string): string {
  const namespace: unknown = step.memory ?? stepId
  if (typeof namespace === 'string' && namespace !== '' && namespace !== '__proto__') return namespace
  throw new FlowCodeError({
    message: `The memory namespace of step '${stepId}' must be a string that is not empty, and not '__proto__'.`,
  })
}

/** Runs a model step until it answers or moves on. */
export async function runModelStep(
  run: StepRun,
  step: Step,
  stepId: string,
  extraPrompt: string | undefined,
): Promise<ModelStepOutcome> {
  const { draft, turn, scope } = run
  const resolved = run.modelOf(stepId)
  const namespace = namespaceOf(step, stepId)
  draft.memory.hear(namespace, turn.message, turn.number)
  draft.answeredBy(stepId, withoutCredentials(resolved.selection))
  for (;;) {
    // What is there at once is not waited for, here and below: each wait costs as much as a hook does.
    const offered = run.flow.tools(turn)
    const shared = Array.isArray(offered) ? offered : await offered
    const offeredByStep = step.tools(turn)
    const own = Array.isArray(offeredByStep) ? offeredByStep : await offeredByStep
    scope.check()
    const tools = byName([...shared, ...own], stepId)
    const parts = await callModel(run, step, stepId, resolved, namespace, tools, extraPrompt)
    const calls = parts.filter((part): part is ToolCallPart => part.type === 'tool-call')
    if (calls.length > 0) {
      draft.memory.append(namespace, message('assistant', parts, turn.number))
      const transition = await runCalls(run, calls, tools, namespace, stepId)
      if (transition !== undefined) return { transition }
      continue
    }
    const said = parts.flatMap((part) => (part.type === 'text' ? spoken(part) : []))
    const text = said.map((part) => part.text).join('')
    const reply = step.onReply(text, turn)
    const answer = typeof reply === 'string' ? reply : await reply
    scope.check()
    if (typeof answer === 'string') {
      // What was sent is what is remembered.
      draft.memory.append(namespace, textMessage('assistant', answer, turn.number))
      return { text: answer }
    }
    if (!Transition.isInstance(answer)) {
      throw new FlowCodeError({
        message: `onReply of step '${stepId}' must return a text, retry(...) or a transition.`,
      })
    }
    draft.memory.append(namespace, message('assistant', said, turn.number))
    if (answer.fields.kind !== 'stay') return { transition: answer }
    draft.memory.append(namespace, textMessage('user', retryReason(answer, stepId), turn.number))
    const { provider, name } = resolved.selection
    scope.emit('model:retry', { step: stepId, provider, model: name, callNumber: run.modelCalls })
  }
}

/** A text without what its provider wants back: after an answer, nothing goes on from it. */
function spoken(part: TextPart): TextPart {
  return part.providerData === undefined ? part : Object.freeze({ type: 'text', text: part.text })
}

function retryReason(answer: Transition, stepId: string): string {
  const { feedback } = answer.fields
  if (feedback !== undefined) return feedback
  throw new FlowCodeError({
    message: `onReply of step '${stepId}' returned stay() without a text.`,
  })
}

const noTools: ReadonlyMap<string, Tool> = new Map()

function byName(offered: readonly Tool[], stepId: string): ReadonlyMap<string, Tool> {
  if (offered.length === 0) return noTools
  const tools = new Map<string, Tool>()
  for (const tool of offered) {
    if (tools.has(tool.name))
      throw new FlowCodeError({ message: `Step '${stepId}' offers two tools with the name '${tool.name}'.` })
    tools.set(tool.name, tool)
  }
  return tools
}

async function runCalls(
  run: StepRun,
  calls: readonly ToolCallPart[],
  tools: ReadonlyMap<string, Tool>,
  namespace: string,
  stepId: string,
): Promise<Transition | undefined> {
  const { draft, turn, scope } = run
  let transition: Transition | undefined
  for (const call of calls) {
    if (transition !== undefined) {
      const skipped = toolResult(call, 'Not run: an earlier call of this reply moved the conversation on.', true)
      draft.memory.append(namespace, message('tool', [skipped], turn.number))
      continue
    }
    const outcome = await runTool(call, tools, turn, scope, stepId)
    draft.memory.append(namespace, message('tool', [outcome.result], turn.number))
    transition = outcome.transition
  }
  return transition
}

async function callModel(
  run: StepRun,
  step: Step,
  stepId: string,
  resolved: ResolvedModel,
  namespace: string,
  tools: ReadonlyMap<string, Tool>,
  extraPrompt: string | undefined,
): Promise<readonly MessagePart[]> {
  const { draft, turn, scope } = run
  const { limits, clock } = scope.parts
  if (run.modelCalls >= limits.maxModelCallsPerTurn) {
    throw limitExceeded(limits, 'maxModelCallsPerTurn', `The number of model calls in step '${stepId}'`)
  }
  const asked: unknown = step.prompt(turn)
  const prompt: unknown = typeof asked === 'string' ? asked : await asked
  scope.check()
  if (typeof prompt !== 'string')
    throw new FlowCodeError({ message: `prompt of step '${stepId}' must return a string.` })
  const callNumber = ++run.modelCalls
  const request = requestOf(
    run,
    stepId,
    resolved,
    draft.memory.messages(namespace),
    tools,
    joinPrompts(prompt, extraPrompt),
    callNumber,
  )
  const { provider, name } = resolved.selection
  const names = { step: stepId, provider, model: name, callNumber }
  const startedAt = clock.now()
  let usage: TokenUsage = { inputTokens: 0, outputTokens: 0 }
  let success = false
  draft.usage.modelCalls++
  scope.emit('model:start', names)
  try {
    const response = await resolved.model.generate(request)
    scope.check()
    usage = usageOf(response)
    spend(draft.usage, usage)
    const parts = partsOf(response, resolved, limits.maxJsonDepth)
    success = true
    return parts
  } catch (cause) {
    throw FlowError.isInstance(cause) ? cause : modelError(resolved, undefined, cause)
  } finally {
    if (scope.isHeard('model:end')) {
      scope.emit('model:end', { ...names, durationMs: clock.now() - startedAt, success, ...usage })
    }
  }
}

function requestOf(
  run: StepRun,
  stepId: string,
  resolved: ResolvedModel,
  messages: readonly Message[],
  tools: ReadonlyMap<string, Tool>,
  system: string,
  callNumber: number,
): ModelCall {
  const { scope, turn } = run
  const { flowName, sessionId } = scope
  const definitions: ToolDefinition[] = []
  for (const { name, description, inputSchema } of tools.values()) definitions.push({ name, description, inputSchema })
  const { params } = resolved.selection
  const origin = { flowName, stepId, sessionId, turnNumber: turn.number, callNumber, attempt: 1 }
  return new ModelCall(scope, system, { messages, tools: definitions, params, origin })
}

function joinPrompts(prompt: string, extra: string | undefined): string {
  if (extra === undefined) return prompt
  return prompt === '' ? extra : `${prompt}\n\n${extra}`
}
