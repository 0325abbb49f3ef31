/**
 * Asks the registry whether a production dependency has a known vulnerability (`npm audit`), or whether the signatures
 * of what is installed are right (`npm audit signatures`), and prints what it answers. Waits for 20 seconds.
 *
 *     node .config/scripts/audit.mjs vulnerabilities
 *     node .config/scripts/audit.mjs signatures
 *
 * Exits with 0 where the registry answers and nothing is wrong, with 1 for a vulnerability that is high or critical, or
 * for a signature that is wrong or missing, and with 75 where there is no answer: that is neither.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const secondsToWait = 20
const codes = { fine: 0, wrong: 1, 'no answer': 75 }

/** What the output of `npm audit --json` means, and why. */
export function judgeVulnerabilities(output) {
  const counts = parse(output)?.metadata?.vulnerabilities
  if (typeof counts?.total !== 'number') return { verdict: 'no answer', text: output.trim().slice(0, 300) }
  const text = Object.entries(counts)
    .map(([severity, count]) => `${count} ${severity}`)
    .join(', ')
  return { verdict: counts.high + counts.critical > 0 ? 'wrong' : 'fine', text }
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
    vulnerabilities: [['audit', '--omit=dev', '--json'], judgeVulnerabilities],
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
