/** What an idempotency key becomes: digests, which are all that is ever stored or compared. */
import { invalidInput } from '../../errors/engine-errors.js'
import { canonicalJson, digestOf } from '../../util/digest.js'
import { isIdempotencyKey } from '../../util/patterns.js'
import type { RequestKey, TurnInput } from '../input/check-input.js'

/** What makes two requests the same, and who sends them. */
type Request = Pick<TurnInput, 'userMessage' | 'attachments' | 'context' | 'owner'>

/**
 * The digests of a key.
 *
 * @param flowName - The current name of the flow.
 * @throws `InvalidInputError` for a key of another shape.
 */
export function requestKeyOf(idempotencyKey: unknown, request: Request, flowName: string): RequestKey {
  if (typeof idempotencyKey !== 'string' || !isIdempotencyKey(idempotencyKey)) {
    throw invalidInput('idempotencyKey must be 16 to 255 visible ASCII characters without a comma, best a UUID.')
  }
  const { userMessage, attachments, context = null, owner = null } = request
  let claim: string | undefined
  return {
    key: digestOf(idempotencyKey),
    request: digestOf(canonicalJson([idempotencyKey, flowName, userMessage, attachments, context])),
    // Most turns continue a session, and claim nothing.
    get claim() {
      claim ??= digestOf(canonicalJson([idempotencyKey, flowName, owner]))
      return claim
    },
  }
}
