// Changes the code and sees the tests fail: a fault that no test notices is printed.
//
//   npm run mutate                     Stryker on the files of scored-files.mjs: fails below 90 % in one of them
//   npm run mutate -- draft lock       those whose paths have one of the words
//   npm run mutate -- queries          the faults of query-mutations.mjs, over real servers: fails if one survives
//   npm run mutate -- queries stale    those whose names have one of the words
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const [first, ...others] = process.argv.slice(2)
process.chdir(root)
if (first === 'queries') {
  const { runQueryMutations } = await import('./run-query-mutations.mjs')
  process.exitCode = await runQueryMutations(root, others)
} else {
  const { runStryker } = await import('./run-stryker.mjs')
  process.exitCode = await runStryker(first === undefined ? [] : [first, ...others])
}
