/**
 * Doubles for the tools of a flow, by name: the test decides what a tool does, while its name, its schema and the check
 * of its arguments stay the flow's own. It uses only the public API.
 */
import type { FlowConstructor, JsonObject, JsonValue, Tool, ToolCall, Transition, Turn } from '../../src/index.js'
import { count, ExpectationError, list, show } from '../expectations/expectation-error.js'
import { failedAssertionIn, thrownFailure } from '../expectations/failed-assertion.js'
import type { NotAList } from '../expectations/not-a-list.js'
import { instrumentFlow } from '../flow-coverage/instrumented-flow.js'
import { withExecute } from './with-execute.js'

/** Replaces the `execute` of a tool: returns a value or a transition, or throws. @inline */
export type ToolDoubleFunction = {
  /** Written as a method, so that a function of narrower arguments fits: the tool's own schema validated them. */
  execute(args: Readonly<Record<string, unknown>>, turn: Turn, call: ToolCall): unknown
}['execute']

/** One result: a value, a transition, an error to throw (a `ToolError` goes to the model), or a function. @inline */
export type ToolDoubleResult = JsonValue | Error | Transition | ToolDoubleFunction

/** A function for every call. @inline */
interface OneDoubleFunction extends NotAList, ToolDoubleFunction {}

/** A double: results used in order, or one for every call. */
export type ToolDouble =
  | string
  | number
  | boolean
  | null
  | ((JsonObject | Error | Transition) & NotAList)
  | OneDoubleFunction
  | readonly ToolDoubleResult[]

/** A call of a double. */
export interface ToolDoubleCall {
  readonly tool: string
  /** Validated. */
  readonly args: unknown
  /** The number of the turn, counted from 1. */
  readonly turn: number
  /** The result of the call. */
  result?: unknown
  /** What was thrown. */
  error?: unknown
}

interface Entry {
  readonly double: ToolDouble
  used: number
  offered: boolean
}

/**
 * Doubles for tools.
 *
 * @example
 * ```ts
 * const doubles = new ToolDoubles({
 *   find_order: { state: 'lost' },
 *   refund: [new ToolError('Try later.'), 'Refunded.'],
 * })
 * const engine = new FlowEngine({ flows: [doubles.replaceIn(SupportDesk)], providers: [scriptedProvider(script)] })
 * // ... a conversation ...
 * doubles.calls('find_order')
 * // [{ tool: 'find_order', args: { orderNumber: 'A-1042' }, turn: 2, result: { state: 'lost' } }]
 * doubles.assertDone()
 * ```
 */
export class ToolDoubles {
  readonly #entries: Map<string, Entry>
  readonly #calls: ToolDoubleCall[] = []
  readonly #seen = new Set<string>()
  readonly #answered = new Set<string>()
  readonly #optional = new Set<string>()
  #complaint: ExpectationError | undefined

  /** @param doubles - By the name of the tool. */
  constructor(doubles: Readonly<Record<string, ToolDouble>>) {
    this.#entries = new Map(
      Object.entries(doubles).map(([name, double]) => [name, { double, used: 0, offered: false }] as const),
    )
  }

  /** The first call that had no result left, or in which an assertion failed; `undefined` if there is none. */
  get complaint(): ExpectationError | undefined {
    return this.#complaint
  }

  /** The same flow with the doubles in place of its tools. */
  replaceIn(flow: FlowConstructor): FlowConstructor {
    return instrumentFlow(flow, { replaceTools: (offered) => this.replace(offered) })
  }

  /** A list of tools with the doubles in place of theirs. */
  replace(offered: readonly Tool[]): readonly Tool[] {
    let replaced: Tool[] | undefined
    for (const [index, tool] of offered.entries()) {
      this.#seen.add(tool.name)
      const entry = this.#entries.get(tool.name)
      if (entry === undefined) continue
      entry.offered = true
      replaced ??= [...offered]
      replaced[index] = withExecute(tool, (args, turn, call) => this.#run(entry, args, turn, call))
    }
    return replaced ?? offered
  }

  /** The calls so far, in order. */
  calls(tool?: string): readonly ToolDoubleCall[] {
    return tool === undefined ? this.#calls : this.#calls.filter((call) => call.tool === tool)
  }

  /** The doubles whose tool no step has offered so far. */
  get notOffered(): readonly string[] {
    return Array.from(this.#entries, ([name, { offered }]) => (offered ? '' : name)).filter((name) => name !== '')
  }

  /** The tools that a double without a function has answered for: what they write to the state is not written. */
  get answered(): readonly string[] {
    return [...this.#answered]
  }

  /** The names of all tools that steps have offered so far. */
  get offered(): readonly string[] {
    return [...this.#seen]
  }

  /**
   * Fails if no step offered a tool with the name of a double, a call found no result, an assertion failed in a
   * double, or results are left.
   *
   * @throws `ExpectationError`
   */
  assertDone(): void {
    if (this.#complaint !== undefined) throw this.#complaint
    const notOffered = this.notOffered.filter((name) => !this.#optional.has(name))
    if (notOffered.length > 0) {
      throw new ExpectationError(
        `No step offered a tool with the name of a double: ${list(notOffered)}.\n  tools offered: ${list(this.#seen)}\nCorrect the name, or have the conversation reach the step that offers it.`,
      )
    }
    for (const [name, { double, used }] of this.#entries) {
      if (!isList(double) || used >= double.length || this.#optional.has(name)) continue
      throw new ExpectationError(
        `The results of the double of '${name}' were not used up: ${count(double.length - used, 'result')} of ${double.length} left; the next is ${shown(double[used])}.`,
      )
    }
  }

  /**
   * Lets these doubles stay unused: several conversations share them, and not each one calls every tool.
   *
   * @internal
   */
  allowUnused(names: Iterable<string>): void {
    for (const name of names) this.#optional.add(name)
  }

  /** Doubles that continue from the current state of these. */
  fork(): ToolDoubles {
    const copy = new ToolDoubles({})
    for (const [name, { double, used, offered }] of this.#entries) {
      copy.#entries.set(name, { double, used, offered })
    }
    for (const name of this.#seen) copy.#seen.add(name)
    for (const name of this.#answered) copy.#answered.add(name)
    copy.allowUnused(this.#optional)
    return copy
  }

  async #run(entry: Entry, args: unknown, turn: Turn, call: ToolCall): Promise<unknown> {
    const record: ToolDoubleCall = { tool: call.name, args, turn: turn.number }
    this.#calls.push(record)
    try {
      const result = this.#resultOf(entry, record)
      if (typeof result !== 'function') this.#answered.add(call.name)
      if (result instanceof Error) throw result
      record.result =
        typeof result === 'function' ? await result(args as Readonly<Record<string, unknown>>, turn, call) : result
      return record.result
    } catch (error) {
      record.error = error
      if (failedAssertionIn(error) !== undefined) {
        this.#complaint ??= thrownFailure(`An assertion failed in the double of '${call.name}'`, error)
      }
      throw error
    }
  }

  #resultOf(entry: Entry, { tool, args, turn }: ToolDoubleCall): ToolDoubleResult {
    const { double } = entry
    if (!isList(double)) return double
    const result = double[entry.used++]
    if (result !== undefined) return result
    const error = new ExpectationError(
      `The double of '${tool}' was called once more than it has results: turn ${turn}, with ${show(args)}.\n  results: ${double.map(shown).join(', ') || 'none'}\nAdd a result, or find out why the model calls it again.`,
    )
    this.#complaint ??= error
    throw error
  }
}

function isList(double: ToolDouble): double is readonly ToolDoubleResult[] {
  return Array.isArray(double)
}

function shown(result: ToolDoubleResult | undefined): string {
  return typeof result === 'function' ? 'a function' : show(result, 60)
}
