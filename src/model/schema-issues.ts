/** The issues of a Standard Schema as one line, for error messages and for feedback to models. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { cutText } from '../util/shown-name.js'

/** One answer of a model can have thousands of issues. */
const maxIssues = 20
const maxLength = 2_000

/** The issues as one line: `path: reason; path: reason`. */
export function issueText(issues: readonly StandardSchemaV1.Issue[]): string {
  const text = issues
    .slice(0, maxIssues)
    .map(({ path = [], message }) => {
      // ArkType's path is an Array subclass, whose `map` calls a constructor that takes segments.
      const where = Array.from(path, (segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.')
      return where === '' ? message : `${where}: ${message}`
    })
    .join('; ')
  const more = issues.length > maxIssues ? `; and ${issues.length - maxIssues} more` : ''
  return (text.length > maxLength ? `${cutText(text, maxLength)}…` : text) + more
}
