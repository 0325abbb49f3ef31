/**
 * One tool call: the tool is found, its arguments are validated, and it runs within its time. A mistake of the model is
 * returned to the model; a failure of the tool fails the turn.
 */
import { toolError } from '../../errors/engine-errors.js'
import { FlowError } from '../../errors/flow-error.js'
import { type Tool, type ToolCall, ToolError } from '../../flow/tool.js'
import { returnsToModel, Transition } from '../../flow/transition.js'
import type { Turn } from '../../flow/turn.js'
import type { ToolCallPart, ToolResultPart } from '../../model/message.js'
import { issueText } from '../../model/schema-issues.js'
import { copyJson, deepFreeze, type JsonError, type JsonValue } from '../../util/json.js'
import { depthExceeded, limitExceeded } from '../engine-limits.js'
import { thrownText } from '../error-text.js'
import type { TurnControl } from './turn-control.js'
import type { TurnDraft } from './turn-draft.js'

/** The outcome of a call: a result for the model, and a transition where the tool moved the conversation. */
export interface ToolOutcome {
  readonly result: ToolResultPart
  readonly transition?: Transition
}

/** The result of a tool that returns nothing. */
const done = 'Done.'

/** A frozen result part. */
export function toolResult(call: ToolCallPart, output: JsonValue, isError = false): ToolResultPart {
  const { toolCallId, toolName } = call
  return Object.freeze({ type: 'tool-result', toolCallId, toolName, output, ...(isError ? { isError } : {}) })
}

/** Runs one call. */
export async function runTool(
  control: TurnControl,
  draft: TurnDraft,
  turn: Turn,
  call: ToolCallPart,
  tools: ReadonlyMap<string, Tool>,
): Promise<ToolOutcome> {
  const tool = tools.get(call.toolName)
  if (tool === undefined) {
    const known = [...tools.keys()].join(', ') || 'none'
    return { result: toolResult(call, `There is no tool '${call.toolName}'. Tools: ${known}.`, true) }
  }
  const startedAt = control.engine.clock.now()
  const { toolCallId } = call
  const names = { step: draft.stepId, tool: tool.name, toolCallId }
  control.emit('tool:start', names)
  control.stream?.send({ type: 'tool-start', tool: tool.name, toolCallId })
  let success = false
  try {
    const outcome = await validateAndExecute(tool, call, turn, control)
    success = outcome.result.isError !== true
    return outcome
  } finally {
    control.emit('tool:end', { ...names, durationMs: control.engine.clock.now() - startedAt, success })
    control.stream?.send({ type: 'tool-end', tool: tool.name, toolCallId, success })
  }
}

async function validateAndExecute(
  tool: Tool,
  call: ToolCallPart,
  turn: Turn,
  control: TurnControl,
): Promise<ToolOutcome> {
  let args: unknown = call.input
  let returned: unknown
  control.check()
  try {
    if (tool.input !== undefined) {
      const validated = await tool.input['~standard'].validate(args)
      control.check()
      if (validated.issues !== undefined) {
        return { result: toolResult(call, `Invalid arguments: ${issueText(validated.issues)}`, true) }
      }
      args = validated.value
    }
    returned = await withinTime(tool, call, control, (toolCall) => tool.execute(args, turn, toolCall))
  } catch (thrown) {
    control.check()
    if (ToolError.isInstance(thrown)) return { result: toolResult(call, thrown.message, true) }
    throw asToolError(tool, thrown)
  }
  control.check()
  if (!Transition.isInstance(returned)) return { result: toolResult(call, resultOf(tool, returned, control)) }
  const result = toolResult(call, returned.fields.feedback ?? done)
  return returnsToModel(returned) ? { result } : { result, transition: returned }
}

function asToolError(tool: Tool, thrown: unknown): FlowError {
  if (FlowError.isInstance(thrown)) return thrown
  return toolError(tool.name, thrownText(thrown), thrown)
}

function resultOf(tool: Tool, returned: unknown, control: TurnControl): JsonValue {
  if (returned === undefined) return done
  const { name } = tool
  const { limits } = control.engine
  const refuse = (problem: string, cause: JsonError): Error =>
    depthExceeded(limits, cause, ` of tool '${name}'`) ??
    toolError(name, `Tool '${name}' returned what cannot be stored: ${problem}.`, cause)
  return deepFreeze(copyJson(returned, 'result', limits.maxJsonDepth, refuse))
}

/** Runs `execute` under `toolTimeoutMs`. A result that comes later is ignored. */
function withinTime(
  tool: Tool,
  call: ToolCallPart,
  control: TurnControl,
  execute: (toolCall: ToolCall) => unknown,
): Promise<unknown> {
  const { deadlines, limits } = control.engine
  return new Promise((resolve, reject) => {
    let timedOut: FlowError | undefined
    let controller: AbortController | undefined
    let signal: AbortSignal | undefined
    const deadline = deadlines.set(limits.toolTimeoutMs, () => {
      timedOut = limitExceeded(limits, 'toolTimeoutMs', `The time of tool '${tool.name}'`)
      controller?.abort(timedOut)
      reject(timedOut)
    })
    const toolCall: ToolCall = {
      id: call.toolCallId,
      name: tool.name,
      get signal() {
        if (signal === undefined) {
          controller = new AbortController()
          if (timedOut !== undefined) controller.abort(timedOut)
          signal = AbortSignal.any([control.signal, controller.signal])
        }
        return signal
      },
    }
    control.pending = () => deadline?.cancel()
    const settle = async (): Promise<unknown> => execute(toolCall)
    settle()
      .then(resolve, reject)
      .finally(() => {
        control.pending = undefined
        deadline?.cancel()
      })
  })
}
