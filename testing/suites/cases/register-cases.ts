/**
 * Registers the cases of a suite with the caller's runner: which are left out, and why. An unknown name or an empty
 * reason is refused before any case is registered.
 */
import { invalidInput } from '../../../src/util/options.js'

/**
 * The caller's way to register a test: `test` of vitest, Jest, Bun or `node:test`, `Deno.test`, or a function of one's
 * own. Nothing else of a runner is used.
 */
export interface SuiteTest {
  (name: string, body: () => Promise<void>): unknown
  /** Registers a test that is not run. Default: a case that is left out is registered as a test that does nothing. */
  readonly skip?: (name: string, body: () => Promise<void>) => unknown
}

/** The fields of a case that this file reads. */
interface NamedCase {
  readonly name: string
  /** The options that the case needs. */
  readonly needs?: readonly string[]
}

interface LeaveOutOptions {
  readonly leaveOut?: Readonly<Record<string, string>>
}

/**
 * Registers every case with the caller's `test`.
 *
 * @param suite - The name of the suite, for error messages.
 * @throws Error for an unknown name or a blank reason.
 */
export function registerCases<Case extends NamedCase>(
  test: SuiteTest,
  suite: string,
  cases: readonly Case[],
  options: LeaveOutOptions,
  run: (suiteCase: Case) => Promise<void>,
): void {
  const leftOut = findLeftOut(suite, cases, options)
  for (const suiteCase of cases) {
    const reason = leftOut.get(suiteCase.name)
    if (reason === undefined) test(suiteCase.name, () => run(suiteCase))
    else registerLeftOut(test, `${suiteCase.name} (left out: ${reason})`)
  }
}

function registerLeftOut(test: SuiteTest, name: string): void {
  const nothing = async (): Promise<void> => undefined
  if (typeof test.skip === 'function') test.skip(name, nothing)
  else test(name, nothing)
}

/** Reasons by case name: the caller's, and those of cases whose option is missing. */
function findLeftOut(
  suite: string,
  cases: readonly NamedCase[],
  options: LeaveOutOptions,
): ReadonlyMap<string, string> {
  const reasons = missingOptions(cases, options)
  const known = cases.map(({ name }) => name)
  for (const [name, reason] of Object.entries(options.leaveOut ?? {})) {
    const named = known.filter((known) => known === name || known.startsWith(`${name}: `))
    if (named.length === 0) {
      throw invalidInput(`${suite}: there is no case '${name}' to leave out. The cases are: ${list(known)}.`)
    }
    if (typeof reason !== 'string' || reason.trim() === '') {
      throw invalidInput(`${suite}: the case '${name}' is left out without a reason.`)
    }
    for (const name of named) reasons.set(name, reason)
  }
  return reasons
}

function missingOptions(cases: readonly NamedCase[], options: LeaveOutOptions): Map<string, string> {
  const reasons = new Map<string, string>()
  for (const { name, needs } of cases) {
    const missing = needs?.find((option) => !Object.entries(options).some(given(option)))
    if (missing !== undefined) reasons.set(name, `options.${missing} was not given`)
  }
  return reasons
}

const given =
  (option: string) =>
  ([key, value]: readonly [string, unknown]): boolean =>
    key === option && value !== undefined && value !== false

function list(names: Iterable<string>): string {
  return Array.from(names, (name) => `'${name}'`).join(', ')
}
