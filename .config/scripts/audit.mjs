/**
 * Asks the registry whether something that comes with the package has a known vulnerability (`npm audit`), or whether
 * the signatures of what is installed are right (`npm audit signatures`), and prints what it answers. Waits for 20
 * seconds.
 *
 *     node .config/scripts/audit.mjs vulnerabilities
 *     node .config/scripts/audit.mjs signatures
 *
 * Exits with 0 where the registry answers and nothing is wrong, with 1 for a vulnerability that is high or critical, or
 * for a signature that is wrong or missing, and with 75 where there is no answer: that is neither.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { productionEntries, readLock } from './sbom.mjs'

const secondsToWait = 20
const codes = { fine: 0, wrong: 1, 'no answer': 75 }

/**
 * What the output of `npm audit --json` means, and why.
 *
 * @param folders - Those of the lock that come with the package.
 */
export function judgeVulnerabilities(output, folders) {
  const { metadata, vulnerabilities } = parse(output) ?? {}
  if (typeof metadata?.vulnerabilities?.total !== 'number' || typeof vulnerabilities !== 'object')
    return { verdict: 'no answer', text: output.trim().slice(0, 300) }
  const found = Object.values(vulnerabilities).filter(({ nodes }) => nodes.some((node) => folders.includes(node)))
  const names = found.map(({ name, severity }) => `${name} (${severity})`).join(', ')
  const isWrong = found.some(({ severity }) => severity === 'high' || severity === 'critical')
  const text = `${folders.length} packages come with this one, ${found.length} are vulnerable${names && `: ${names}`}`
  return { verdict: isWrong ? 'wrong' : 'fine', text }
}

/** What the output of `npm audit signatures --json` means, and why. */
export function judgeSignatures(output) {
  const answer = parse(output)
  if (!Array.isArray(answer?.invalid) || !Array.isArray(answer?.missing)) {
    return { verdict: 'no answer', text: output.trim().slice(0, 300) }
  }
  const { invalid, missing } = answer
  const names = [...invalid, ...missing].map(({ name, version }) => `${name}@${version}`).join(', ')
  const text = `${invalid.length} signatures are wrong, ${missing.length} are missing${names === '' ? '' : `: ${names}`}`
  return { verdict: names === '' ? 'fine' : 'wrong', text }
}

function parse(output) {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}

function main(question) {
  const questions = {
    vulnerabilities: [['audit', '--json'], (output) => judgeVulnerabilities(output, productionEntries(readLock()))],
    signatures: [['audit', 'signatures', '--json'], judgeSignatures],
  }
  const asked = questions[question]
  if (asked === undefined) throw new Error(`Ask for vulnerabilities or for signatures; got '${question}'.`)
  const [words, judge] = asked
  const { stdout, error } = spawnSync('npm', words, {
    encoding: 'utf8',
    timeout: secondsToWait * 1000,
    maxBuffer: 64e6,
  })
  const { verdict, text } = judge(stdout ?? '')
  const reason = error === undefined ? text : `${error.message} ${text}`
  console.log(`npm ${words.join(' ')}: ${verdict}. ${reason.replaceAll(/\s+/g, ' ').trim()}`)
  process.exitCode = codes[verdict]
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv[2])
