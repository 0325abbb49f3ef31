/**
 * The options of a `Judge`, and their check: a misspelt one would do nothing, and a wrong one would show only when a
 * reply is judged.
 */
import type { RuntimeModel } from '../../src/index.js'
import { checkNumber, checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'

/** The options of `Judge`. */
export interface JudgeOptions {
  /**
   * The file of the recordings, beside the test: `new URL('./desk.meanings.json', import.meta.url)`, its text, or a
   * path.
   */
  readonly recordings: string | URL
  /**
   * Whether a reply that is not recorded is given to the model. What the model accepts is recorded. Take it from a
   * variable of the environment that only a developer sets. Default `false`: such a reply fails the test.
   */
  readonly record?: boolean
  /**
   * Makes the model that judges: what `resolve` of a provider returns. It is required, and called only when something
   * is recorded: without `record` no key is needed.
   */
  readonly model: () => RuntimeModel | Promise<RuntimeModel>
  /**
   * Milliseconds of real time after which a judgement fails that the model has not made; its call is aborted.
   * `Infinity`: never. Default 30 000, because the model is asked over a network: give a test that records a higher
   * time limit.
   */
  readonly hangAfterMs?: number
}

const names: OptionNames<JudgeOptions> = { recordings: true, record: true, model: true, hangAfterMs: true }

/** @throws `InvalidInputError` that names the first option that is unknown, missing or wrong. */
export function checkJudgeOptions(options: JudgeOptions): void {
  checkOptionNames('Judge', options, names)
  const { recordings, record, model, hangAfterMs } = options
  if (!isPath(recordings)) {
    throw invalidInput('Judge: recordings must be a path or a file: URL, in which the character % is written %25.')
  }
  if (record !== undefined && typeof record !== 'boolean') throw invalidInput('Judge: record must be true or false.')
  if (typeof model !== 'function') {
    throw invalidInput('Judge: model must be a function that returns the model; it is called only to record.')
  }
  if (hangAfterMs !== undefined) checkNumber('Judge', 'hangAfterMs', hangAfterMs)
}

/** A URL need not be an instance of this realm's class: simulated browsers have their own. */
function isPath(value: string | Partial<URL> | null | undefined): boolean {
  if (typeof value === 'string') return value !== ''
  if (value?.protocol !== 'file:' || typeof value.pathname !== 'string') return false
  try {
    decodeURIComponent(value.pathname)
    return true
  } catch {
    return false
  }
}
