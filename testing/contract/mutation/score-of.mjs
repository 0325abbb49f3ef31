// The share of mutants that tests noticed.

/**
 * @param {string} file
 * @param {readonly { readonly status: string }[]} results what Stryker made of the file's mutants
 * @returns {{ score: number, mutants: number, survivors: number }} the score in percent
 */
export function scoreOf(file, results) {
  // Those of types, or that no engine can load, do not count.
  const valid = results.filter(({ status }) => !['CompileError', 'RuntimeError', 'Ignored'].includes(status))
  if (valid.length === 0) throw new Error(`Stryker found nothing to change in ${file}: there is no score.`)
  const survivors = valid.filter(({ status }) => status === 'Survived' || status === 'NoCoverage').length
  return { score: (100 * (valid.length - survivors)) / valid.length, mutants: valid.length, survivors }
}
