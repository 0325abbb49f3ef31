/** What a Standard Schema found wrong, as a line for people and for models. */
import type { StandardSchemaV1 } from '@standard-schema/spec'

/** The issues as one line: `path: reason; path: reason`. */
export function issueText(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues
    .map(({ path = [], message }) => {
      const where = path.map((segment) => String(typeof segment === 'object' ? segment.key : segment)).join('.')
      return where === '' ? message : `${where}: ${message}`
    })
    .join('; ')
}
