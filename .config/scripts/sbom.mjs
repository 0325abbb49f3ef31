/**
 * Writes what this package is made of to `.reports/sbom/`: bills of materials (CycloneDX), of everything that is
 * installed here and of what comes with the package, and a list of licences of both. Fails if something that comes with
 * the package has a licence that is not in the list below.
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

/** The packages that the build writes into the studio's page: they come with the package, and nobody installs them. */
export const inlinedPackages = ['preact', '@dagrejs/dagre', '@dagrejs/graphlib']

/**
 * Every entry of a lock that comes with the package, by its folder: what an application installs with it, and what is
 * inlined. Optional peers are the application's own choice.
 */
export function productionEntries(packages) {
  const inlined = inlinedPackages.map((name) => `node_modules/${name}`)
  const found = new Set(inlined.filter((folder) => packages[folder] !== undefined))
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
      name: nameOf(folder),
      version,
      licence: license ?? 'unknown',
      use: production.has(folder) ? 'production' : 'development',
    }))
}

/**
 * The bill of what comes with the package, installed beside it, as CycloneDX. The build writes it to
 * `dist/sbom.cdx.json`, from the lock alone.
 */
export function productionBill(packages) {
  const { name, version, license } = packages['']
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: { component: { type: 'library', ...component(name, version, license) } },
    components: productionEntries(packages).map((folder) => {
      const entry = packages[folder]
      const content = Buffer.from(entry.integrity.slice('sha512-'.length), 'base64').toString('hex')
      const hashes = [{ alg: 'SHA-512', content }]
      return { type: 'library', ...component(nameOf(folder), entry.version, entry.license), hashes }
    }),
  }
}

function component(name, version, licence) {
  const reference = `${name}@${version}`
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return { 'bom-ref': reference, name, version, purl, licenses: [{ license: { id: licence } }] }
}

function nameOf(folder) {
  return folder.slice(folder.lastIndexOf('node_modules/') + 13)
}

/** The entries of this repository's lock, by folder. */
export function readLock() {
  return JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8')).packages
}

function main() {
  const packages = readLock()
  const printed = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const bill = JSON.parse(printed)
  // npm takes the name of the folder.
  bill.metadata.component.name = packages[''].name
  const list = licenceList(packages)
  const production = list.filter(({ use }) => use === 'production')
  const folder = `${root}.reports/sbom/`
  mkdirSync(folder, { recursive: true })
  const write = (name, value) => writeFileSync(`${folder}${name}`, `${JSON.stringify(value, null, 2)}\n`)
  write('all.cdx.json', bill)
  write('production.cdx.json', productionBill(packages))
  write('licences.json', list)
  for (const { name, version, licence } of production) console.log(`${name} ${version}: ${licence}`)
  const refused = production.filter(({ licence }) => !isPermissive(licence))
  for (const { name, licence } of refused) console.error(`${name} has the licence ${licence}, which is not in the list`)
  console.log(`.reports/sbom: ${bill.components.length} components, ${production.length} of them in production`)
  process.exitCode = refused.length === 0 ? 0 : 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
