// One small named break of one source file: found by its text, which must be there exactly once, and replaced. White
// space does not count, so that a formatter may wrap a line without making a break unfindable.

/**
 * @typedef {object} Break
 * @property {string} name what goes wrong, in a few words
 * @property {string} file the source file, from the root of the repository
 * @property {string} find the text to replace; it must be there exactly once
 * @property {string} replace what stands there instead
 * @property {readonly string[]} tests parts of the paths of the test files, one of which must go red
 */

/**
 * Breaks as they are written down: by file, a handful of test files for each, so that one break costs seconds.
 *
 * @typedef {readonly {
 *   file: string,
 *   tests: readonly string[],
 *   rows: readonly (readonly [name: string, find: string, replace: string])[],
 * }[]} BreakGroups
 */

/**
 * @param {string} source the text of the file
 * @param {Pick<Break, 'find' | 'replace'>} change
 * @returns {string} the broken text
 * @throws {Error} where the text is not found, is found more than once, or would not change
 */
export function applyBreak(source, { find, replace }) {
  const tokens = find.match(/\w+|[^\w\s]/g) ?? []
  const pattern = new RegExp(tokens.map(escapePattern).join('\\s*'), 'g')
  const [match, ...others] = source.matchAll(pattern)
  if (match === undefined) throw new Error('its search text is not in the file any more')
  if (others.length > 0) throw new Error(`its search text is in the file ${others.length + 1} times`)
  const broken = source.slice(0, match.index) + replace + source.slice(match.index + match[0].length)
  if (broken === source) throw new Error('its replacement changes nothing')
  return broken
}

/** @param {string} text */
function escapePattern(text) {
  return text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')
}
