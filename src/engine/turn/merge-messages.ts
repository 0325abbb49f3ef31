/**
 * The messages of turns that a newer one superseded, made one message with its own by `merge` of the flow
 * (design 8.10). A turn that was to be superseded and ended in another way has had its effect: its message, and those
 * before it, are not merged.
 */
import { flowCodeError } from '../../errors/engine-errors.js'
import { Flow } from '../../flow/flow.js'
import { jsonSize, utf8Length } from '../../util/json.js'
import { limitExceeded } from '../core/engine-limits.js'
import type { TurnInput } from '../input/check-input.js'
import type { RequestedTurn, TurnControl } from './turn-control.js'

/**
 * The input of the turn from now on. Where messages are merged, the turn answers for the keys of all of them.
 *
 * @throws `FlowCodeError` for what `merge` must not return, `LimitExceededError` for a text that is too long,
 * and what `merge` throws.
 */
export async function mergeMessages(control: TurnControl, input: TurnInput, flow: Flow): Promise<TurnInput> {
  const replaced = replacedTurns(control)
  if (replaced.length === 0 || flow.merge === Flow.prototype.merge) return input
  const messages = Object.freeze([...replaced.map((turn) => turn.input.userMessage), input.userMessage])
  const userMessage: unknown = await flow.merge(messages)
  control.check()
  if (userMessage === undefined) return input
  checkMerged(control, userMessage)
  const inputs = [...replaced.map((turn) => turn.input), input]
  control.requestKeys = [...keysOf(replaced), ...control.requestKeys]
  return { ...input, userMessage, attachments: mergeAttachments(inputs, control.engine.limits.maxAttachmentBytes) }
}

/**
 * Each message once, and without those that another process has answered meanwhile, because they were sent there again.
 */
function replacedTurns({ replaced, draft, requestKeys }: TurnControl): readonly RequestedTurn[] {
  const ended = replaced.findLastIndex(({ control }) => control.failure !== 'TURN_SUPERSEDED')
  const known = new Set([...(draft?.base.receipts ?? []), ...requestKeys].map(({ key }) => key))
  return replaced.slice(ended + 1).filter(({ input: { idempotency } }) => {
    if (idempotency === undefined) return true
    const isNew = !known.has(idempotency.key)
    known.add(idempotency.key)
    return isNew
  })
}

function checkMerged({ engine: { limits }, flowName }: TurnControl, merged: unknown): asserts merged is string {
  if (typeof merged !== 'string') throw flowCodeError(`merge of flow '${flowName}' must return a text or nothing.`)
  if (utf8Length(merged) <= limits.maxMessageBytes) return
  throw limitExceeded(limits, 'maxMessageBytes', `The message that merge of flow '${flowName}' returned`)
}

function keysOf(turns: readonly RequestedTurn[]): TurnControl['requestKeys'] {
  return turns.map(({ input }) => input.idempotency).filter((key) => key !== undefined)
}

/** The newest attachments that may come with one message, in their order. */
function mergeAttachments(inputs: readonly TurnInput[], mostBytes: number): TurnInput['attachments'] {
  const all = inputs.flatMap(({ attachments }) => attachments)
  let first = all.length
  while (first > 0 && jsonSize(all.slice(first - 1)) <= mostBytes) first--
  return Object.freeze(all.slice(first))
}
