/**
 * What a script may say, and where in it a model stands. It hands out one reply for each request, and tells what is
 * left; what becomes of a reply is the model's business.
 */
import type { JsonValue, ModelRequest, ModelResponse, TokenUsage } from '../../src/index.js'
import { count, ExpectationError, list, show } from '../expectation-error.js'

/** A tool call in a script. */
export interface ScriptedToolCall {
  readonly name: string
  /** Default `{}`. */
  readonly input?: JsonValue
  /** Default: `call-1`, `call-2` and so on. */
  readonly id?: string
  /** `false` for a model that is meant to call what the step does not offer. Default: that is a mistake in the script. */
  readonly offered?: false
}

/** An answer in full. */
export interface ScriptedAnswer {
  readonly text?: string
  readonly toolCalls?: readonly ScriptedToolCall[]
  /** The provider refuses to answer, with this text: the turn fails with `MODEL_BLOCKED`. */
  readonly refusal?: string
  /** The call fails with this error. */
  readonly error?: Error
  /** Milliseconds on the model's clock before the answer. `Infinity`: it never comes. Default 0. */
  readonly delayMs?: number
  /** Default: what the parts imply. */
  readonly finishReason?: NonNullable<ModelResponse['finishReason']>
  /** What the call cost. Default: nothing. */
  readonly usage?: TokenUsage
}

/** One reply in a script: a text, an answer in full, or an error to reject with. */
export type ScriptedReply = string | Error | ScriptedAnswer

/**
 * A reply made from the request. Return an `Error` to have the call fail; what the function throws is taken for a
 * failure of the test itself.
 */
export type ScriptedReplyFunction = (request: ModelRequest) => ScriptedReply | Promise<ScriptedReply>

/** Replies used up in order, or one function for all. */
export type ScriptedReplies = readonly (ScriptedReply | ScriptedReplyFunction)[] | ScriptedReplyFunction

/** The whole script: replies, or replies for each step, by its ID. */
export type ModelScript = ScriptedReplies | { readonly [stepId: string]: ScriptedReplies }

interface Part {
  readonly replies: ScriptedReplies
  used: number
}

/** Longer scripts are shown around the place in question. */
const shownReplies = 5

/** A script, and how far it was used. */
export class ScriptReader {
  /** By step; the one under the empty name is for every step. */
  readonly #parts: ReadonlyMap<string, Part>

  constructor(script: ModelScript) {
    const isRules = typeof script !== 'function' && !Array.isArray(script)
    const entries = isRules ? Object.entries(script as Record<string, ScriptedReplies>) : [['', script] as const]
    this.#parts = new Map(entries.map(([step, replies]) => [step, { replies: replies as ScriptedReplies, used: 0 }]))
  }

  /**
   * The reply to a request.
   *
   * @throws {@link ExpectationError} where the script has none. Whatever a function of the script throws.
   */
  async take(request: ModelRequest): Promise<ScriptedReply> {
    const { stepId } = request.origin
    const part = this.#parts.get('') ?? this.#parts.get(stepId)
    if (part === undefined) {
      throw new ExpectationError(
        `The script has no rule for the step that asked: ${whereOf(request)}.\n${askedOf(request)}\n  rules for: ${list(this.#parts.keys())}\nAdd a rule for '${stepId}'.`,
      )
    }
    if (typeof part.replies === 'function') return part.replies(request)
    const reply = part.replies[part.used]
    if (reply === undefined) {
      throw new ExpectationError(
        `The model was asked once more than its script says: ${whereOf(request)}.\n${askedOf(request)}\n  script: ${shownOf(part)}\nAdd a reply to the script, or find out why the step asks again.`,
      )
    }
    part.used++
    return typeof reply === 'function' ? reply(request) : reply
  }

  /**
   * Fails where replies are left.
   *
   * @throws {@link ExpectationError} that tells how many, and which.
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

  /** What is left, as a script of its own. */
  rest(): ModelScript {
    const rests = Array.from(this.#parts, ([step, { replies, used }]) => {
      return [step, typeof replies === 'function' ? replies : replies.slice(used)] as const
    })
    const [first] = rests
    return first?.[0] === '' ? first[1] : Object.fromEntries(rests)
  }
}

/** Where a request comes from, in words. */
export function whereOf({ origin }: Pick<ModelRequest, 'origin'>): string {
  const { flowName, stepId, turnNumber, callNumber } = origin
  return `flow '${flowName}', step '${stepId}', turn ${turnNumber}, call ${callNumber} of the turn`
}

/** What a request asks, in one line. */
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
