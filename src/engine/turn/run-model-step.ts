/**
 * A model step: calls the model, runs the tools it asks for, and goes on until there is an answer or a move. Every
 * tool call gets its result in memory, whatever happens to it.
 */
import { flowCodeError, type ModelBlockedError } from '../../errors/engine-errors.js'
import { FlowError } from '../../errors/flow-error.js'
import { message, namespaceOf, textMessage } from '../../flow/conversation-memory.js'
import { Step } from '../../flow/step.js'
import type { Tool } from '../../flow/tool.js'
import { Transition } from '../../flow/transition.js'
import type { TextPart, ToolCallPart, ToolDefinition } from '../../model/message.js'
import { callModel, type ModelAnswer, textOf } from '../model-call/call-model.js'
import { modelError } from '../model-call/model-answer.js'
import type { StepRun } from './run-steps.js'
import { runTool, toolResult } from './run-tool.js'
import { outputOf, readOutput } from './structured-output.js'

/** How a model step ended: with a text that was sent as it was stored, or with a transition. */
export type ModelStepOutcome = { readonly text: string } | { readonly transition: Transition }

/** Runs a model step until it answers or moves on. */
export async function runModelStep(
  run: StepRun,
  step: Step,
  stepId: string,
  extraPrompt: string | undefined,
): Promise<ModelStepOutcome> {
  const { draft, turn, control } = run
  const models = run.modelsOf(stepId)
  const namespace = namespaceOf(step, stepId)
  const output = outputOf(step, stepId)
  const streams = step.stream ?? (output === undefined && step.onReply === Step.prototype.onReply)
  let repairs = 0
  draft.memory.hear(namespace, turn.message, turn.number, turn.attachments)
  for (;;) {
    // What is there at once is not waited for, here and below: each wait costs as much as a hook does.
    const offered = run.flow.tools(turn)
    const shared = Array.isArray(offered) ? offered : await offered
    const offeredByStep = step.tools(turn)
    const own = Array.isArray(offeredByStep) ? offeredByStep : await offeredByStep
    control.check()
    const tools = byName([...shared, ...own], stepId)
    const asked: unknown = step.prompt(turn)
    const prompt: unknown = typeof asked === 'string' ? asked : await asked
    control.check()
    if (typeof prompt !== 'string') throw flowCodeError(`prompt of step '${stepId}' must return a string.`)
    const messages = draft.memory.messages(namespace)
    const system = joinPrompts(prompt, extraPrompt)
    let answered: ModelAnswer
    try {
      answered = await callModel(run, {
        stepId,
        models,
        system,
        messages,
        tools: definitionsOf(tools),
        output,
        streams,
      })
    } catch (error) {
      return { transition: await recover(run, step, stepId, error) }
    }
    const { parts, resolved } = answered
    draft.answeredBy(stepId, resolved.selection)
    const calls = parts.filter((part): part is ToolCallPart => part.type === 'tool-call')
    if (calls.length > 0) {
      control.stream?.reset('tools')
      draft.memory.append(namespace, message('assistant', parts, turn.number))
      const transition = await runCalls(run, calls, tools, namespace, stepId)
      if (transition !== undefined) return { transition }
      continue
    }
    const said = parts.flatMap((part) => (part.type === 'text' ? spoken(part) : []))
    const text = textOf(said)
    let value: unknown = text
    let problem: string | undefined
    if (step.output !== undefined) {
      const read = await readOutput(step.output, text, stepId)
      control.check()
      if ('value' in read) value = read.value
      else problem = read.problem
    }
    let feedback: string
    if (problem === undefined) {
      const reply = step.onReply(value as string, turn)
      const answer = typeof reply === 'string' ? reply : await reply
      control.check()
      if (typeof answer === 'string') {
        // What was sent is what is remembered.
        draft.memory.append(namespace, textMessage('assistant', answer, turn.number))
        return { text: answer }
      }
      if (!Transition.isInstance(answer)) {
        throw flowCodeError(`onReply of step '${stepId}' must return a text, retry(...) or a transition.`)
      }
      draft.memory.append(namespace, message('assistant', said, turn.number))
      if (answer.fields.kind !== 'stay') return { transition: answer }
      feedback = retryReason(answer, stepId)
    } else {
      if (repairs++ >= step.maxRepairs) {
        const detail = `Its answer does not have the form of output of step '${stepId}': ${problem}.`
        return { transition: await recover(run, step, stepId, modelError(resolved, detail)) }
      }
      draft.memory.append(namespace, message('assistant', said, turn.number))
      feedback = `Your answer does not have the required form: ${problem}. Answer again, with JSON of that form and nothing else.`
    }
    control.stream?.reset('repair')
    draft.memory.append(namespace, textMessage('user', feedback, turn.number))
    const { provider, name } = resolved.selection
    const reason = problem === undefined ? 'reply' : 'output'
    control.emit('model:retry', { step: stepId, provider, model: name, callNumber: run.modelCalls, reason, delayMs: 0 })
  }
}

/**
 * Asks the step, then the flow, what becomes of a turn whose model did not answer.
 *
 * @throws The error, where neither says.
 */
async function recover(run: StepRun, step: Step, stepId: string, error: unknown): Promise<Transition> {
  const { turn, control, flow } = run
  control.check()
  if (!FlowError.isInstance(error)) throw error
  let hook: 'onModelError' | 'onModelBlocked'
  let details: unknown = error
  if (error.code === 'MODEL_BLOCKED') {
    hook = 'onModelBlocked'
    const { provider, model } = error as ModelBlockedError
    details = { provider, model, step: stepId, error }
  } else if (error.code === 'MODEL_ERROR' || error.code === 'BUDGET_EXCEEDED') hook = 'onModelError'
  else throw error
  for (const asked of [step, flow]) {
    const returned: unknown = await asked[hook](details as never, turn)
    control.check()
    if (Transition.isInstance(returned)) return returned
    if (returned !== undefined) {
      const whose = asked === step ? `step '${stepId}'` : `flow '${control.flowName}'`
      throw flowCodeError(`${hook} of ${whose} must return nothing or a transition.`)
    }
  }
  throw error
}

/** A text without what its provider wants back: after an answer, nothing goes on from it. */
function spoken(part: TextPart): TextPart {
  return part.providerData === undefined ? part : Object.freeze({ type: 'text', text: part.text })
}

function retryReason(answer: Transition, stepId: string): string {
  const { feedback } = answer.fields
  if (feedback !== undefined) return feedback
  throw flowCodeError(`onReply of step '${stepId}' returned stay() without a text.`)
}

const noTools: ReadonlyMap<string, Tool> = new Map()

function byName(offered: readonly Tool[], stepId: string): ReadonlyMap<string, Tool> {
  if (offered.length === 0) return noTools
  const tools = new Map<string, Tool>()
  for (const tool of offered) {
    if (tools.has(tool.name)) throw flowCodeError(`Step '${stepId}' offers two tools with the name '${tool.name}'.`)
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
  const { draft, turn, control } = run
  let transition: Transition | undefined
  for (const call of calls) {
    if (transition !== undefined) {
      const skipped = toolResult(call, 'Not run: an earlier call moved the conversation on.', true)
      draft.memory.append(namespace, message('tool', [skipped], turn.number))
      continue
    }
    // A reader that is slow holds tools back, as it does text.
    const room = control.stream?.room()
    if (room !== undefined) await room
    const outcome = await runTool(call, tools, turn, control, stepId)
    draft.memory.append(namespace, message('tool', [outcome.result], turn.number))
    transition = outcome.transition
  }
  return transition
}

function definitionsOf(tools: ReadonlyMap<string, Tool>): readonly ToolDefinition[] {
  const definitions: ToolDefinition[] = []
  for (const { name, description, inputSchema } of tools.values()) definitions.push({ name, description, inputSchema })
  return definitions
}

/** The system prompt of a call; none where it is empty. */
function joinPrompts(prompt: string, extra: string | undefined): string | undefined {
  return [prompt, extra ?? ''].filter((part) => part !== '').join('\n\n') || undefined
}
