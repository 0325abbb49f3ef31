// Chooses the mutations that belong to a change.

/** More would take a run of `.ci/run` too long; `npm run mutate` runs all. */
const most = 24
/** What is tried where nobody can tell what changed: one for each thing that must never happen. */
export const always = [
  'stale save wins',
  'reply before the commit',
  'half a turn saved: state, though the turn failed',
  'lock not first in, first out',
  "another owner's session continued",
  'failure sent raw',
]

/**
 * @template {{ name: string, file: string, tests: readonly string[] }} Mutation
 * @param {readonly Mutation[]} mutations
 * @param {readonly string[] | undefined} changed files; `undefined` if git cannot say
 * @returns {{ chosen: readonly Mutation[], note: string }}
 */
export function chooseChanged(mutations, changed) {
  const touched = (changed ?? []).filter((file) => /\.(ts|mjs)$/.test(file))
  const belonging = mutations.filter(
    ({ file, tests }) =>
      touched.includes(file) ||
      touched.some((path) => path.includes('.test.') && tests.some((part) => path.includes(part))),
  )
  if (belonging.length === 0) {
    const reason = changed === undefined ? 'Git cannot tell what changed' : 'The change touches no file with a mutation'
    const chosen = mutations.filter(({ name }) => always.includes(name))
    return { chosen, note: `${reason}: ${chosen.length} mutations are tried in any case.` }
  }
  if (belonging.length <= most) return { chosen: belonging, note: `The change touches ${belonging.length} mutations.` }
  // Those at equal distances: some of each file.
  const chosen = Array.from({ length: most }, (_, index) => belonging[Math.floor((index * belonging.length) / most)])
  return {
    chosen: /** @type {Mutation[]} */ (chosen),
    note: `The change touches ${belonging.length} mutations, of which ${most} are tried; \`npm run mutate\` tries all.`,
  }
}
