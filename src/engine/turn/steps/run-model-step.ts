/**
 * Runs a model step: calls the model, runs the tools that it calls, and repeats until there is an answer or a
 * transition. Every tool call gets a result in memory, even if it fails.
 */
import { flowCodeError } from '../../../errors/engine-errors.js'
import { message, namespaceOf, textMessage } from '../../../flow/conversation-memory.js'
import { Step } from '../../../flow/step.js'
import type { Tool } from '../../../flow/tool.js'
import { returnsToModel, Transition } from '../../../flow/transition.js'
import type { TextPart, ToolDefinition } from '../../../model/message.js'
import type { ModelOutputSchema } from '../../../model/model-provider.js'
import type { ResolvedModel } from '../../../model/model-registry.js'
import { isPromise } from '../../../util/observed-promise.js'
import { limitExceeded } from '../../core/engine-limits.js'
import { chooseModel } from '../../model-call/choose-model.js'
import { type ModelAnswer, modelError, textOf } from '../../model-call/model-answer.js'
import type { ModelQuestion } from '../../model-call/model-attempt.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { lateCode } from '../events/late-code.js'
import { runTools } from '../tools/run-tools.js'
import { recoverFromModel } from './recover-from-model.js'
import { outputOf, readOutput } from './structured-output.js'
import type { TurnView } from './turn-view.js'

type Tools = ReadonlyMap<string, Tool>

const noTools: Tools = new Map()

/** The end of a model step: a text that was sent as stored, or a transition. */
export type ModelStepOutcome = { readonly text: string } | { readonly transition: Transition }

/** Why the model must answer again: its answer does not fit `output`, or `onReply` wants another. */
interface Rejection {
  readonly reason: 'output' | 'reply'
  readonly problem: string
}

/** A running model step. */
interface Running {
  readonly control: TurnControl
  readonly draft: TurnDraft
  readonly turn: TurnView
  readonly step: Step
  /** The namespace of the step's memory. */
  readonly namespace: string
}

/** Runs a model step, the current one, until it answers or moves on. */
export async function runModelStep(
  control: TurnControl,
  draft: TurnDraft,
  turn: TurnView,
  step: Step,
): Promise<ModelStepOutcome> {
  const { memory, stepId } = draft
  const namespace = namespaceOf(step, stepId)
  const output = outputOf(step, stepId)
  const running = { control, draft, turn, step, namespace }
  let repairs = 0
  memory.appendUserMessage(namespace, turn.message, turn.number, attachmentsFor(turn))
  for (;;) {
    // Flow code usually returns synchronously. Then there is no `await`, during which the turns of all other sessions
    // would run first: see docs/decisions/turn-structure.md for the cost.
    const offered = offeredTools(running)
    const tools = isPromise(offered) ? await offered : offered
    control.work.check()
    const returned = step.prompt(turn)
    const prompt = isPromise(returned) ? await returned : returned
    control.work.check()
    const question = questionOf(running, output, prompt, tools)
    let answer: ModelAnswer
    try {
      answer = await chooseModel(control, draft, question)
    } catch (error) {
      return { transition: await recoverFromModel(control, draft, turn, step, error) }
    }
    const outcome = await useAnswer(running, answer, tools, repairs)
    if (outcome !== undefined && !('reason' in outcome)) return outcome
    if (outcome?.reason === 'output') repairs++
  }
}

/** What came with a question in between is not for the steps that run after it is answered. */
function attachmentsFor({ answered, attachments }: TurnView): TurnView['attachments'] {
  return answered === undefined ? attachments : []
}

function questionOf(
  { draft, step, namespace }: Running,
  output: ModelOutputSchema | undefined,
  prompt: unknown,
  tools: Tools,
): ModelQuestion {
  const { memory, stepId } = draft
  return {
    stepId,
    models: draft.steps.modelsOf(stepId),
    system: systemPrompt(prompt, draft),
    messages: memory.messages(namespace),
    tools: definitionsOf(tools),
    output,
    modelTimeoutMs: step.modelTimeoutMs,
    streams: step.stream ?? (output === undefined && step.onReply === Step.prototype.onReply),
  }
}

/**
 * Runs the tools that an answer calls, or lets the step decide about its text.
 *
 * @param repairs - How often the model was asked again because an answer did not fit `output`.
 * @returns the end of the step; or the reason if the model must answer again; or `undefined` after tools
 */
function useAnswer(
  running: Running,
  answer: ModelAnswer,
  tools: Tools,
  repairs: number,
): Promise<ModelStepOutcome | Rejection | undefined> {
  const { control, draft, turn, step, namespace } = running
  draft.answeredBy(draft.stepId, answer.resolved.selection)
  const calls = answer.parts.filter((part) => part.type === 'tool-call')
  if (calls.length === 0) return takeAnswer(running, answer, repairs)
  countToolCalls(control, draft, calls.length)
  control.stream?.reset('tools')
  draft.memory.append(namespace, message('assistant', answer.parts, turn.number))
  return runTools({ control, draft, turn, step, tools }, calls, namespace).then(
    (transition) => transition && { transition },
  )
}

/** @throws `LimitExceededError` if an answer asks for too many calls, before any of them runs */
function countToolCalls({ engine: { limits } }: TurnControl, draft: TurnDraft, calls: number): void {
  draft.askedToolCalls += calls
  if (draft.askedToolCalls <= limits.maxToolCallsPerTurn) return
  throw limitExceeded(limits, 'maxToolCallsPerTurn', `The number of tool calls in step '${draft.stepId}'`)
}

/** The tools of the flow and of the step, by name; synchronous if flow code returns them synchronously. */
function offeredTools({ control, draft, turn, step }: Running): Tools | PromiseLike<Tools> {
  const { flow, steps, stepId } = draft
  if (steps.scopeOf(stepId) !== steps.root) {
    return lateCode(control.engine).then(({ toolsOfFlows }) => toolsOfFlows(draft, turn, step))
  }
  const ofFlow = flow.tools(turn)
  const ofStep = isPromise(ofFlow) ? ofFlow.then(() => step.tools(turn)) : step.tools(turn)
  if (!isPromise(ofFlow) && !isPromise(ofStep)) return toolsByName([...ofFlow, ...ofStep], stepId)
  return Promise.all([ofFlow, ofStep]).then(([first, second]) => toolsByName([...first, ...second], stepId))
}

/** @throws `FlowCodeError` for two tools with one name */
export function toolsByName(offered: readonly Tool[], stepId: string): Tools {
  if (offered.length === 0) return noTools
  const tools = new Map<string, Tool>()
  for (const tool of offered) {
    if (tools.has(tool.name)) throw flowCodeError(`Step '${stepId}' offers two tools with the name '${tool.name}'.`)
    tools.set(tool.name, tool)
  }
  return tools
}

function definitionsOf(tools: Tools): readonly ToolDefinition[] {
  return Array.from(tools.values(), ({ name, description, inputSchema }) => ({ name, description, inputSchema }))
}

/** The system prompt of a call; `undefined` if it is empty. */
function systemPrompt(prompt: unknown, draft: TurnDraft): string | undefined {
  if (typeof prompt !== 'string') throw flowCodeError(`prompt of step '${draft.stepId}' must return a string.`)
  const { addedPrompt } = draft
  if (addedPrompt === undefined || addedPrompt === '') return prompt === '' ? undefined : prompt
  return prompt === '' ? addedPrompt : `${prompt}\n\n${addedPrompt}`
}

/** The texts of an answer. Provider data is left out, because no call follows an answer. */
function spokenParts({ parts }: ModelAnswer): readonly TextPart[] {
  const texts = parts.filter((part) => part.type === 'text')
  return texts.map((part) =>
    part.providerData === undefined ? part : Object.freeze({ type: 'text', text: part.text }),
  )
}

/** Reads an answer without tool calls, and lets the step's `onReply` decide about it. */
async function takeAnswer(
  running: Running,
  answer: ModelAnswer,
  repairs: number,
): Promise<ModelStepOutcome | Rejection> {
  const { control, draft, turn, step, namespace } = running
  const { memory, stepId } = draft
  const said = spokenParts(answer)
  let value: unknown = textOf(said)
  if (step.output !== undefined) {
    const read = await readOutput(step.output, value as string, stepId)
    control.work.check()
    if ('problem' in read) {
      const { problem } = read
      if (repairs < step.maxRepairs) return reject(running, answer, said, { reason: 'output', problem })
      const detail = `Its answer does not have the form of output of step '${stepId}': ${problem}.`
      return { transition: await recoverFromModel(control, draft, turn, step, modelError(answer.resolved, detail)) }
    }
    value = read.value
  }
  const returned: unknown = step.onReply(value as string, turn)
  const reply = isPromise(returned) ? await returned : returned
  control.work.check()
  if (typeof reply === 'string') {
    // Memory stores the sent text.
    memory.append(namespace, textMessage('assistant', reply, turn.number))
    return { text: reply }
  }
  if (!Transition.isInstance(reply)) {
    throw flowCodeError(`onReply of step '${stepId}' must return a text, retry(...) or a transition.`)
  }
  if (returnsToModel(reply)) {
    return reject(running, answer, said, { reason: 'reply', problem: retryReason(reply, stepId) })
  }
  memory.append(namespace, message('assistant', said, turn.number))
  return { transition: reply }
}

/** Puts a rejected answer and the reason into memory; the model answers again. */
function reject(
  { control, draft, namespace }: Running,
  { resolved }: ModelAnswer,
  said: readonly TextPart[],
  rejection: Rejection,
): Rejection {
  const { memory, turnNumber } = draft
  memory.append(namespace, message('assistant', said, turnNumber))
  memory.append(namespace, textMessage('user', feedbackOf(rejection), turnNumber))
  reportRetry(control, draft, resolved, rejection.reason)
  return rejection
}

function retryReason({ fields }: Transition, stepId: string): string {
  if (fields.feedback !== undefined) return fields.feedback
  throw flowCodeError(`onReply of step '${stepId}' returned stay() without a text.`)
}

function feedbackOf({ reason, problem }: Rejection): string {
  if (reason === 'reply') return problem
  return `Your answer does not have the required form: ${problem}. Answer again, with JSON of that form and nothing else.`
}

function reportRetry(
  control: TurnControl,
  draft: TurnDraft,
  { selection }: ResolvedModel,
  reason: Rejection['reason'],
): void {
  control.stream?.reset('repair')
  if (!control.hasListeners('model:retry')) return
  const { stepId: step, modelCalls: callNumber } = draft
  const { provider, name: model } = selection
  control.emit('model:retry', { step, provider, model, callNumber, reason, delayMs: 0 })
}
