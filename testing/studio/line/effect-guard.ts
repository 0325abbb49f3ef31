/**
 * Records what tools and `turn.once` did in a line of the studio. In a fork, what the earlier line has done is not done
 * again: its result is returned. What would be new, or must run again because it changes the session, asks first.
 */
import { Flow, FlowError, type JsonValue, type Step, type Tool, ToolError, type Turn } from '../../../src/index.js'
import { copyJson } from '../../../src/util/json.js'
import { withExecute } from '../../tool-doubles/with-execute.js'
import type { EffectCall, Question, Writable } from '../api/types.js'

/** What a guard needs from its line. */
export interface GuardedLine {
  /** The calls of the earlier line after the fork. */
  readonly recorded: readonly EffectCall[]
  /** What this line has done since, in an earlier process. */
  readonly done: readonly EffectCall[]
  /** Whether it may run. Absent in a line that is not a fork: everything runs. */
  readonly ask?: (question: Omit<Question, 'id'>) => Promise<boolean>
  log(call: EffectCall): void
  /** The flow replaces what the user sent. */
  hide(text: string): void
}

type Call = Pick<EffectCall, 'kind' | 'name' | 'input' | 'mustRun'>

/** The tools and effects of one line. */
export class EffectGuard {
  readonly #line: GuardedLine
  readonly #recorded: EffectCall[]
  readonly #watched = new WeakSet<Turn>()

  constructor(line: GuardedLine) {
    this.#line = line
    this.#recorded = unusedCalls(line.recorded, line.done)
  }

  /** Watches `once` and `hideMessage` of a turn. */
  watch(turn: Turn): void {
    if (this.#watched.has(turn)) return
    this.#watched.add(turn)
    const { once, hideMessage } = turn
    const guarded: Turn['once'] = (name, work, options) => {
      // Only if the engine would run the work: the session may have its result.
      const run: typeof work = (attempt) => this.#run({ kind: 'once', name }, () => work(attempt))
      return once.call(turn, name, run, options) as never
    }
    const hiding: Turn['hideMessage'] = (text) => {
      hideMessage.call(turn, text)
      this.#line.hide(text)
    }
    Object.defineProperty(turn, 'once', { value: guarded, configurable: true })
    Object.defineProperty(turn, 'hideMessage', { value: hiding, configurable: true })
  }

  /** The same tools, watched. */
  tools(offered: readonly Tool[], owner: Flow | Step): readonly Tool[] {
    return offered.map((tool) => {
      // The engine refuses anything that is not a tool.
      if (typeof tool?.execute !== 'function') return tool
      return withExecute(tool, (args, turn, toolCall) => {
        const input = jsonOf(args)
        // Without JSON, two calls cannot be told apart.
        const call: Call = { kind: 'tool', name: tool.name, ...(input === undefined ? { mustRun: true } : { input }) }
        const observed = observe(turn, owner)
        return this.#run(call, () => tool.execute(args, observed.turn, toolCall), observed.hasChanged)
      })
    })
  }

  async #run<T>(call: Call, work: () => T | PromiseLike<T>, hasChanged = (): boolean => false): Promise<T> {
    const earlier = take(this.#recorded, call)
    const reason = earlier && reasonOf(earlier)
    if (earlier !== undefined && reason === undefined) {
      this.#line.log({ ...earlier, durationMs: 0, isRecorded: true })
      return earlier.result as T
    }
    const { kind, name, input } = call
    const mayRun = await this.#line.ask?.({
      kind,
      name,
      ...(input !== undefined && { input }),
      ...(reason && { reason }),
    })
    const logged: Writable<EffectCall> = { ...call, durationMs: 0, isOpen: true }
    // Now: others may begin meanwhile, and end earlier.
    this.#line.log(logged)
    const started = performance.now()
    try {
      // A model gets this text.
      if (mayRun === false) throw new ToolError(`The studio did not run ${name}: its user said no.`)
      const result = await work()
      Object.assign(logged, returned(result, hasChanged()))
      return result
    } catch (error) {
      Object.assign(logged, failed(error))
      throw error
    } finally {
      delete logged.isOpen
      logged.durationMs = Math.round(performance.now() - started)
    }
  }
}

/** Why a recorded call runs again; `undefined` if its result is returned. */
function reasonOf({ error, isOpen, mustRun }: EffectCall): string | undefined {
  if (isOpen) return 'Its turn ended in the earlier line before it did, so its outcome is unknown.'
  if (error !== undefined) return 'It failed in the earlier line.'
  return mustRun
    ? 'It ran in the earlier line, and has to run again because it, or a tool beside it, changes the session.'
    : undefined
}

function returned(result: unknown, hasChanged: boolean): Partial<EffectCall> {
  const json = jsonOf(result)
  // A transition is no JSON.
  const mustRun = hasChanged || (json === undefined && result !== undefined)
  return { ...(json !== undefined && { result: json }), ...(mustRun && { mustRun }) }
}

function failed(error: unknown): Partial<EffectCall> {
  const text = error instanceof Error ? error.message : String(error)
  if (ToolError.isInstance(error)) return { error: text, isToolError: true }
  // No double throws an error with its code.
  return { error: text, ...(FlowError.isInstance(error) && { mustRun: true }) }
}

/** The recorded calls that are left after others: each is used once. */
export function unusedCalls(recorded: readonly EffectCall[], used: readonly EffectCall[]): EffectCall[] {
  const left = [...recorded]
  for (const call of used) take(left, call)
  return left
}

/** Takes the first call of this name with these arguments. */
function take(calls: EffectCall[], { kind, name, input }: Call): EffectCall | undefined {
  const isSame = (one: EffectCall): boolean =>
    one.kind === kind && one.name === name && JSON.stringify(one.input) === JSON.stringify(input)
  const index = calls.findIndex(isSame)
  return index < 0 ? undefined : calls.splice(index, 1)[0]
}

/** What a tool may change by the turn, besides states and the context. */
const acts: ReadonlySet<unknown> = new Set(['setTimer', 'forget', 'once', 'memory', 'hideMessage', 'transient'])

/** A turn that notes whether a tool changes the session by it. */
function observe(turn: Turn, owner: Flow | Step): { readonly turn: Turn; hasChanged(): boolean } {
  let hasActed = false
  const facts: (() => unknown)[] = [() => turn.context, () => (owner instanceof Flow ? '' : owner.state)]
  const textOf = (fact: () => unknown): string => JSON.stringify(fact())
  const before = facts.map(textOf)
  const observed = new Proxy(turn, {
    get(target, key) {
      if (acts.has(key)) hasActed = true
      const value = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const result = Reflect.apply(value, target, args)
        if (key === 'stateOf') before.push(textOf(facts[facts.push(() => result) - 1] as () => unknown))
        return result
      }
    },
  })
  return { turn: observed, hasChanged: () => hasActed || facts.some((fact, index) => textOf(fact) !== before[index]) }
}

function jsonOf(value: unknown): JsonValue | undefined {
  try {
    return copyJson(value, 'value', 100)
  } catch {
    return undefined
  }
}
