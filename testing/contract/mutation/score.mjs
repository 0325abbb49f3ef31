// Prints the mutation scores of docs/contributing.md: of each file of scored-files.mjs, with the
// tests that belong to it.
//
//   npm run mutation-score                          all of them, in about a quarter of an hour
//   npm run mutation-score -- adapters/fetch/cors   those whose paths have one of the words
import { fileURLToPath } from 'node:url'
import { scoreOf } from './score-of.mjs'
import { scoredFiles } from './scored-files.mjs'
import { runStryker } from './stryker.mjs'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const words = process.argv.slice(2)
const least = 90
/** @type {string[]} */
const rows = []
for (const { file, tests } of chosenFiles()) {
  const { score, mutants, survivors } = scoreOf(file, await runStryker(root, [file], tests))
  rows.push(`| \`${file}\` | ${score.toFixed(1)} % | ${mutants} | ${survivors} |`)
  if (score < least) process.exitCode = 1
}
console.log(['', '| file | score | mutants | survivors |', '|---|---|---|---|', ...rows].join('\n'))

/** The files whose paths have one of the words; a word that is in none would measure nothing, and fails. */
function chosenFiles() {
  const unknown = words.find((word) => !scoredFiles.some(({ file }) => file.includes(word)))
  if (unknown !== undefined) {
    const known = scoredFiles.map(({ file }) => file)
    console.error([`None of the scored files has '${unknown}' in its path:`, ...known].join('\n'))
    process.exit(1)
  }
  return words.length === 0 ? scoredFiles : scoredFiles.filter(({ file }) => words.some((word) => file.includes(word)))
}
