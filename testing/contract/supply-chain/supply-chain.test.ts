// The checks of what this package is made of find what they are there for. They run in .ci/run over the real files.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }

type Entry = Readonly<Record<string, unknown>>
type Packages = Readonly<Record<string, Entry>>
interface Judgement {
  readonly verdict: string
  readonly text: string
}

// Scripts without types of their own: Node runs them as they are.
const scripts = new URL('../../../.config/scripts/', import.meta.url)
const scriptOf = (name: string): Promise<unknown> => import(new URL(`${name}.mjs`, scripts).href)
const { findingsOf, withoutIntegrity } = (await scriptOf('lock')) as {
  findingsOf(text: string): string[]
  withoutIntegrity(packages: Packages): { allowed: string[]; missing: string[] }
}
const { isPermissive, licenceList, productionBill, productionEntries, readLock } = (await scriptOf('sbom')) as {
  isPermissive(licence: string | undefined): boolean
  readLock(): Packages
  productionEntries(packages: Packages): string[]
  productionBill(packages: Packages): { components: { name: string; hashes: { content: string }[] }[] }
  licenceList(packages: Packages): Readonly<Record<string, string>>[]
}
const { judgeVulnerabilities, judgeSignatures } = (await scriptOf('audit')) as {
  judgeVulnerabilities(output: string, folders: readonly string[]): Judgement
  judgeSignatures(output: string): Judgement
}
const { missingFields } = (await scriptOf('publishable')) as { missingFields(manifest: Entry): string[] }

const integrity = 'sha512-AAAA'

describe('a lock file', () => {
  const whole: Packages = {
    '': { dependencies: { a: '1.0.0' }, devDependencies: { b: '1.0.0' } },
    'node_modules/a': { version: '1.0.0', license: 'MIT', integrity, dependencies: { c: '1.0.0' } },
    'node_modules/a/node_modules/c': { version: '1.0.0', license: 'ISC', integrity },
    'node_modules/b': { version: '1.0.0', license: 'MPL-2.0', integrity, dev: true, dependencies: { c: '2.0.0' } },
    'node_modules/c': { version: '2.0.0', integrity, dev: true },
  }
  const findings = (packages: Packages): string[] => findingsOf(JSON.stringify({ packages }, null, 2))

  test('with everything is fine, and without an entry or an integrity it is not', () => {
    const { 'node_modules/c': c, 'node_modules/b': b, ...others } = whole
    expect(findings(whole)).toEqual([])
    expect(findings({ ...others, 'node_modules/b': b as Entry })).toEqual([
      'no entry for c@2.0.0, which node_modules/b asks for',
    ])
    expect(findings({ ...whole, 'node_modules/c': { ...c, integrity: undefined } })).toEqual(['no integrity of c'])
    expect(findings({ ...whole, 'node_modules/c': { ...c, integrity: 'sha1-AAAA' } })).toEqual(['no integrity of c'])
    expect(findings({ ...whole, 'node_modules/c': { ...c, resolved: 'https://host.example/c.tgz' } })).toHaveLength(1)
  })

  test.each<[string, Entry, 'allowed' | 'missing']>([
    ['an optional package of another system', { optional: true, os: ['darwin'], cpu: ['x64'] }, 'allowed'],
    ['an optional package of another processor', { optional: true, os: ['linux'], cpu: ['arm64'] }, 'allowed'],
    ['an optional package of another C library', { optional: true, os: ['linux'], libc: ['musl'] }, 'allowed'],
    ['an optional package of this platform', { optional: true, os: ['linux'], cpu: ['x64'] }, 'missing'],
    ['an optional package of every platform', { optional: true }, 'missing'],
    ['a package of another system that is not optional', { os: ['darwin'] }, 'missing'],
  ])('%s, without integrity', (_name, entry, verdict) => {
    const found = withoutIntegrity({ 'node_modules/@a/b': { version: '1.0.0', ...entry } })
    expect(found).toEqual({ allowed: [], missing: [], [verdict]: ['@a/b'] })
  })

  test('says what an application installs: the nearest entry of each dependency, and nothing of the development', () => {
    expect(productionEntries(whole)).toEqual(['node_modules/a', 'node_modules/a/node_modules/c'])
    expect(licenceList(whole).map(({ name, version, licence, use }) => `${name} ${version} ${licence} ${use}`)).toEqual(
      [
        'a 1.0.0 MIT production',
        'c 1.0.0 ISC production',
        'b 1.0.0 MPL-2.0 development',
        'c 2.0.0 unknown development',
      ],
    )
  })
})

test('the bill of materials has what an application installs with the package, and what is inlined in it', () => {
  const packages: Packages = {
    '': { name: 'wombat', version: '1.0.0', license: 'MIT', dependencies: { a: '1.0.0' } },
    'node_modules/a': { version: '1.0.0', license: 'MIT', integrity: 'sha512-AAEC' },
    'node_modules/preact': { version: '1.0.0', license: 'GPL-3.0', integrity, dev: true },
  }
  expect(productionBill(packages).components).toMatchObject([
    { name: 'a', purl: 'pkg:npm/a@1.0.0', hashes: [{ content: '000102' }] },
    { name: 'preact' },
  ])
  expect(licenceList(packages)).toContainEqual(
    expect.objectContaining({ name: 'preact', licence: 'GPL-3.0', use: 'production' }),
  )
  const inlined = ['@dagrejs/dagre', '@dagrejs/graphlib', 'preact'].map((name) => `node_modules/${name}`)
  expect(productionEntries(readLock())).toEqual(expect.arrayContaining(inlined))
})

test.each([
  ['MIT', true],
  ['(MIT OR GPL-3.0)', true],
  ['MIT AND ISC', true],
  ['MIT AND GPL-3.0', false],
  ['MPL-2.0', false],
  ['(GPL-2.0 OR AGPL-3.0)', false],
  ['SEE LICENSE IN LICENSE', false],
  ['', false],
  [undefined, false],
])('the licence %j is permissive: %j', (licence, expected) => {
  expect(isPermissive(licence)).toBe(expected)
})

describe('what the registry answers', () => {
  const answer = (...found: readonly (readonly [severity: string, node: string])[]): string =>
    JSON.stringify({
      metadata: { vulnerabilities: { total: found.length } },
      vulnerabilities: Object.fromEntries(
        found.map(([severity, node], index) => [`a${index}`, { name: `a${index}`, severity, nodes: [node] }]),
      ),
    })

  test.each([
    [answer(), 'fine'],
    [answer(['moderate', 'node_modules/a']), 'fine'],
    [answer(['critical', 'node_modules/b'], ['high', 'node_modules/b/node_modules/a']), 'fine'],
    [answer(['low', 'node_modules/a'], ['high', 'node_modules/a']), 'wrong'],
    [answer(['critical', 'node_modules/a']), 'wrong'],
    ['{"metadata":{"vulnerabilities":{"total":1}}}', 'no answer'],
    ['{"message":"405 Method Not Allowed","statusCode":405}', 'no answer'],
    ['{"error":{"code":"ENOTFOUND"}}', 'no answer'],
    ['', 'no answer'],
    ['<html>', 'no answer'],
  ])('about vulnerabilities, %s, is %s', (output, verdict) => {
    expect(judgeVulnerabilities(output, ['node_modules/a']).verdict).toBe(verdict)
  })

  test.each([
    ['{"invalid":[],"missing":[]}', 'fine'],
    ['{"invalid":[{"name":"a","version":"1.0.0"}],"missing":[]}', 'wrong'],
    ['{"invalid":[],"missing":[{"name":"a","version":"1.0.0"}]}', 'wrong'],
    ['{"error":{"summary":"found no dependencies to audit"}}', 'no answer'],
    ['', 'no answer'],
  ])('about signatures, %s, is %s', (output, verdict) => {
    expect(judgeSignatures(output).verdict).toBe(verdict)
  })
})

describe('the package cannot be published before its addresses are in package.json', () => {
  const address = 'https://code.turnkeeper.dev/turnkeeper'
  const bugs = { url: address, email: 'security@a.b' }
  const addresses = { repository: { type: 'git', url: `git+${address}.git` }, bugs, homepage: address }

  test('each address must be there, and be one of somebody', () => {
    expect(missingFields(addresses)).toEqual([])
    expect(missingFields({}).map((line) => /'([\w.]+)'/.exec(line)?.[1])).toEqual([
      'repository',
      'bugs',
      'bugs.email',
      'homepage',
    ])
    for (const email of ['', 'security', '...@...', 'security@shop.example', 'a b@c.dev', 1, undefined]) {
      expect(missingFields({ ...addresses, bugs: { ...bugs, email } })).toHaveLength(1)
    }
    for (const homepage of ['', 'https://...', 'https://example.com/a', 'https://shop.example', 'http://a.dev', 1]) {
      expect(missingFields({ ...addresses, homepage })).toHaveLength(1)
    }
  })

  test('npm publish ends before it packs anything', () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnkeeper-publish-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    cpSync(fileURLToPath(scripts), join(folder, '.config/scripts'), { recursive: true })
    const npm = (fields: Entry, ...words: readonly string[]): { status: number | null; output: string } => {
      const { repository: _r, bugs: _b, homepage: _h, ...others } = packageJson as Entry
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...others, ...fields }))
      // A run of all tests switches scripts like `prepublishOnly` off.
      const env = { ...process.env, npm_config_ignore_scripts: 'false' }
      const { status, stdout, stderr } = spawnSync('npm', words, { cwd: folder, encoding: 'utf8', env })
      return { status, output: `${stdout}${stderr}` }
    }
    const refused = npm({}, 'publish', '--dry-run')
    expect(refused.status).toBe(1)
    for (const line of missingFields({})) expect(refused.output).toContain(line)
    expect(refused.output).not.toContain('> turnkeeper@0.1.0 prepack')
    expect(npm(addresses, 'run', 'prepublishOnly').status).toBe(0)
  })
})
