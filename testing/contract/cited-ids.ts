// Finds the requirement ids that tests cite in their titles. A citation counts only in the title of a test that runs,
// according to test-titles.ts. coverage.test.ts decides which files are read, and what happens if a requirement is not
// cited.
import ts from 'typescript'
import { findTestTitles } from './test-titles.js'

const CITATION = /\[((?:\d+(?:\.\d+)?-\d+)(?: \d+(?:\.\d+)?-\d+)*)\]/g

/**
 * The ids cited by the tests of one file, each once, in the order they appear.
 *
 * @param source the text of a TypeScript file
 *
 * @example
 * ```ts
 * findCitedIds("test('[4.1-3 4.1-9] a failure is an envelope', run)") // ['4.1-3', '4.1-9']
 * findCitedIds("test.skip('[4.1-3] later', run)") // []
 * ```
 */
export function findCitedIds(source: string): string[] {
  const cited = findTestTitles(source).flatMap((title) =>
    Array.from(title.matchAll(CITATION), ([, ids = '']) => ids.split(' ')).flat(),
  )
  return [...new Set(cited)]
}

/**
 * The relative imports of a test file that hold shared test bodies: files whose names end in `cases` or `suite`. They
 * are not test files themselves, so their titles count for the test files that run them.
 */
export function findSharedBodies(source: string): string[] {
  return ts
    .preProcessFile(source)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((name) => /^\.{1,2}\/(?:.*[/-])?(?:cases|suite)\.js$/.test(name))
}
