/** What a Standard Schema found wrong, as a line for people and for models. */
import type { StandardSchemaV1 } from '@standard-schema/spec'

/** A model that goes wrong may do so a thousand times in one answer. */
const maxIssues = 20
const maxLength = 2_000

/** The issues as one line: `path: reason; path: reason`. */
export function issueText(issues: readonly StandardSchemaV1.Issue[]): string {
  const text = issues
    .slice(0, maxIssues)
    .map(({ path = [], message }) => {
      const where = path.map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.')
      return where === '' ? message : `${where}: ${message}`
    })
    .join('; ')
  const more = issues.length > maxIssues ? `; and ${issues.length - maxIssues} more` : ''
  return (text.length > maxLength ? `${text.slice(0, maxLength)}…` : text) + more
}
