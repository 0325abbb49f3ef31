/**
 * How much of the script of a flow service was used. `msw/service-turn.ts` has what it may say, and
 * `msw/scripted-service.ts` runs the turns.
 */
import { invalidInput } from '../../src/util/options.js'
import { count, ExpectationError, show } from '../expectations/expectation-error.js'
import { turnProblem } from './check-turn.js'
import type { FlowServiceRun, FlowServiceScript, ServiceTurn, ServiceTurnFunction } from './service-turn.js'

/** How many turns of a script are shown around the place in question. */
const shownTurns = 5

/** A script, and how much of it was used. */
export class ServiceScriptReader {
  readonly #script: FlowServiceScript
  readonly #mistakes: ExpectationError[] = []
  readonly #runs: readonly FlowServiceRun[]
  #used = 0

  /**
   * @param runs - all requests so far; the caller adds the next ones
   * @throws `InvalidInputError` that names the first turn that is wrong
   */
  constructor(script: FlowServiceScript, runs: readonly FlowServiceRun[]) {
    const turns = typeof script === 'function' ? [] : script
    for (const [index, turn] of turns.entries()) {
      const problem = typeof turn === 'function' ? undefined : turnProblem(turn)
      if (problem === undefined) continue
      throw invalidInput(`flowServiceHandlers: turn ${index + 1} of the script is ${show(turn, 100)}. ${problem}`)
    }
    this.#script = script
    this.#runs = runs
  }

  /**
   * The turn for a request.
   *
   * @throws {@link ExpectationError} if the script has none; `assertDone` throws it again.
   */
  async take(run: FlowServiceRun): Promise<Exclude<ServiceTurn, string>> {
    const entry = typeof this.#script === 'function' ? this.#script : this.#script[this.#used]
    if (entry === undefined) {
      throw this.#mistake(
        `The flow service was asked once more than its script says: ${whereOf(run)}.\n  script: ${this.#shown()}\nAdd a turn to the script, or find out why the page asks again.`,
      )
    }
    if (typeof this.#script !== 'function') this.#used++
    const turn = typeof entry === 'function' ? await this.#call(entry, run) : entry
    if (typeof turn === 'string') return { reply: turn }
    const problem = turnProblem(turn)
    if (problem === undefined) return turn as Exclude<ServiceTurn, string>
    throw this.#mistake(
      `The script of the flow service has no turn for ${whereOf(run)}: its function returned ${show(turn)}.\n${problem}`,
    )
  }

  /**
   * Fails if turns are left, or a request found none.
   *
   * @throws {@link ExpectationError} that lists the turns that are left, and the requests.
   */
  assertDone(): void {
    const [mistake] = this.#mistakes
    if (mistake !== undefined) throw mistake
    const left = typeof this.#script === 'function' ? 0 : this.#script.length - this.#used
    if (left === 0) return
    throw new ExpectationError(
      `The script of the flow service was not used up: ${count(left, 'turn')} of ${this.#script.length} left.\n  script: ${this.#shown()}\n  requests: ${this.#asked()}\nTake out what is not needed, or find out why the page does not ask.`,
    )
  }

  async #call(entry: ServiceTurnFunction, run: FlowServiceRun): Promise<ServiceTurn | undefined> {
    try {
      return await entry(run)
    } catch (cause) {
      throw this.#mistake(
        `The script of the flow service threw for ${whereOf(run)}: ${show(cause)}\nA turn that is meant to fail is { failure: 'FLOW_ERROR' }.`,
        cause,
      )
    }
  }

  #mistake(message: string, cause?: unknown): ExpectationError {
    const error = new ExpectationError(message, { cause })
    this.#mistakes.push(error)
    return error
  }

  #shown(): string {
    if (typeof this.#script === 'function') return 'a function'
    const { length } = this.#script
    if (length === 0) return 'empty'
    const first = Math.max(0, Math.min(this.#used - 2, length - shownTurns))
    const shown = this.#script.slice(first, first + shownTurns).map((turn, index) => {
      const number = first + index + 1
      return `${number}. ${typeof turn === 'function' ? 'a function' : show(turn, 60)}${number <= this.#used ? ' (used)' : ''}`
    })
    const after = length - first - shown.length
    return `${first > 0 ? `(${first} before) ` : ''}${shown.join('  ')}${after > 0 ? ` (${after} more)` : ''}`
  }

  #asked(): string {
    const last = this.#runs.slice(-shownTurns)
    const before = this.#runs.length - last.length
    const shown = last.map(({ number, flowName, message }) => `${number}. ${flowName} ${show(message, 60)}`)
    return shown.length === 0 ? 'none' : `${before > 0 ? `(${before} before) ` : ''}${shown.join('  ')}`
  }
}

function whereOf({ number, flowName, message, sessionId }: FlowServiceRun): string {
  return `request ${number}, flow '${flowName}', ${sessionId === '' ? 'a new session' : `session '${sessionId}'`}, message ${show(message, 60)}`
}
