/**
 * Decides whether the lock files may be committed. Each names no registry host, has an entry for every dependency,
 * platform packages of other systems included (`npm ci` refuses a lock without them, and npm leaves them out when the
 * registry in use does not carry them), and has the integrity of every package. Only optional packages of other
 * platforms than that of CI may be without: they are listed by name.
 *
 *     node .config/scripts/lock.mjs          fails on a finding
 *     node .config/scripts/lock.mjs --fix    adds the missing platform entries to package-lock.json: version from the
 *                                            parent's pin, system from the package's name, no integrity (npm never
 *                                            fetched them here)
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const systems = ['android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'aix', 'win32']
const processors = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64']
/** Where CI runs: what is installed there must have its integrity. */
const ownPlatform = { os: 'linux', cpu: 'x64', libc: 'glibc' }

/** The entry that a package in `folder` gets when it asks for `name`. */
export function resolveFrom(packages, folder, name) {
  for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const candidate = `${at === '' ? '' : `${at}/`}node_modules/${name}`
    if (packages[candidate] !== undefined) return candidate
    if (at === '') return undefined
  }
}

function platformEntry(name, version, parent) {
  const words = name.split(/[-/]/)
  const os = systems.find((system) => words.includes(system))
  const cpu = processors.find((processor) => words.includes(processor))
  if (os === undefined || cpu === undefined || !/^\d+\.\d+\.\d+/.test(version)) return undefined
  const libc =
    os !== 'linux' ? undefined : words.includes('musl') ? 'musl' : words.includes('gnu') ? 'glibc' : undefined
  return {
    version,
    cpu: [cpu],
    ...(parent.dev === true ? { dev: true } : {}),
    ...(libc === undefined ? {} : { libc: [libc] }),
    optional: true,
    os: [os],
  }
}

/**
 * What each package asks for and the lock has no entry of: the folder of the package, the kind of
 * dependency, and its range.
 */
export function missingEntries(packages) {
  return Object.entries(packages).flatMap(([folder, entry]) =>
    ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((kind) =>
      Object.entries(entry[kind] ?? {})
        .filter(([name]) => resolveFrom(packages, folder, name) === undefined)
        .map(([name, range]) => ({ folder, kind, name, range })),
    ),
  )
}

/** The entries without integrity: those that may be without, and those that may not. */
export function withoutIntegrity(packages) {
  const without = Object.entries(packages).filter(
    ([folder, entry]) => folder !== '' && entry.link !== true && !/^sha512-/.test(entry.integrity ?? ''),
  )
  const allowed = without.filter(([, entry]) => entry.optional === true && isOfOtherPlatform(entry))
  const names = (entries) => entries.map(([folder]) => folder.slice(folder.lastIndexOf('node_modules/') + 13)).sort()
  return { allowed: names(allowed), missing: names(without.filter((entry) => !allowed.includes(entry))) }
}

function isOfOtherPlatform(entry) {
  return Object.entries(ownPlatform).some(([key, own]) => entry[key] !== undefined && !entry[key].includes(own))
}

/** Everything that is wrong with the text of a lock file, in words. */
export function findingsOf(text) {
  const { packages } = JSON.parse(text)
  return [
    ...missingEntries(packages).map(
      ({ folder, name, range }) => `no entry for ${name}@${range}, which ${folder || 'the package'} asks for`,
    ),
    ...withoutIntegrity(packages).missing.map((name) => `no integrity of ${name}`),
    ...text
      .split('\n')
      .filter((line) => /"resolved": "(?!file:)|https?:\/\/[^"]*(registry|npmjs)/.test(line))
      .map((line) => `names a registry: ${line.trim()}`),
  ]
}

function fixed(text) {
  const lock = JSON.parse(text)
  for (const { folder, kind, name, range } of missingEntries(lock.packages)) {
    const added = kind === 'optionalDependencies' ? platformEntry(name, range, lock.packages[folder]) : undefined
    if (added !== undefined) lock.packages[`node_modules/${name}`] = added
  }
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en')))
  return `${JSON.stringify(lock, null, 2)}\n`
}

/** The lock files of the repository. */
function lockFiles(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}${entry.name}`
    if (entry.isDirectory()) return /^(?:node_modules|dist|\.git)$/.test(entry.name) ? [] : lockFiles(`${path}/`)
    return entry.name === 'package-lock.json' ? [path] : []
  })
}

function main() {
  if (process.argv.includes('--fix')) {
    const file = `${root}package-lock.json`
    writeFileSync(file, fixed(readFileSync(file, 'utf8')))
  }
  let count = 0
  for (const file of lockFiles(root)) {
    const text = readFileSync(file, 'utf8')
    const { packages } = JSON.parse(text)
    const findings = findingsOf(text)
    count += findings.length
    const name = relative(root, file)
    for (const finding of findings) console.error(`${name}: ${finding}`)
    const { allowed } = withoutIntegrity(packages)
    const others =
      allowed.length === 0 ? '' : `; ${allowed.length} of other platforms without integrity: ${allowed.join(', ')}`
    console.log(`${name}: ${Object.keys(packages).length} entries, ${findings.length} findings${others}`)
  }
  process.exitCode = count === 0 ? 0 : 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
