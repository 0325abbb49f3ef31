/**
 * Decides whether package-lock.json may be committed: it names no registry host, and it has an entry for every
 * dependency, platform packages of other systems included (`npm ci` refuses a lock without them, and npm leaves them
 * out when the registry in use does not carry them).
 *
 *     node .config/scripts/lock.mjs          fails on a finding
 *     node .config/scripts/lock.mjs --fix    adds the missing platform entries: version from the parent's pin, system
 *                                            from the package's name, no integrity (npm never fetched them here)
 */
import { readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../../package-lock.json', import.meta.url)
const text = readFileSync(file, 'utf8')
const lock = JSON.parse(text)
const fix = process.argv.includes('--fix')
const findings = []

const systems = ['android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'aix', 'win32']
const processors = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'x64']

function resolveFrom(folder, name) {
  for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const candidate = `${at === '' ? '' : `${at}/`}node_modules/${name}`
    if (lock.packages[candidate] !== undefined) return candidate
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

for (const [folder, entry] of Object.entries(lock.packages)) {
  for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    for (const [name, range] of Object.entries(entry[kind] ?? {})) {
      if (resolveFrom(folder, name) !== undefined) continue
      const added = fix && kind === 'optionalDependencies' ? platformEntry(name, range, entry) : undefined
      if (added === undefined) findings.push(`no entry for ${name}@${range}, which ${folder || 'the package'} asks for`)
      else lock.packages[`node_modules/${name}`] = added
    }
  }
}
for (const line of text.split('\n')) {
  if (/"resolved"|https?:\/\/[^"]*(registry|npmjs)/.test(line)) findings.push(`names a registry: ${line.trim()}`)
}

if (fix) {
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, 'en')))
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
}
for (const finding of findings) console.error(`package-lock.json: ${finding}`)
console.log(`package-lock.json: ${Object.keys(lock.packages).length} entries, ${findings.length} findings`)
process.exitCode = findings.length === 0 ? 0 : 1
