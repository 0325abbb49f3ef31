/** Which cases are left out, and why. A name or a reason that says nothing is refused before anything is registered. */
import type { SuiteCase } from './suite-case.js'
import type { SessionStoreSuiteOptions } from './suite-options.js'

/**
 * Reasons by case name: what the caller left out, and what it gave no means for.
 *
 * @throws Error for an unknown name or a blank reason.
 */
export function findLeftOut(
  cases: readonly SuiteCase[],
  options: SessionStoreSuiteOptions,
): ReadonlyMap<string, string> {
  const reasons = new Map<string, string>()
  for (const { name, needs } of cases) {
    if (needs !== undefined && options[needs] === undefined) reasons.set(name, `options.${needs} was not given`)
  }
  const known = new Set(cases.map(({ name }) => name))
  for (const [name, reason] of Object.entries(options.leaveOut ?? {})) {
    if (!known.has(name)) {
      throw new Error(`sessionStoreSuite: there is no case '${name}' to leave out. The cases are: ${list(known)}.`)
    }
    if (typeof reason !== 'string' || reason.trim() === '') {
      throw new Error(`sessionStoreSuite: the case '${name}' is left out without a reason.`)
    }
    reasons.set(name, reason)
  }
  return reasons
}

function list(names: Iterable<string>): string {
  return Array.from(names, (name) => `'${name}'`).join(', ')
}
