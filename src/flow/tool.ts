/**
 * Tools: what a model may call, with arguments that are validated before any code of the flow sees them. Running one
 * is the engine's business.
 */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { flowCodeError } from '../errors/engine-errors.js'
import { deepFreeze, type JsonObject } from '../util/json.js'
import { jsonSchemaOf } from './json-schema.js'
import type { Turn } from './turn.js'

/** The call that a tool is run for. */
export interface ToolCall {
  /** The model's ID of this call. */
  readonly id: string
  /** The tool's name. */
  readonly name: string
  /** Fires when the turn is given up, or the tool's own time is over. */
  readonly signal: AbortSignal
}

/** What {@link tool} takes. */
export interface ToolOptions<Schema extends StandardSchemaV1 = StandardSchemaV1> {
  /** What the model calls it by: letters, digits, `_` and `-`, at most 64. */
  readonly name: string
  /** Tells the model what it does and when to call it. */
  readonly description: string
  /** The arguments: a Standard Schema (Zod, Valibot, ArkType). Make it once, outside the step. Default: no arguments. */
  readonly input?: Schema
  /** JSON Schema of the arguments, for a schema that cannot give its own. */
  readonly inputJsonSchema?: JsonObject
  /**
   * Does the work. A value is the tool's result (plain JSON); a transition moves the conversation. A thrown
   * {@link ToolError} goes to the model; anything else thrown fails the turn.
   */
  execute(args: StandardSchemaV1.InferOutput<Schema>, turn: Turn, call: ToolCall): unknown
}

/** A tool, ready for a step's or a flow's `tools()`. */
export interface Tool {
  readonly name: string
  readonly description: string
  readonly input: StandardSchemaV1 | undefined
  /** JSON Schema of the arguments, as the model gets it. */
  readonly inputSchema: JsonObject
  /** Does the work; called with arguments that were validated. */
  // biome-ignore lint/suspicious/noExplicitAny: the arguments were validated against `input`, whose type is erased here
  execute(args: any, turn: Turn, call: ToolCall): unknown
}

const marker = Symbol.for('turnkeeper.ToolError')

/**
 * Throw it from a tool to tell the model that the call did not work, and let it try something else.
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

  /** Whether `value` is a {@link ToolError}, of this copy of the package or another. */
  static isInstance(value: unknown): value is ToolError {
    return value instanceof Error && marker in value
  }
}

const namePattern = /^[\w-]{1,64}$/

const noArguments: JsonObject = deepFreeze({ type: 'object', properties: {}, additionalProperties: false })

/**
 * Makes a tool. The arguments of `execute` take their type from `input`.
 *
 * @throws `FlowCodeError` where the name is not usable, or the schema cannot give its JSON Schema.
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
  const { name, description, input } = options
  if (typeof name !== 'string' || !namePattern.test(name)) {
    throw flowCodeError(`A tool's name is 1 to 64 letters, digits, '_' or '-', and not '${String(name)}'.`)
  }
  if (typeof options.execute !== 'function') throw flowCodeError(`Tool '${name}' needs a function execute.`)
  return {
    name,
    description,
    input,
    inputSchema:
      options.inputJsonSchema ?? (input === undefined ? noArguments : jsonSchemaOf(input, 'input', `tool '${name}'`)),
    execute: (args, turn, call) => options.execute(args, turn, call),
  }
}
