/**
 * Tools: functions of a flow that a model may call. Arguments are validated before the function receives them.
 * `src/engine/turn/tools/run-tool.ts` executes the calls.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { flowCodeError } from '../errors/engine-errors.js'
import { jsonSchemaOf } from '../model/json-schema.js'
import { deepFreeze, type JsonObject } from '../util/json.js'
import { findUnknownName, hintAt, type OptionNames } from '../util/options.js'
import { isToolName } from '../util/patterns.js'
import { checkTimeout } from './check-declarations.js'
import type { Turn } from './turn.js'

/** The call for which a tool is executed. */
export interface ToolCall {
  /** The ID that the model gave this call. */
  readonly id: string
  /** The tool's name. */
  readonly name: string
  /**
   * A key for the service that the tool calls. It is the same if the turn is repeated after a rollback, a cancellation
   * or a crash, and different for any other call. It is derived from the session, the number of the turn, the tool, the
   * arguments as the model wrote them, and the number of equal calls earlier in the turn. It does not use
   * {@link ToolCall.id}, which a model generates again each time.
   *
   * @example
   * ```ts
   * execute: ({ order }, turn, call) => refunds.create(order, { idempotencyKey: call.idempotencyKey })
   * ```
   */
  readonly idempotencyKey: string
  /**
   * Aborts when the turn is aborted, when the call times out, or when a call that runs at the same time fails the turn.
   */
  readonly signal: AbortSignal
}

/** The options of {@link tool}. */
export interface ToolOptions<Schema extends StandardSchemaV1 = StandardSchemaV1> {
  /** The name that the model uses: 1 to 64 letters, digits, `_` or `-`. */
  readonly name: string
  /** Explains to the model what the tool does and when to call it. */
  readonly description: string
  /**
   * The arguments: a Standard Schema (Zod, Valibot, ArkType). Create it once, outside the step. Default: no arguments.
   */
  readonly input?: Schema
  /** JSON Schema of the arguments, for a schema library that cannot generate one. */
  readonly inputJsonSchema?: JsonObject
  /**
   * Milliseconds for each call. A number above 0; `Infinity`: only the turn's limit applies. Default: the step's
   * `toolTimeoutMs`, or else the engine's limit.
   */
  readonly toolTimeoutMs?: number
  /**
   * `true`: calls of this tool may run at the same time as others. If a model calls several tools at once and all of
   * them set this, they run together; otherwise one after the other. Default: `false`.
   */
  readonly parallel?: boolean
  /**
   * Executes a call. A returned value (plain JSON) is the result that the model receives; a returned transition moves
   * the conversation. If it throws a {@link ToolError}, the model receives the message; any other error fails the turn.
   */
  execute(args: StandardSchemaV1.InferOutput<Schema>, turn: Turn, call: ToolCall): unknown
}

/** A tool for the `tools()` of a step or a flow. Create it with {@link tool}. */
export interface Tool {
  readonly name: string
  readonly description: string
  readonly input: StandardSchemaV1 | undefined
  /** JSON Schema of the arguments, as the model receives it. */
  readonly inputSchema: JsonObject
  /** See {@link ToolOptions.toolTimeoutMs}. */
  readonly toolTimeoutMs?: number | undefined
  /** See {@link ToolOptions.parallel}. */
  readonly parallel?: boolean | undefined
  /** Executes a call. The engine passes validated arguments. */
  // biome-ignore lint/suspicious/noExplicitAny: the arguments were validated against `input`, whose type is erased here
  execute(args: any, turn: Turn, call: ToolCall): unknown
}

const marker = Symbol.for('turnkeeper.ToolError')

/**
 * Throw it from a tool to send the message to the model as a failed result, so that the model can try something else.
 *
 * @example
 * ```ts
 * if (order === undefined) throw new ToolError('There is no such order. Ask for the number again.')
 * ```
 */
export class ToolError extends Error {
  static {
    this.prototype.name = 'ToolError'
    Object.defineProperty(this.prototype, marker, { value: true })
  }

  /** Whether `value` is a {@link ToolError} of this or another copy of the package. */
  static isInstance(value: unknown): value is ToolError {
    return value instanceof Error && marker in value
  }
}

const optionNames: OptionNames<ToolOptions> = {
  name: true,
  description: true,
  input: true,
  inputJsonSchema: true,
  toolTimeoutMs: true,
  parallel: true,
  execute: true,
}

/** The JSON Schema of a tool without `input` and `inputJsonSchema`. */
export const noArguments: JsonObject = deepFreeze({ type: 'object', properties: {}, additionalProperties: false })

/**
 * Creates a tool. The type of the arguments of `execute` is inferred from `input`.
 *
 * @throws `FlowCodeError` if an option is unknown or not valid, or the schema has no JSON Schema.
 * @example
 * ```ts
 * const Order = z.object({ orderNumber: z.string() })
 *
 * tool({
 *   name: 'look_up_order',
 *   description: 'Find an order by its number.',
 *   input: Order,
 *   execute: ({ orderNumber }, turn) => orders.find(orderNumber),
 * })
 * ```
 */
export function tool<Schema extends StandardSchemaV1 = StandardSchemaV1<unknown, Record<string, never>>>(
  options: ToolOptions<Schema>,
): Tool {
  const { name, description, input, toolTimeoutMs, parallel } = options
  if (typeof name !== 'string' || !isToolName(name)) {
    throw flowCodeError(`The name of a tool must be 1 to 64 letters, digits, '_' or '-'; got '${String(name)}'.`)
  }
  if (typeof options.execute !== 'function') throw flowCodeError(`Tool '${name}' must have a function execute.`)
  checkTimeout(`toolTimeoutMs of tool '${name}'`, toolTimeoutMs)
  if (parallel !== undefined && typeof parallel !== 'boolean') {
    throw flowCodeError(`parallel of tool '${name}' must be true or false; got ${typeof parallel}.`)
  }
  const unknown = findUnknownName(options, optionNames)
  if (unknown !== undefined) {
    const known = Object.keys(optionNames)
    // These are the names in other libraries.
    const isInput = unknown === 'parameters' || unknown === 'schema'
    const hint = hintAt(isInput ? 'input' : unknown, known)
    throw flowCodeError(`Tool '${name}' has no option '${unknown}'. The options are ${known.join(', ')}.${hint}`)
  }
  return {
    name,
    description,
    input,
    inputSchema:
      options.inputJsonSchema ?? (input === undefined ? noArguments : jsonSchemaOf(input, 'input', `tool '${name}'`)),
    toolTimeoutMs,
    parallel,
    execute: (args, turn, call) => options.execute(args, turn, call),
  }
}
