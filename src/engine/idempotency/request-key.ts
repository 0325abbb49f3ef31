/** Converts an idempotency key to digests. Only the digests are stored and compared. */
import { invalidInput } from '../../errors/engine-errors.js'
import { canonicalJson, digestOf } from '../../util/digest.js'
import { isIdempotencyKey } from '../../util/patterns.js'
import type { RequestKey, TurnInput } from '../core/turn-input.js'

/** The fields that make two requests equal, and their sender. */
type Request = Pick<TurnInput, 'userMessage' | 'attachments' | 'context' | 'owner'> & Partial<Pick<TurnInput, 'event'>>

/**
 * The digests of a key.
 *
 * @param flowName - The name of the flow as the client sent it, because two releases may use two names for the flow.
 * @throws `InvalidInputError` for a key of another shape.
 */
export function requestKeyOf(idempotencyKey: unknown, request: Request, flowName: string): RequestKey {
  if (typeof idempotencyKey !== 'string' || !isIdempotencyKey(idempotencyKey)) {
    throw invalidInput('idempotencyKey must be 16 to 255 visible ASCII characters without a comma, best a UUID.')
  }
  const { owner = null } = request
  let claim: string | undefined
  return {
    key: digestOf(idempotencyKey),
    request: digestOf(textOf(idempotencyKey, request, flowName)),
    // Most turns continue a session, and claim nothing.
    get claim() {
      claim ??= digestOf(JSON.stringify([idempotencyKey, flowName, owner]))
      return claim
    },
  }
}

/** The key and the request as JSON texts, one after the other: a list, then a list and an object if present. */
function textOf(idempotencyKey: string, request: Request, flowName: string): string {
  const { userMessage, attachments, context, event } = request
  if (event !== undefined) {
    const { about: _about, id: _id, ...sender } = event.seen
    return canonicalJson([idempotencyKey, sender, event.payload ?? null])
  }
  const texts = JSON.stringify([idempotencyKey, flowName, userMessage])
  const ofAttachments = attachments.length === 0 ? '' : canonicalJson(attachments)
  return texts + ofAttachments + (context === undefined ? '' : canonicalJson(context))
}
