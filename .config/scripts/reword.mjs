/**
 * Changes a piece of a message in the sources and wherever it is pinned: tests, examples and pages. Prints the files.
 *
 *     node .config/scripts/reword.mjs 'is not registred' 'is not registered'
 */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const [from, to] = process.argv.slice(2)
const folders = ['src', 'adapters', 'testing', 'examples', 'docs', 'README.md']
/** The contract's own words, records of what was said once, and what is generated stay as they are. */
const left = /^(docs\/(decisions|api-report)\/|testing\/contract\/requirements\.ts)/

if (!from || to === undefined) {
  console.error("Usage: npm run reword -- 'the old words' 'the new words'")
  process.exit(1)
}

/** The ways in which a text stands in a literal with these quotes, in a pattern and in a page. */
const forms = [(text) => text, (text) => text.replaceAll("'", "\\'"), (text) => text.replaceAll(/[.?()[\]/]/g, '\\$&')]
const files = execFileSync('git', ['ls-files', ...folders], { encoding: 'utf8' })
  .trim()
  .split('\n')
const changed = []
for (const file of files.filter((path) => /\.(ts|mjs|js|json|md)$/.test(path) && !left.test(path))) {
  const text = readFileSync(file, 'utf8')
  const reworded = forms.reduce((result, form) => result.replaceAll(form(from), () => form(to)), text)
  if (reworded === text) continue
  writeFileSync(file, reworded)
  changed.push(file)
}
if (!changed.some((file) => /^(src|adapters)\//.test(file) && !file.includes('.test'))) {
  console.error(`No source says '${from}'. Look at the difference before you go on.`)
  process.exitCode = 1
}
for (const file of changed) console.log(file)
