// Which files a change touches, according to git.
import { execFileSync } from 'node:child_process'

/**
 * The files of the change that is checked out: what differs from where it left the main branch, or on the main branch
 * itself from the commit before. What is not committed counts too, new files that git does not ignore included.
 *
 * @param {string} root
 * @returns {readonly string[] | undefined} from the root of the repository; `undefined` where git cannot tell
 */
export function changedFiles(root) {
  /** @param {readonly string[]} words */
  const git = (...words) => {
    try {
      return execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
    } catch {
      return undefined
    }
  }
  const head = git('rev-parse', 'HEAD')
  const bases = ['origin/main', 'main'].map((branch) => git('merge-base', branch, 'HEAD'))
  const base = bases.find((commit) => commit !== undefined && commit !== head) ?? git('rev-parse', 'HEAD~1')
  const edited = base === undefined ? undefined : git('diff', '--name-only', base)
  if (edited === undefined) return undefined
  const added = git('ls-files', '--others', '--exclude-standard') ?? ''
  return [edited, added].flatMap((list) => list.split('\n')).filter((file) => file !== '')
}
