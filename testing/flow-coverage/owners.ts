/** Who has a tool or an event that was used in a step: the step itself, a flow around it, or the outermost flow. */

/** A tool or an event, and the step or the called flow that has it; absent for one of the outermost flow. */
interface Owned {
  readonly step?: string
  readonly name: string
}

/**
 * The ID of the step or the called flow that has a name, the innermost one first; `null` for the outermost flow,
 * `undefined` if none of them has it.
 *
 * @param at - The step in which it was used.
 */
export function ownerOf(owned: readonly Owned[], at: string, name: string): string | null | undefined {
  const owners = owned.filter((one) => one.name === name).map(({ step }) => step ?? null)
  const isAround = (owner: string | null): boolean => owner === at || (owner !== null && at.startsWith(`${owner}/`))
  const [innermost] = owners.filter(isAround).sort((one, other) => (other?.length ?? 0) - (one?.length ?? 0))
  return innermost ?? (owners.includes(null) ? null : undefined)
}

/** The same for an event, which a step that waits for a return may have taken: the only one that has it. */
export function takerOf(owned: readonly Owned[], at: string, name: string): string | null | undefined {
  const owner = ownerOf(owned, at, name)
  const [only, another] = owned.filter((one) => one.name === name)
  return owner === undefined && another === undefined ? only?.step : owner
}
