/** One step, or one tool, without the flow around it: a single turn in a real engine, with all its checks. */
import {
  type BaseStep,
  type JsonValue,
  type ReplyPart,
  type SessionDocument,
  type StateOf,
  Step,
  type StepConstructor,
  type Tool,
  type Turn,
} from '../../src/index.js'
import { ExpectationError, list, show } from '../expectations/expectation-error.js'
import { checkConversationOptions, checkStart, checkStep, startNames } from './check-options.js'
import type { ConversationOptions, SayInput } from './conversation-options.js'
import { ConversationTalk } from './conversation-talk.js'
import { failureOf, unreadProblem } from './expect/problem.js'
import { FlowOfOneStep } from './flow-of-one-step.js'
import type { SessionStart } from './session-start.js'
import { type ConversationToolCall, type ConversationTurn, toolCallsOf } from './turns/conversation-turn.js'

/**
 * The options of {@link runStep}.
 *
 * @inline
 */
export interface RunStepOptions<Target extends StepConstructor, Others extends readonly StepConstructor[]>
  extends Omit<ConversationOptions, 'coverage'>,
    SessionStart<Target, Others>,
    Pick<SayInput, 'attachments'> {
  /** The user's message to the step. Default: none; the step is entered, and `turn.entered` is true. */
  readonly message?: string
}

/**
 * The result of `runStep`.
 *
 * @inline
 */
export interface StepRun<State> {
  /** The reply; empty if the step moved on without one. */
  readonly reply: string
  /** What the reply carries beside its text; empty if there is nothing. */
  readonly parts: readonly ReplyPart[]
  /** The ID of the step that it moved to, or of what it called, which did not run; `undefined` if there was none. */
  readonly next: string | undefined
  /** What it gave to the step that called it; `undefined` if it did not return with `back`. */
  readonly returned: { readonly value?: unknown } | undefined
  /** Its state after the turn. */
  readonly state: State
  /** The tool calls that its model made. */
  readonly toolCalls: readonly ConversationToolCall[]
  /** The stored session after the turn: states of other steps, memory, history. */
  readonly document: SessionDocument
}

/**
 * Runs one step alone, for one turn. Another step that it moves to does not run.
 *
 * @throws `ExpectationError` (rejects) if the turn fails, or the script or a double does not fit.
 * @example
 * ```ts
 * const { reply, next } = await runStep(Confirm, { message: 'no', stateOf: [[AskWish, { table: 4 }]] })
 * ```
 */
export async function runStep<Target extends StepConstructor, const Others extends readonly StepConstructor[] = []>(
  step: Target,
  options: RunStepOptions<Target, Others> = {},
): Promise<StepRun<StateOf<Target>>> {
  checkStep('runStep', step)
  checkConversationOptions('runStep', options, { message: true, attachments: true, ...startNames }, ['coverage'])
  checkStart('runStep', options as SessionStart)
  const { message, attachments = [], ...start } = options
  const isEntered = message === undefined
  const alone = new FlowOfOneStep(`runStep(${step.id})`, step, stepsOf(start))
  const { turn, document } = await oneTurn('runStep', alone, step, start, {
    text: message ?? '',
    attachments,
    isEntered,
    what: isEntered ? `Step '${step.id}'` : undefined,
  })
  const { state = {} } = document.flow.steps[step.id] ?? {}
  return {
    reply: turn.reply.message,
    parts: turn.reply.parts ?? [],
    next: alone.nextIn(document),
    returned: alone.returned,
    state: state as StateOf<Target>,
    toolCalls: toolCallsOf(turn),
    document: alone.documentOf(document),
  }
}

/**
 * The options of {@link callTool}.
 *
 * @inline
 */
export interface CallToolOptions<Target extends StepConstructor, Others extends readonly StepConstructor[]>
  extends Omit<ConversationOptions, 'script' | 'tools' | 'providers' | 'coverage'>,
    SessionStart<Target, Others> {
  /** The step whose `tools()` has the tool. Default: the tool needs no step. */
  readonly step?: Target
  /** The user's message. Default: none. */
  readonly message?: string
}

/**
 * The result of `callTool`.
 *
 * @inline
 */
export interface ToolRun<State> {
  /** The output for the model; absent if the call ended the turn. */
  readonly output: JsonValue | undefined
  /** Whether the call was refused, or the tool threw a `ToolError`. */
  readonly isError: boolean
  /** The reply to the user, if the tool returned one with its transition. */
  readonly reply: string | undefined
  /** The ID of the step that it moved to, or of what it called, which did not run; `undefined` if there was none. */
  readonly next: string | undefined
  /** What it gave to the step that called; `undefined` if it did not return with `back`. */
  readonly returned: { readonly value?: unknown } | undefined
  /** The state of the option `step` after the call. */
  readonly state: State
  /** The stored session after the turn. */
  readonly document: SessionDocument
}

/**
 * Calls one tool as a model would: the engine checks the arguments and the result.
 *
 * @param tool - The tool, or the name of one that the option `step` offers.
 * @throws `ExpectationError` (rejects) if the turn fails.
 * @example
 * ```ts
 * const { output } = await callTool(findOrder, { order: 'A-1042' })
 * const { state, next } = await callTool('take_table', { table: 4 }, { step: AskWish })
 * ```
 */
export async function callTool<
  Target extends StepConstructor = typeof Step & StepConstructor,
  const Others extends readonly StepConstructor[] = [],
>(
  tool: Tool | string,
  args: JsonValue,
  options: CallToolOptions<Target, Others> = {},
): Promise<ToolRun<StateOf<Target>>> {
  checkTool(tool)
  const others = { step: true, message: true, ...startNames }
  checkConversationOptions('callTool', options, others, ['script', 'tools', 'providers', 'coverage'])
  if (options.step !== undefined) checkStep('callTool', options.step)
  else if (options.state !== undefined) {
    throw new ExpectationError('callTool() needs the step whose state it is given: { step, state }.')
  }
  checkStart('callTool', options as SessionStart)
  const { step, message = '', ...start } = options
  const name = typeof tool === 'string' ? tool : tool.name
  const caller = offeringStep(tool, step)
  const alone = new FlowOfOneStep(`callTool(${name})`, caller, stepsOf(start as SessionStart))
  const script: ConversationOptions['script'] = ({ origin }) =>
    origin.callNumber === 1 ? { toolCalls: [{ name, input: args }] } : 'Done.'
  const { turn, document } = await oneTurn(
    'callTool',
    alone,
    caller,
    { ...(start as SessionStart), script },
    {
      text: message,
      attachments: [],
      isEntered: false,
      what: `Tool '${name}'${step === undefined ? '' : ` of step '${step.id}'`}`,
    },
  )
  const [call] = toolCallsOf(turn)
  const asked = turn.events.filter(({ kind }) => kind === 'asked').length
  const after = step === undefined ? {} : (document.flow.steps[step.id]?.state ?? {})
  return {
    output: call?.output,
    isError: call?.isError === true,
    reply: asked > 1 || turn.reply.message === '' ? undefined : turn.reply.message,
    next: alone.nextIn(document),
    returned: alone.returned,
    state: after as StateOf<Target>,
    document: alone.documentOf(document),
  }
}

function checkTool(tool: unknown): void {
  if (typeof tool === 'string') return
  const { name, execute } = Object(tool) as Partial<Tool>
  if (typeof name === 'string' && typeof execute === 'function') return
  throw new ExpectationError(`callTool() needs a tool, or the name of one that a step offers; got ${show(tool)}.`)
}

/**
 * A model step that offers one tool: the given one, or one of `step`. It has the ID and the state of `step`, whose
 * other code does not run.
 */
function offeringStep(tool: Tool | string, step: StepConstructor | undefined): StepConstructor {
  if (typeof tool === 'string' && step === undefined) {
    throw new ExpectationError(`callTool('${tool}') needs the step that offers the tool: { step }.`)
  }
  class CallTool extends Step {
    static override readonly id: string = step?.id ?? 'CallTool'
    static {
      if (step?.stateSchema !== undefined) Object.assign(this, { stateSchema: step.stateSchema })
    }
    readonly #made = step === undefined ? undefined : (withStateOf(this, new step()) as Step)
    override initialState(): object {
      return this.#made?.initialState() ?? {}
    }
    override async tools(turn: Turn): Promise<readonly Tool[]> {
      if (typeof tool !== 'string') return [tool]
      const offered = (await this.#made?.tools?.(turn)) ?? []
      const found = offered.find(({ name }) => name === tool)
      if (found === undefined) {
        throw new ExpectationError(
          `callTool: step '${step?.id}' does not offer a tool '${tool}'. Its tools: ${list(offered.map(({ name }) => name))}.`,
        )
      }
      return [Object.create(found, { toolTimeoutMs: { value: found.toolTimeoutMs ?? this.#made?.toolTimeoutMs } })]
    }
  }
  return CallTool
}

/** The step with the state of another one, which the engine knows. */
function withStateOf(known: BaseStep, step: BaseStep): BaseStep {
  return Object.defineProperty(step, 'state', {
    get: () => known.state,
    set: (state: object) => {
      known.state = state
    },
  })
}

/** Runs one turn of such a flow. Fails like an expectation, with the transcript. */
async function oneTurn(
  operation: string,
  alone: FlowOfOneStep,
  step: StepConstructor,
  { state, stateOf, history, memory, tools, ...options }: ConversationOptions & SessionStart,
  input: {
    readonly text: string
    readonly attachments: NonNullable<SayInput['attachments']>
    readonly isEntered: boolean
    /** The name of what fails if the turn fails. Default: the turn. */
    readonly what: string | undefined
  },
): Promise<{ readonly turn: ConversationTurn; readonly document: SessionDocument }> {
  const doubles = tools === undefined ? {} : { tools: alone.watchDoubles(tools) }
  const talk = new ConversationTalk(alone.flow, { ...options, ...doubles })
  const start = { state, stateOf, history, memory } as SessionStart
  talk.beginAt(operation, { step, enters: input.isEntered }, start)
  let ended: { readonly turn: ConversationTurn; readonly document: SessionDocument }
  try {
    await talk.say(input.text, { attachments: input.attachments })
    const turn = withAdvice(operation, talk.record.last(operation))
    talk.record.turns.splice(-1, 1, turn)
    const failure = failureOf(turn, input.what)
    talk.record.unexpected = undefined
    // The step does not offer the tool, so the test failed, not the turn.
    if (ExpectationError.isInstance(failure?.cause)) throw new ExpectationError(failure.cause.message)
    if (failure !== undefined) talk.record.fail(failure)
    talk.record.check(unreadProblem(turn))
    ended = { turn, document: turn.document as SessionDocument }
  } catch (error) {
    await talk.close().catch(() => undefined)
    throw error
  }
  await talk.close()
  return ended
}

/**
 * Runs the turn. If the step reads a state that the test did not give, the error explains how to give it, because the
 * test did not write the list of steps.
 */
function withAdvice(operation: string, turn: ConversationTurn): ConversationTurn {
  const message = turn.reply.message.replace(
    /^Flow '[^']*' has no step '([^']*)'\. Its steps: .* Add it to steps\(\)\.$/,
    `${operation} was given no state of step '$1'. Give it one: { stateOf: [[$1, { ... }]] }.`,
  )
  return { ...turn, reply: { ...turn.reply, message } }
}

function stepsOf({ stateOf = [] }: Pick<SessionStart, 'stateOf'>): readonly StepConstructor[] {
  return stateOf.map(([step]) => step)
}
