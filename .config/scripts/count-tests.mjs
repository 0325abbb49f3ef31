/**
 * Reads vitest's JSON report for `.ci/run` and prints one line for the passed tests and one for each that did not pass:
 *
 *     passed<TAB>12
 *     failed<TAB>src/a.test.ts > the name of the test
 *     left out<TAB>src/a.test.ts > the name of the test (left out: the reason)
 *
 * Skipped and unfinished tests count as failed, but for those whose name says why they are left out. So does a run that
 * failed although every test in it passed (an unhandled rejection, a file that could not be
 * loaded) or that left no report.
 *
 *     node .config/scripts/count-tests.mjs <report> <exit code of the run>
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const [report, code] = process.argv.slice(2)
const print = (kind, text) => console.log(`${kind}\t${String(text).replaceAll(/\s+/g, ' ')}`)

function readReport() {
  try {
    return JSON.parse(readFileSync(report, 'utf8'))
  } catch (error) {
    return { testResults: [], unreadable: error.message }
  }
}

const { testResults, unreadable } = readReport()
let passed = 0
const failures = []
const leftOut = []
for (const { name, status, message, assertionResults } of testResults) {
  const file = relative(process.cwd(), name)
  for (const test of assertionResults) {
    if (test.status === 'passed') passed += 1
    else if (/\(left out: .+\)$/.test(test.fullName)) leftOut.push(`${file} > ${test.fullName}`)
    else failures.push(`${file} > ${test.fullName} (${test.status})`)
  }
  if (status === 'failed' && assertionResults.every((test) => test.status !== 'failed')) {
    failures.push(`${file}: ${message || 'failed outside of its tests'}`)
  }
}
if (unreadable !== undefined) failures.push(`no test report: ${unreadable}`)
else if (passed === 0) failures.push('no test passed')
else if (code !== '0' && failures.length === 0)
  failures.push(`the run ended with code ${code} although every test passed`)

print('passed', passed)
for (const failure of failures) print('failed', failure)
for (const test of leftOut) print('left out', test)
