/**
 * Records the effects of a flow during a conversation: the work of `turn.once`, and the tools. It counts actual runs
 * across retries and restarts, and can kill the process just after an effect; `conversation/world/process-death.ts`
 * does the killing.
 */
import type { Tool, Turn } from '../../../src/index.js'
import { ObservedPromise } from '../../../src/util/observed-promise.js'
import { type CallPlace, callPlace, placeText } from '../../expectations/call-place.js'
import { list, show } from '../../expectations/expectation-error.js'
import { withExecute } from '../../tool-doubles/with-execute.js'
import type { Problem } from '../expect/problem.js'
import type { ConversationTurn } from '../turns/conversation-turn.js'

/**
 * When a process dies: before the result of the effect is stored, or with the result, before the turn is committed.
 *
 * @inline
 */
export type DeathBefore = 'result' | 'commit'

/** One run of the work of `turn.once`, or of a tool. */
interface EffectRun {
  readonly name: string
  readonly by: 'once' | 'tool'
  /** The number and the message of the turn. */
  readonly turn: number
  readonly said: string
  /** Whether it failed; then it does not count. */
  readonly threw: boolean
  /** Whether the outcome of an earlier run was unknown. */
  readonly uncertain: boolean
}

/** One call of `turn.once`. */
interface OnceCall {
  readonly name: string
  readonly turn: Turn
  /** The line that called it. */
  readonly place: CallPlace
  readonly result: ObservedPromise<unknown>
}

interface Death {
  readonly name: string
  readonly before: DeathBefore
  die(): void
}

type Once = Turn['once']
type Work<T> = (attempt: Parameters<Parameters<Once>[1]>[0]) => T | PromiseLike<T>
type OnceOptions = Parameters<Once>[2]

/** The effects of one conversation. */
export class EffectLog {
  readonly #runs: EffectRun[]
  readonly #watched = new WeakSet<Turn>()
  /** The calls of `turn.once` since the last message began. */
  #calls: OnceCall[] = []
  #death: Death | undefined

  /** @param from - The effects of the conversation that this one continues. */
  constructor(from?: EffectLog) {
    this.#runs = from === undefined ? [] : [...from.#runs]
  }

  /** The effect that a death waits for; `undefined` if none is prepared. */
  get awaited(): string | undefined {
    return this.#death?.name
  }

  /** The names of the effects that ran. */
  get ran(): ReadonlySet<string> {
    return new Set(this.#runs.map(({ name }) => name))
  }

  /** Kills the process after the next run of an effect. */
  dieAfter(death: Death): void {
    this.#death = death
  }

  /** Counts the runs of `turn.once` in this turn. */
  watch(turn: Turn): void {
    if (this.#watched.has(turn)) return
    this.#watched.add(turn)
    const once: Once = turn.once.bind(turn)
    const watched: Once = <T>(name: string, work: Work<T>, options: OnceOptions) => {
      const result = ObservedPromise.of(this.#once(once, turn, name, work, options))
      this.#calls.push({ name, turn, place: callPlace(), result })
      return result
    }
    Object.defineProperty(turn, 'once', { value: watched })
  }

  /** The same tools; their calls are counted. */
  watchTools(tools: readonly Tool[]): readonly Tool[] {
    return tools.map((tool) => {
      // The engine refuses anything that is not a tool.
      if (typeof tool?.execute !== 'function') return tool
      return withExecute(tool, (args, turn, call) =>
        this.#run({ name: tool.name, by: 'tool', turn: turn.number, said: turn.message, uncertain: false }, () =>
          tool.execute(args, turn, call),
        ),
      )
    })
  }

  /** A message begins: calls of earlier turns were checked. */
  forget(): void {
    this.#calls = []
  }

  /** The problem of a call of `turn.once` that flow code did not wait for, in one of these turns that has succeeded. */
  awaitProblem(turns: readonly ConversationTurn[]): Problem | undefined {
    for (const {
      name,
      turn: { number, session },
      place,
      result,
    } of this.#calls) {
      if (result.isObserved) continue
      const turn = turns.find(
        ({ reply, number: its }) => reply.success && reply.session === session.id && its === number,
      )
      if (turn === undefined) continue
      const text = `turn.once('${String(name)}') was not awaited: the turn can end before its work does, and without the result a later call runs the work again. Write: await turn.once(...).${placeText('called', place)}`
      return { text, turn }
    }
    return undefined
  }

  /** The problem of an effect that did not run exactly once. */
  onceProblem(name: string): Problem | undefined {
    const all = this.#runs.filter((run) => run.name === name)
    // A tool may be named like the work that it does once.
    const ofOnce = all.filter(({ by }) => by === 'once')
    const runs = ofOnce.length > 0 ? ofOnce : all
    const done = runs.filter(({ threw }) => !threw)
    if (done.length === 1) return undefined
    const lines = runs.map((run) => `\n  - ${shown(run)}`).join('')
    const ran = done.length === 0 ? 'did not run' : `ran ${done.length} times`
    const known = runs.length > 0 ? lines : ` What ran: ${list(this.ran)}.`
    return {
      text: `Expected '${name}' to run exactly once in the whole conversation, but it ${ran}${runs.length > 0 ? ':' : '.'}${known}`,
      expected: 1,
      actual: done.length,
    }
  }

  async #once<T>(once: Once, turn: Turn, name: string, work: Work<T>, options: OnceOptions): Promise<T> {
    let hasRun = false
    const run: Work<T> = (attempt) => {
      hasRun = true
      const { uncertain } = attempt
      return this.#run({ name, by: 'once', turn: turn.number, said: turn.message, uncertain }, () => work(attempt))
    }
    // The engine refuses anything that is not a function.
    const result = await once(name, typeof work === 'function' ? run : work, options)
    if (hasRun) await this.#dieIfPrepared(name, 'commit')
    return result
  }

  async #run<T>(run: Omit<EffectRun, 'threw'>, work: () => T | PromiseLike<T>): Promise<T> {
    let result: T
    try {
      result = await work()
    } catch (error) {
      this.#runs.push({ ...run, threw: true })
      throw error
    }
    this.#runs.push({ ...run, threw: false })
    // The result of a tool is stored only with the turn.
    await this.#dieIfPrepared(run.name, run.by === 'tool' ? this.#death?.before : 'result')
    return result
  }

  /** Kills the process if this is the prepared effect. After that, none of its code continues. */
  async #dieIfPrepared(name: string, before: DeathBefore | undefined): Promise<void> {
    const death = this.#death
    if (death?.name !== name || death.before !== before) return
    this.#death = undefined
    death.die()
    await new Promise(() => undefined)
  }
}

function shown({ turn, said, threw, uncertain, by }: EffectRun): string {
  const notes = [
    ...(by === 'tool' ? ['as a tool'] : []),
    ...(threw ? ['failed, and does not count'] : []),
    ...(uncertain ? ['knowing that the outcome of an earlier run is unknown'] : []),
  ]
  return `in turn ${turn}, ${show(said, 60)}${notes.length === 0 ? '' : `, ${notes.join(', ')}`}`
}
