/**
 * A failure with the line of the scenario file that it belongs to, in the message and in the stack that runners show.
 */
import { causesText } from '../expectations/author-frames.js'
import { ExpectationError } from '../expectations/expectation-error.js'
import type { Place } from './scenario-lines.js'

/**
 * The failure of a line.
 *
 * @param file - The path of the file, as the runner knows it. The message has the whole of a relative path, and the
 * name of the file of an absolute one.
 * @param problem - What is wrong: a text, or what was thrown, which becomes the cause if it is no `ExpectationError`.
 */
export function failureAt(file: string, { line, source }: Place, problem: unknown): ExpectationError {
  const isOwn = ExpectationError.isInstance(problem)
  const text = problem instanceof Error ? problem.message : String(problem)
  const places = problem instanceof Error && !isOwn ? causesText({ cause: problem }, text) : ''
  const [written = ''] = source.split('\n')
  const error = new ExpectationError(`${nameOf(file)}:${line}: ${written}\n${text}${places}`, {
    ...(isOwn ? { expected: problem.expected, actual: problem.actual } : {}),
    cause: isOwn ? problem.cause : problem instanceof Error ? problem : undefined,
  })
  // Runners show the code at the first place of a stack: here it is the line of the scenario.
  error.stack = `${error.name}: ${error.message}\n    at scenario (${file}:${line}:1)`
  return error
}

/** The failure of several lines, at the place of the first; `undefined` if there is none. */
export function failureOfAll(failures: readonly Error[]): Error | undefined {
  const [first] = failures
  if (first === undefined || failures.length === 1) return first
  const error = new ExpectationError(failures.map(({ message }) => message).join('\n\n'))
  error.stack = `${error.name}: ${error.message}\n${first.stack?.split('\n').at(-1)}`
  return error
}

/** A relative path as it was given. Of an absolute one the last part: the stack has the whole path. */
function nameOf(file: string): string {
  const isAbsolute = /^(?:[\\/]|[A-Za-z]+:)/.test(file)
  return isAbsolute ? (file.split(/[\\/]/).at(-1) ?? file) : file
}
