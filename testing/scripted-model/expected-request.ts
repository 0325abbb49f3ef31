/** What a test may expect of a request to a model, and the check. */
import type { JsonObject, StepConstructor } from '../../src/index.js'
import { count, differences, ExpectationError, fits, list, show, whereOf } from '../expectations/expectation-error.js'
import { unknownNameText } from '../expectations/known-names.js'
import type { RecordedRequest } from './recorded-request.js'

/** The expected request to a model. What is left out may be anything. @inline */
export interface ExpectedRequest {
  /** The system prompt: the whole text, or a RegExp for a part of it. */
  readonly system?: string | RegExp
  /** The last message of the user: the whole text, or a RegExp for a part of it. */
  readonly user?: string | RegExp
  /** The names of all offered tools, in any order. */
  readonly tools?: readonly string[]
  /** Parameters of the call; there may be others. */
  readonly params?: JsonObject
  /** Part of the JSON Schema for the answer; `false` if any text is accepted. */
  readonly output?: JsonObject | false
  /** The step that called the model: a class or its ID. */
  readonly step?: StepConstructor | string
  /** Which request is checked, counted from 1. Default: the last one. */
  readonly call?: number
}

const names: Readonly<Record<keyof ExpectedRequest, true>> = {
  system: true,
  user: true,
  tools: true,
  params: true,
  output: true,
  step: true,
  call: true,
}

/**
 * Fails if the request differs.
 *
 * @throws {@link ExpectationError} with all that differs.
 */
export function checkAsked(requests: readonly RecordedRequest[], expected: ExpectedRequest): void {
  const misspelt = unknownNameText('expectAsked', expected, names)
  if (misspelt !== undefined) throw new ExpectationError(misspelt)
  if (Object.keys(expected).length === 0) {
    const parts = list(Object.keys(names))
    throw new ExpectationError(
      `expectAsked would check nothing of the request, because {} names no part of it: ${parts}.`,
    )
  }
  const { call } = expected
  const request = call === undefined ? requests.at(-1) : requests[call - 1]
  if (request === undefined) {
    const asked = requests.length === 0 ? 'it was not asked at all' : `it was asked ${count(requests.length, 'time')}`
    throw new ExpectationError(
      `Expected the model to be asked${call === undefined ? '' : ` ${count(call, 'time')}`}, but ${asked}.`,
    )
  }
  const problems = problemsOf(request, expected)
  if (problems.length === 0) return
  throw new ExpectationError(
    `The model did not receive what was expected: ${whereOf(request)}.\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
  )
}

function problemsOf(request: RecordedRequest, expected: ExpectedRequest): string[] {
  const { system, user, tools, params, output, step } = expected
  const problems: string[] = []
  const compare = (name: string, wanted: string | RegExp | undefined, text: string | undefined): void => {
    if (wanted === undefined || (text !== undefined && fits(wanted, text))) return
    problems.push(`${name}: expected ${show(wanted)}, got ${text === undefined ? 'none' : show(text, 1000)}`)
  }
  compare('system', system, request.system)
  compare('user', user, lastUserText(request))
  if (tools !== undefined) {
    const offered = request.tools.map(({ name }) => name).sort()
    if (String([...tools].sort()) !== String(offered)) {
      problems.push(`tools: expected ${list([...tools].sort())}, got ${list(offered)}`)
    }
  }
  if (params !== undefined) problems.push(...differences(params, request.params, 'params'))
  if (output !== undefined) {
    const schema = request.output?.schema
    problems.push(...differences(output === false ? undefined : output, schema, 'output'))
  }
  compare('step', typeof step === 'function' ? step.id : step, request.origin.stepId)
  return problems
}

function lastUserText({ messages }: RecordedRequest): string | undefined {
  const parts = messages.findLast(({ role }) => role === 'user')?.parts
  return parts?.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
