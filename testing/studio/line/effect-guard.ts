/**
 * Records what tools and `turn.once` did in a line of the studio. In a fork, what the earlier line has done is not done
 * again: its result is returned. What would be new, or must run again because it changes the session, asks first.
 */
import { Flow, type JsonValue, type Step, type Tool, ToolError, type Turn } from '../../../src/index.js'
import { copyJson } from '../../../src/util/json.js'
import { withExecute } from '../../tool-doubles/with-execute.js'
import type { EffectCall, Question } from '../api/types.js'

/** What a guard needs from its line. */
export interface GuardedLine {
  /** The calls of the earlier line after the fork. */
  readonly recorded: readonly EffectCall[]
  /** Whether it may run. Absent in a line that is not a fork: everything runs. */
  readonly ask?: (question: Omit<Question, 'id'>) => Promise<boolean>
  log(call: EffectCall): void
}

type Once = Turn['once']
type Writable<Type> = { -readonly [Key in keyof Type]: Type[Key] }
type Call = Pick<EffectCall, 'kind' | 'name' | 'input'>

/** The tools and effects of one line. */
export class EffectGuard {
  readonly #line: GuardedLine
  readonly #recorded: EffectCall[]
  readonly #watched = new WeakSet<Turn>()
  /** How often code has asked for the state of another step, which it may change. */
  #touched = 0

  constructor(line: GuardedLine) {
    this.#line = line
    this.#recorded = line.recorded.filter(({ error }) => error === undefined)
  }

  /** Watches `turn.once` of a turn. */
  watch(turn: Turn): void {
    if (this.#watched.has(turn)) return
    this.#watched.add(turn)
    const { once, stateOf } = turn
    const guarded: Once = (name, work, options) => {
      // Only if the engine would run the work: the session may have its result.
      const run: typeof work = (attempt) => this.#run({ kind: 'once', name }, () => work(attempt))
      return once.call(turn, name, run, options) as never
    }
    const counted: Turn['stateOf'] = (step) => {
      this.#touched++
      return stateOf.call(turn, step) as never
    }
    Object.defineProperty(turn, 'once', { value: guarded })
    Object.defineProperty(turn, 'stateOf', { value: counted })
  }

  /** The same tools, watched. */
  tools(offered: readonly Tool[], owner: Flow | Step): readonly Tool[] {
    return offered.map((tool) => {
      // The engine refuses anything that is not a tool.
      if (typeof tool?.execute !== 'function') return tool
      return withExecute(tool, (input, turn, toolCall) => {
        const facts = (): string =>
          JSON.stringify([owner instanceof Flow ? '' : owner.state, turn.context, this.#touched])
        return this.#run({ kind: 'tool', name: tool.name, input }, () => tool.execute(input, turn, toolCall), facts)
      })
    })
  }

  async #run<T>(call: Call, work: () => T | PromiseLike<T>, facts = (): string => ''): Promise<T> {
    const earlier = this.#take(call)
    if (earlier !== undefined && !earlier.changesSession) {
      this.#line.log({ ...earlier, durationMs: 0, isRecorded: true })
      return earlier.result as T
    }
    const mayRun = await this.#line.ask?.({ ...call, hasRun: earlier !== undefined })
    // A model gets this text.
    if (mayRun === false) throw new ToolError(`The studio did not run ${call.name}: its user said no.`)
    const before = facts()
    const started = performance.now()
    const logged: Writable<EffectCall> = { ...call, durationMs: 0 }
    // Now: others may begin meanwhile, and end earlier.
    this.#line.log(logged)
    try {
      const result = await work()
      const json = jsonOf(result)
      if (json !== undefined) logged.result = json
      // A transition is no JSON.
      if (json === undefined || facts() !== before) logged.changesSession = true
      return result
    } catch (error) {
      logged.error = error instanceof Error ? error.message : String(error)
      if (ToolError.isInstance(error)) logged.isToolError = true
      throw error
    } finally {
      logged.durationMs = Math.round(performance.now() - started)
    }
  }

  /** The first recorded call of this name with these arguments, which is used once. One that failed is no result. */
  #take({ kind, name, input }: Call): EffectCall | undefined {
    const isSame = (one: EffectCall): boolean =>
      one.kind === kind && one.name === name && JSON.stringify(one.input) === JSON.stringify(input)
    const index = this.#recorded.findIndex(isSame)
    return index < 0 ? undefined : this.#recorded.splice(index, 1)[0]
  }
}

function jsonOf(result: unknown): JsonValue | undefined {
  try {
    return copyJson(result ?? null, 'result', 100)
  } catch {
    return undefined
  }
}
