/**
 * Writes what this package is made of to `.reports/sbom/`: bills of materials (CycloneDX), of everything that is
 * installed here and of what an application installs with the package, and a list of licences of both. Fails if a
 * production dependency has a licence that is not in the list below.
 *
 *     node .config/scripts/sbom.mjs
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { resolveFrom } from './lock.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Licences under which a production dependency may be. They ask for no more than that their text goes with the copy.
 */
export const permissiveLicences = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
  'Zlib',
]

/**
 * Whether all parts of an SPDX expression, or one of its choices, are in the list. Nested choices
 * count as not permissive.
 */
export function isPermissive(licence) {
  const text = (licence ?? '').trim().replace(/^\((.*)\)$/, '$1')
  return text.split(' OR ').some((choice) => choice.split(' AND ').every((name) => permissiveLicences.includes(name)))
}

/**
 * Every entry of a lock that an application installs with the package, by its folder. Optional
 * peers are its own choice.
 */
export function productionEntries(packages) {
  const found = new Set()
  const visit = (folder) => {
    const { dependencies = {}, optionalDependencies = {} } = packages[folder]
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const entry = resolveFrom(packages, folder, name)
      if (entry === undefined || found.has(entry)) continue
      found.add(entry)
      visit(entry)
    }
  }
  visit('')
  return [...found].sort()
}

/** A line for each entry: name, version, licence, and what installs it. */
export function licenceList(packages) {
  const production = new Set(productionEntries(packages))
  return Object.entries(packages)
    .filter(([folder, entry]) => folder !== '' && entry.link !== true)
    .map(([folder, { version, license }]) => ({
      name: folder.slice(folder.lastIndexOf('node_modules/') + 13),
      version,
      licence: license ?? 'unknown',
      use: production.has(folder) ? 'production' : 'development',
    }))
}

/** The bill without what is not among `names`, each `name@version`. */
function reduced(bill, names) {
  return {
    ...bill,
    components: bill.components.filter((component) => names.has(component['bom-ref'])),
    dependencies: bill.dependencies
      .filter(({ ref }) => names.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((name) => names.has(name)) })),
  }
}

function main() {
  const { packages } = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8'))
  const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  // `--omit dev` of npm also omits what both need, so the bill of production is a part of the whole one.
  const printed = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const bill = JSON.parse(printed)
  // npm takes the name of the folder.
  bill.metadata.component.name = manifest.name
  const list = licenceList(packages)
  const production = list.filter(({ use }) => use === 'production')
  const names = new Set(production.map(({ name, version }) => `${name}@${version}`))
  names.add(`${manifest.name}@${manifest.version}`)
  const folder = `${root}.reports/sbom/`
  mkdirSync(folder, { recursive: true })
  const write = (name, value) => writeFileSync(`${folder}${name}`, `${JSON.stringify(value, null, 2)}\n`)
  write('all.cdx.json', bill)
  write('production.cdx.json', reduced(bill, names))
  write('licences.json', list)
  for (const { name, version, licence } of production) console.log(`${name} ${version}: ${licence}`)
  const refused = production.filter(({ licence }) => !isPermissive(licence))
  for (const { name, licence } of refused) console.error(`${name} has the licence ${licence}, which is not in the list`)
  console.log(`.reports/sbom: ${bill.components.length} components, ${production.length} of them in production`)
  process.exitCode = refused.length === 0 ? 0 : 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
