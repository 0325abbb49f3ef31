/**
 * What a script is, and how much of it a model has used. It returns one reply for each attempt at a call, and reports
 * what is left; what a reply may say is in `scripted-answer.ts`.
 */
import type { ModelRequest } from '../../src/index.js'
import { invalidInput } from '../../src/util/options.js'
import { shownValue } from '../../src/util/shown-value.js'
import { thrownText } from '../expectations/author-frames.js'
import { askedOf, count, ExpectationError, list, show, whereOf } from '../expectations/expectation-error.js'
import type { NotAList } from '../expectations/not-a-list.js'
import type { ScriptedReply } from './scripted-answer.js'

/**
 * Replies for each step, by its ID. It stands before the function in `ModelScript`, because the compiler looks for a
 * mistake in the first type that is not a list.
 *
 * @inline
 */
interface ScriptRules extends NotAList {
  /** The replies to one step. */
  readonly [stepId: string]: ScriptedReplies
}

/** The whole script: replies, or replies for each step, by its ID. */
export type ModelScript = ScriptRules | ScriptedReplies

/** Replies used in order, or one function for all. @inline */
export type ScriptedReplies = readonly (ScriptedReply | ScriptedReplyFunction)[] | ScriptFunction

/**
 * A reply made from the request. Return an `Error` to make the call fail; what the function throws is treated as a
 * failure of the test itself.
 */
export type ScriptedReplyFunction = (request: ModelRequest) => ScriptedReply | Promise<ScriptedReply>

/**
 * A function for all replies. An interface, because the compiler misses a wrong result if two types are joined by
 * `&`.
 *
 * @inline
 */
interface ScriptFunction extends NotAList, ScriptedReplyFunction {}

interface Part {
  readonly replies: ScriptedReplies
  used: number
}

/** How many replies of a longer script are shown around the place in question. */
const shownReplies = 5

/** A script, and how much of it was used. */
export class ScriptReader {
  /** By step; the empty name is for every step. */
  readonly #parts: ReadonlyMap<string, Part>

  /** @throws `InvalidInputError` for what is not a script. */
  constructor(script: ModelScript) {
    const rules = isReplies(script) ? { '': script } : rulesOf(script)
    this.#parts = new Map(Object.entries(rules).map(([step, replies]) => [step, { replies, used: 0 }]))
  }

  /**
   * The reply to a request.
   *
   * @throws {@link ExpectationError} if the script has none, or a function of the script throws.
   */
  async take(request: ModelRequest): Promise<ScriptedReply> {
    const { stepId } = request.origin
    const part = this.#parts.get('') ?? this.#parts.get(stepId)
    if (part === undefined) {
      throw new ExpectationError(
        `The script has no rule for the step that asked: ${whereOf(request)}.\n${askedOf(request)}\n  rules for: ${list(this.#parts.keys())}\nAdd a rule for '${stepId}'.`,
      )
    }
    if (typeof part.replies === 'function') return replyOf(part.replies, request)
    const reply = part.replies[part.used]
    if (reply === undefined) {
      throw new ExpectationError(
        `The model was asked once more than its script says: ${whereOf(request)}.\n${askedOf(request)}\n  script: ${shownOf(part)}\nAdd a reply to the script, or find out why the step asks again.`,
      )
    }
    part.used++
    return typeof reply === 'function' ? replyOf(reply, request) : reply
  }

  /**
   * Fails if replies are left.
   *
   * @throws {@link ExpectationError} that lists them.
   */
  assertDone(): void {
    const left = Array.from(this.#parts)
      .filter(([, { replies, used }]) => typeof replies !== 'function' && used < replies.length)
      .map(([step, part]) => {
        const { replies, used } = part
        const of = step === '' ? '' : ` for step '${step}'`
        return `${count(replies.length - used, 'reply', 'replies')}${of} of ${replies.length} left\n  script: ${shownOf(part)}`
      })
    if (left.length === 0) return
    throw new ExpectationError(
      `The script of the model was not used up: ${left.join('\n')}\nTake out what is not needed, or say what would make the model speak.`,
    )
  }

  /** What is left, as a new script. */
  rest(): ModelScript {
    const rests = Array.from(this.#parts, ([step, { replies, used }]) => {
      return [step, typeof replies === 'function' ? replies : replies.slice(used)] as const
    })
    const [first] = rests
    return first?.[0] === '' ? first[1] : Object.fromEntries(rests)
  }
}

function isReplies(value: unknown): value is ScriptedReplies {
  return typeof value === 'function' || Array.isArray(value)
}

/** The replies for each step. */
function rulesOf(script: unknown): Readonly<Record<string, ScriptedReplies>> {
  if (typeof script !== 'object' || script === null) {
    const expected = 'a list of replies, a function that makes each reply, or an object with one of them for each step'
    throw invalidInput(`A script must be ${expected}; got ${shownValue(script)}.`)
  }
  const wrong = Object.entries(script).find(([, replies]) => !isReplies(replies))
  if (wrong === undefined) return script as Readonly<Record<string, ScriptedReplies>>
  const [step, replies] = wrong
  throw invalidInput(
    `The script for step '${step}' must be a list of replies, or a function that makes each reply; got ${shownValue(replies)}.`,
  )
}

/** What a function of the script returns. */
async function replyOf(make: ScriptedReplyFunction, request: ModelRequest): Promise<ScriptedReply> {
  try {
    return await make(request)
  } catch (error) {
    if (ExpectationError.isInstance(error)) throw error
    // Runners show the difference of two values.
    const { expected, actual } = (error ?? {}) as { readonly expected?: unknown; readonly actual?: unknown }
    throw new ExpectationError(
      `A function of the script threw ${thrownText(error)}\n  in ${whereOf(request)}\n${askedOf(request)}`,
      { expected, actual, cause: error },
    )
  }
}

function shownOf({ replies, used }: Part): string {
  const entries = replies as Exclude<ScriptedReplies, ScriptedReplyFunction>
  if (entries.length === 0) return 'empty'
  const first = Math.max(0, Math.min(used - 2, entries.length - shownReplies))
  const shown = entries.slice(first, first + shownReplies).map((reply, index) => {
    const number = first + index + 1
    return `${number}. ${typeof reply === 'function' ? 'a function' : show(reply, 60)}${number <= used ? ' (used)' : ''}`
  })
  const after = entries.length - first - shown.length
  return `${first > 0 ? `(${first} before) ` : ''}${shown.join('  ')}${after > 0 ? ` (${after} more)` : ''}`
}
