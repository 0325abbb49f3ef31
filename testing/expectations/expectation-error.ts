/**
 * The error that the helpers throw if a test and a conversation disagree, and how it shows values and requests. The
 * helpers decide whether there is a failure; this file decides its form.
 */
import type { ModelRequest } from '../../src/index.js'

/**
 * A failed expectation, or a script that does not fit the conversation. Test runners that show a difference read
 * `expected` and `actual`.
 */
export class ExpectationError extends Error {
  /** The expected value, if there is one. */
  readonly expected: unknown
  /** The actual value. */
  readonly actual: unknown

  constructor(
    message: string,
    options: { readonly expected?: unknown; readonly actual?: unknown; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.expected = options.expected
    this.actual = options.actual
  }

  static {
    Object.defineProperty(this.prototype, 'name', { value: 'ExpectationError' })
    Object.defineProperty(this.prototype, Symbol.for('turnkeeper.ExpectationError'), { value: true })
  }

  /** Whether `value` is an {@link ExpectationError}, of this copy of the package or another. */
  static isInstance(value: unknown): value is ExpectationError {
    return value instanceof Error && Symbol.for('turnkeeper.ExpectationError') in value
  }
}

/** A value as JSON, cut at `limit` characters. */
export function show(value: unknown, limit = 300): string {
  const text = value instanceof RegExp ? String(value) : (jsonOf(value) ?? String(value))
  return text.length <= limit ? text : `${text.slice(0, limit)}… (${text.length} characters)`
}

function jsonOf(value: unknown): string | undefined {
  try {
    return value instanceof Error ? `${value.name}: ${value.message}` : JSON.stringify(value)
  } catch {
    return undefined
  }
}

/** `1 reply`, `2 replies`. */
export function count(number: number, one: string, many: string = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`
}

/** Names as a list, or `none`. */
export function list(names: Iterable<string>): string {
  return [...names].join(', ') || 'none'
}

/** Whether a text is the expected one, or has the expected part. */
export function fits(expected: string | RegExp, text: string): boolean {
  // A RegExp with the flag g or y would remember its last match.
  return typeof expected === 'string'
    ? text === expected
    : new RegExp(expected.source, expected.flags.replace(/[gy]/g, '')).test(text)
}

/**
 * The differences of `actual` from `expected`, one line for each place. Objects are compared by the properties that
 * `expected` has (`undefined`: it must be missing), lists entry by entry, texts also by RegExp.
 */
export function differences(expected: unknown, actual: unknown, path = ''): string[] {
  const here = path === '' ? 'the value' : path
  if (expected instanceof RegExp && typeof actual === 'string' && fits(expected, actual)) return []
  if (Array.isArray(expected) && Array.isArray(actual)) {
    if (expected.length !== actual.length) {
      return [`${here}: expected ${count(expected.length, 'entry', 'entries')}, got ${show(actual)}`]
    }
    return expected.flatMap((entry, index) => differences(entry, actual[index], `${path}[${index}]`))
  }
  if (isObject(expected) && isObject(actual) && kindOf(expected) === 'Object') {
    return Object.keys(expected).flatMap((key) =>
      differences(
        expected[key],
        Object.hasOwn(actual, key) ? actual[key] : undefined,
        path === '' ? key : `${path}.${key}`,
      ),
    )
  }
  if (Object.is(expected, actual)) return []
  const wanted = expected === undefined ? 'nothing' : shownExpected(expected)
  return [`${here}: expected ${wanted}, got ${actual === undefined ? 'nothing' : show(actual)}`]
}

/** `Object`; for a `Date` or a `Map`, which has no own properties and so would match every object, its name. */
function kindOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1)
}

function shownExpected(expected: unknown): string {
  return isObject(expected) && kindOf(expected) !== 'Object' ? `an instance of ${kindOf(expected)}` : show(expected)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof RegExp)
}

/** Where a request to a model comes from, in words. */
export function whereOf({ origin }: Pick<ModelRequest, 'origin'>): string {
  const { flowName, stepId, turnNumber, callNumber, attempt } = origin
  const again = attempt > 1 ? `, attempt ${attempt}` : ''
  return `flow '${flowName}', step '${stepId}', turn ${turnNumber}, call ${callNumber} of the turn${again}`
}

/** The content of a request to a model, in two lines. */
export function askedOf({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): string {
  const last = messages.at(-1)
  const parts = (last?.parts ?? []).map((part) => {
    if (part.type === 'text' || part.type === 'reasoning') return show(part.text)
    if (part.type === 'tool-call') return `call of ${part.toolName}`
    return part.type === 'tool-result' ? `${part.toolName} = ${show(part.output)}` : part.mediaType
  })
  const asked = last === undefined ? 'nothing' : `${last.role} ${parts.join(', ')}`
  return `  asked: ${asked}\n  tools offered: ${list(tools.map(({ name }) => name))}`
}
