// Plays of random actions that a model checks: see waiting/ and side-flows/.
import fc from 'fast-check'

/** One play. Each action rejects if the engine and the model differ. */
interface RandomPlay<Action> {
  act(action: Action): Promise<void>
}

/** Plays so many times, prints what happened, and returns how often, by what the plays have counted. */
export async function playAtRandom<Action>(
  title: string,
  action: fc.Arbitrary<Action>,
  begin: (count: (what: string) => void) => RandomPlay<Action>,
  { numRuns, seed, maxLength, toRepeat }: Record<'numRuns' | 'seed' | 'maxLength', number> & { toRepeat: string },
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)
  const actions = fc.array(action, { minLength: 5, maxLength, size: 'max' })
  await fc.assert(
    fc.asyncProperty(fc.noBias(actions), async (list) => {
      const play = begin(count)
      for (const one of list) await play.act(one)
    }),
    { numRuns, seed },
  )
  const happened = [...counts].map(([what, times]) => `${what} ${times}`).join(', ')
  console.log(`${title}: ${numRuns} runs: ${happened} (${toRepeat})`)
  return counts
}
