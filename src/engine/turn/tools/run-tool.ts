/**
 * Runs one tool call: finds the tool, validates its arguments, and runs it within its time limit. A mistake of the
 * model is returned to the model; a failure of the tool fails the turn.
 */
import { elapsedMs, monotonicTime } from '../../../config/clock.js'
import { LimitExceededError, toolError } from '../../../errors/engine-errors.js'
import type { FlowErrorCode } from '../../../errors/error-facts.js'
import { FlowError } from '../../../errors/flow-error.js'
import type { Step } from '../../../flow/step.js'
import { noArguments, type Tool, type ToolCall, ToolError } from '../../../flow/tool.js'
import { returnsToModel, Transition } from '../../../flow/transition.js'
import type { Turn } from '../../../flow/turn.js'
import type { ToolCallPart, ToolResultPart } from '../../../model/message.js'
import { issueText } from '../../../model/schema-issues.js'
import { canonicalJson, digestOf } from '../../../util/digest.js'
import { copyJson, deepFreeze, isLarger, JsonError, type JsonValue } from '../../../util/json.js'
import { isPromise } from '../../../util/observed-promise.js'
import { onAbort } from '../../../util/on-abort.js'
import { depthExceeded, type EngineLimits, limitExceeded } from '../../core/engine-limits.js'
import { thrownText } from '../../core/error-text.js'
import { isOfAnotherTurn } from '../control/flow-code-failure.js'
import type { TurnControl } from '../control/turn-control.js'
import type { TurnDraft } from '../draft/turn-draft.js'

/** The outcome of a call: a result for the model, and a transition if the tool moved the conversation. */
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

/** The step whose model calls tools. */
export interface CallingStep {
  readonly control: TurnControl
  readonly draft: TurnDraft
  readonly turn: Turn
  readonly step: Step
  /** The offered tools, by name. */
  readonly tools: ReadonlyMap<string, Tool>
}

/**
 * Runs one call.
 *
 * @param together - Aborts when another parallel call has failed. This call then fails with the same error, even if its
 * tool is still running. Default: no other call runs.
 */
export async function runTool(calling: CallingStep, call: ToolCallPart, together?: AbortSignal): Promise<ToolOutcome> {
  const { control, draft, tools } = calling
  const { toolCallId } = call
  const tool = tools.get(call.toolName)
  if (tool === undefined) {
    control.emit('tool:unknown', { step: draft.stepId, tool: call.toolName, toolCallId })
    const known = [...tools.keys()].join(', ') || 'none'
    return { result: toolResult(call, `There is no tool '${call.toolName}'. Tools: ${known}.`, true) }
  }
  const { clock } = control.engine
  const startedAt = monotonicTime(clock)
  const names = { step: draft.stepId, tool: tool.name, toolCallId }
  control.emit('tool:start', names)
  control.stream?.send({ type: 'tool-start', tool: tool.name, toolCallId })
  let code: FlowErrorCode | undefined = 'TOOL_ERROR'
  try {
    const running = validateAndExecute(calling, tool, call, together)
    const outcome = await (together === undefined ? running : unlessAborted(running, together))
    if (outcome.result.isError !== true) code = undefined
    return outcome
  } catch (error) {
    if (FlowError.isInstance(error)) code = error.code
    throw error
  } finally {
    const success = code === undefined
    if (control.hasListeners('tool:end')) {
      control.emit('tool:end', { ...names, durationMs: elapsedMs(clock, startedAt), success, ...(code && { code }) })
    }
    control.stream?.send({ type: 'tool-end', tool: tool.name, toolCallId, success })
  }
}

/** The outcome of `running`, or the reason of a signal that aborts first. */
function unlessAborted<T>(running: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, () => reject(signal.reason))
    void running.then(resolve, reject).finally(stopListening)
  })
}

async function validateAndExecute(
  calling: CallingStep,
  tool: Tool,
  call: ToolCallPart,
  together: AbortSignal | undefined,
): Promise<ToolOutcome> {
  const { control, draft, turn } = calling
  let args: unknown = call.input
  let returned: unknown
  control.work.check()
  if (call.invalidInput !== undefined) {
    return { result: toolResult(call, `Invalid arguments: ${call.invalidInput}`, true) }
  }
  // Before any `await`, so that parallel calls count in the model's order.
  draft.toolCalls ??= []
  const number = draft.toolCalls.push(call)
  try {
    if (tool.input !== undefined) {
      const validating = tool.input['~standard'].validate(args)
      // Most schemas are synchronous, so there is nothing to await.
      const validated = isPromise(validating) ? await validating : validating
      control.work.check()
      together?.throwIfAborted()
      if (validated.issues !== undefined) {
        return { result: toolResult(call, `Invalid arguments: ${issueText(validated.issues)}`, true) }
      }
      args = validated.value
    } else if (tool.inputSchema === noArguments) {
      warnOfArguments(calling, call)
    }
    returned = await withinTime(calling, tool, call, number, together, (toolCall) => tool.execute(args, turn, toolCall))
  } catch (thrown) {
    control.work.check()
    if (ToolError.isInstance(thrown)) return { result: textResult(control, call, thrown.message, true) }
    throw asToolError(control, tool, thrown)
  }
  control.work.check()
  return outcomeOf(control, tool, call, returned)
}

function outcomeOf(control: TurnControl, tool: Tool, call: ToolCallPart, returned: unknown): ToolOutcome {
  if (!Transition.isInstance(returned)) return { result: resultOf(tool, call, returned, control) }
  const result = textResult(control, call, returned.fields.feedback ?? done)
  return returnsToModel(returned) ? { result } : { result, transition: returned }
}

/** Warns the author of a tool without a schema that the model calls it with unchecked arguments. */
function warnOfArguments({ control, draft }: CallingStep, { toolName, toolCallId, input }: ToolCallPart): void {
  if (Object.keys(input ?? {}).length === 0) return
  const { logger } = control.engine
  const message = `Tool '${toolName}' was called with arguments, but it has no schema that describes and checks them. Pass input.`
  const log = async (): Promise<void> => logger.warn(message, { step: draft.stepId, toolCallId })
  // A logger that throws or rejects must not touch the turn.
  void log().catch(() => {})
}

function asToolError(control: TurnControl, tool: Tool, thrown: unknown): FlowError {
  if (FlowError.isInstance(thrown) && !isOfAnotherTurn(control, thrown)) return thrown
  return toolError(tool.name, thrownText(thrown), thrown)
}

function resultOf(tool: Tool, call: ToolCallPart, returned: unknown, control: TurnControl): ToolResultPart {
  if (returned === undefined || typeof returned === 'string') return textResult(control, call, returned ?? done)
  const { name } = tool
  const { limits } = control.engine
  try {
    const copied = copyJson(returned, 'result', limits.maxJsonDepth, undefined, limits.maxToolResultBytes)
    return toolResult(call, deepFreeze(copied))
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    if (error.isTooLarge) return tooLarge(call, limits)
    throw (
      depthExceeded(limits, error, ` of tool '${name}'`) ??
      toolError(name, `Tool '${name}' returned what cannot be stored: ${error.message}.`, error)
    )
  }
}

/** A text as the result of a tool that ran. */
function textResult(control: TurnControl, call: ToolCallPart, text: string, isError = false): ToolResultPart {
  const { limits } = control.engine
  return isLarger(text, limits.maxToolResultBytes) ? tooLarge(call, limits) : toolResult(call, text, isError)
}

function tooLarge(call: ToolCallPart, { maxToolResultBytes }: EngineLimits): ToolResultPart {
  const limit = `the limit maxToolResultBytes (${maxToolResultBytes})`
  return toolResult(call, `The tool ran, but its result is left out because it exceeds ${limit}. Ask for less.`, true)
}

/** The time limit of a call, and the error for exceeding it. */
function timeLimitOf(
  { control, draft, step }: CallingStep,
  tool: Tool,
): { readonly timeoutMs: number; readonly isOwn: boolean; passed(): LimitExceededError } {
  const { limits } = control.engine
  const problem = `The time of tool '${tool.name}'`
  const own = tool.toolTimeoutMs ?? step.toolTimeoutMs
  if (own === undefined) {
    return {
      timeoutMs: limits.toolTimeoutMs,
      isOwn: false,
      passed: () => limitExceeded(limits, 'toolTimeoutMs', problem),
    }
  }
  const owner = tool.toolTimeoutMs === undefined ? `step '${draft.stepId}'` : `tool '${tool.name}'`
  return {
    timeoutMs: own,
    isOwn: true,
    passed: () => new LimitExceededError({ limit: 'toolTimeoutMs', value: own, problem, owner }),
  }
}

/**
 * See {@link ToolCall.idempotencyKey}. Most tools do not use it.
 *
 * @param number - The number of the call in its turn.
 */
function toolCallKey({ base, turnNumber, toolCalls = [] }: TurnDraft, call: ToolCallPart, number: number): string {
  const { toolName } = call
  const input = canonicalJson(call.input)
  const isEqual = (other: ToolCallPart): boolean => other.toolName === toolName && canonicalJson(other.input) === input
  const equalBefore = toolCalls.slice(0, number - 1).filter(isEqual).length
  return digestOf(JSON.stringify(['tool', base.id, turnNumber, toolName, input, equalBefore]))
}

/** A running call, as its tool sees it. Its key and its signal are made on first use. */
class RunningCall implements ToolCall {
  readonly id: string
  readonly name: string
  declare readonly idempotencyKey: string
  readonly #calling: CallingStep
  readonly #together: AbortSignal | undefined
  #controller: AbortController | undefined
  #signal: AbortSignal | undefined
  #expired: FlowError | undefined

  /**
   * @param number - The number of the call in its turn.
   * @param together - See {@link runTool}.
   */
  constructor(calling: CallingStep, call: ToolCallPart, number: number, together: AbortSignal | undefined) {
    this.id = call.toolCallId
    this.name = call.toolName
    this.#calling = calling
    this.#together = together
    // Its own property: a copy of the call, `{ ...call }`, must not lose the key silently.
    const get = (): string => toolCallKey(calling.draft, call, number)
    Object.defineProperty(this, 'idempotencyKey', { get, enumerable: true })
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      this.#controller = new AbortController()
      if (this.#expired !== undefined) this.#controller.abort(this.#expired)
      const signals = [this.#calling.control.work.signal, this.#controller.signal]
      this.#signal = AbortSignal.any(this.#together === undefined ? signals : [...signals, this.#together])
    }
    return this.#signal
  }

  /** @param error - The reason that the time of the call is over. */
  expire(error: FlowError): void {
    this.#expired = error
    this.#controller?.abort(error)
  }
}

/**
 * Runs `execute` under `toolTimeoutMs`. A later result is ignored.
 *
 * @param number - The number of the call in its turn.
 */
function withinTime(
  calling: CallingStep,
  tool: Tool,
  call: ToolCallPart,
  number: number,
  together: AbortSignal | undefined,
  execute: (toolCall: ToolCall) => unknown,
): Promise<unknown> {
  const { work, engine } = calling.control
  const { timeoutMs, isOwn, passed } = timeLimitOf(calling, tool)
  return new Promise((resolve, reject) => {
    const running = new RunningCall(calling, call, number, together)
    const expire = (failure: FlowError = passed()): void => {
      running.expire(failure)
      reject(failure)
    }
    const deadline = engine.deadlines.set(timeoutMs, expire, isOwn)
    const end = (): void => deadline?.cancel()
    work.addPending(end)
    const stopListening = onAbort(together, end)
    const cleanUp = (): void => {
      work.removePending(end)
      stopListening()
      end()
    }
    const succeed = (returned: unknown): void => {
      cleanUp()
      resolve(returned)
    }
    const fail = (thrown: unknown): void => {
      cleanUp()
      reject(thrown)
    }
    try {
      Promise.resolve(execute(running)).then(succeed, fail)
    } catch (thrown) {
      fail(thrown)
    }
  })
}
