/**
 * Fails while package.json does not say where the package comes from: npm runs it before `npm publish`
 * (`prepublishOnly`). The addresses are not known before the repository is public, and nobody should make them
 * up: see docs/releases.md.
 *
 *     node .config/scripts/publishable.mjs
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** What package.json must have, and the form of each. */
const fields = {
  repository: {
    form: '{ "type": "git", "url": "git+https://....git" }',
    isFilled: ({ repository }) => isAddress(repository?.url),
  },
  bugs: { form: '{ "url": "https://..." }', isFilled: ({ bugs }) => isAddress(bugs?.url) },
  // Where vulnerabilities are reported in private: see SECURITY.md.
  'bugs.email': { form: '{ "url": "https://...", "email": "...@..." }', isFilled: ({ bugs }) => isMail(bugs?.email) },
  homepage: { form: '"https://..."', isFilled: ({ homepage }) => isAddress(homepage) },
}

/** What keeps the package from being published, in words. */
export function missingFields(manifest) {
  return Object.entries(fields)
    .filter(([, { isFilled }]) => !isFilled(manifest))
    .map(([name, { form }]) => `package.json needs the field '${name}', such as ${form}`)
}

function isAddress(value) {
  const address = /^(?:git\+)?(https:\/\/.+)$/.exec(typeof value === 'string' ? value : '')?.[1]
  return address !== undefined && URL.canParse(address) && isHost(new URL(address).hostname)
}

function isMail(value) {
  const host = /^[^\s@]+@([^\s@]+)$/.exec(typeof value === 'string' ? value : '')?.[1]
  return host !== undefined && isHost(host)
}

/** Whether it is a host of somebody: not a placeholder. */
function isHost(hostname) {
  return hostname.includes('.') && !/\.\.|(?:^|\.)example(?:\.(?:com|org|net))?$/.test(hostname)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const missing = missingFields(JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')))
  for (const line of missing) console.error(line)
  if (missing.length > 0) console.error('docs/releases.md says where these addresses come from.')
  process.exitCode = missing.length === 0 ? 0 : 1
}
