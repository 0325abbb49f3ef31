/**
 * Compares what each entry point exports (its built declarations) with the reports under docs/api-report/. A change of
 * the public types is thus a change of a reviewed file. Needs a build.
 *
 *     node .config/scripts/api.mjs             fails on a difference and prints it
 *     node .config/scripts/api.mjs --update    rewrites the reports
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor'

const path = (relative) => fileURLToPath(new URL(`../../${relative}`, import.meta.url))
const update = process.argv.includes('--update')
const folder = path('docs/api-report')
const manifest = JSON.parse(readFileSync(path('package.json'), 'utf8'))

const entries = Object.entries(manifest.exports)
  .filter(([, target]) => typeof target === 'object')
  .map(([subpath, target]) => ({ name: subpath === '.' ? 'index' : subpath.slice(2).replaceAll('/', '-'), target }))

/**
 * The report of the root has the types that only complete another one, too, though nobody can import them. Other
 * reports leave out what they mention of the root. Typedoc finds a type that is neither exported nor marked `@inline`.
 */
function configFor({ name, target }) {
  const configObjectFullPath = path('.config/api-extractor.json')
  const configObject = ExtractorConfig.loadFile(configObjectFullPath)
  configObject.mainEntryPointFilePath = path(target.types)
  configObject.apiReport.reportFileName = `${name}.api.md`
  configObject.apiReport.includeForgottenExports = name === 'index'
  return ExtractorConfig.prepare({ configObject, configObjectFullPath, packageJsonFullPath: path('package.json') })
}

mkdirSync(folder, { recursive: true })
mkdirSync(path('.reports/api'), { recursive: true })
let failures = 0
for (const entry of entries) {
  const result = Extractor.invoke(configFor(entry), { localBuild: update, printApiReportDiff: true })
  if (!result.succeeded) failures += 1
  const state = result.succeeded ? (result.apiReportChanged ? 'rewritten' : 'unchanged') : 'FAILED'
  console.log(`${entry.name}.api.md: ${state}`)
}

for (const file of readdirSync(folder)) {
  if (entries.some(({ name }) => file === `${name}.api.md`)) continue
  if (update) rmSync(`${folder}/${file}`)
  else failures += 1
  console.log(`${file}: belongs to no entry point${update ? ', removed' : ''}`)
}
if (failures > 0)
  console.error('The public types changed: if that is meant, run `npm run api -- --update` and commit it.')
process.exitCode = failures === 0 ? 0 : 1
