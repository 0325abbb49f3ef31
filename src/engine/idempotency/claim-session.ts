/**
 * The session that a request with a key starts. Where a repeat of the request claimed an ID before, that session is
 * looked at: it may have the answer, or go on because the turn that made it was rolled back. One that has ended without
 * an answer is passed over, and the next ID is claimed, so that the repeats of a request meet again.
 */
import type { RequestKey, TurnInput } from '../input/check-input.js'
import type { TurnControl } from '../turn/control/turn-control.js'
import { type Replay, replayOf } from './receipts.js'
import { readStored } from './stored-session.js'

/**
 * Claims the ID of a session for the turn: `control.claimed`.
 *
 * @returns The recorded outcome, where an earlier request has it.
 * @throws `SessionStoreError` where the store cannot keep a claim, `IdempotencyMismatchError` as `replayOf` does.
 */
export async function claimId(control: TurnControl, input: TurnInput): Promise<Replay | undefined> {
  const { engine } = control
  const requestKey = input.idempotency as RequestKey
  for (let round = control.claimed === undefined ? 0 : control.claimed.round + 1; ; round++) {
    const ownId = engine.generateId('session')
    const id = await engine.claims.claim(engine.session.access, requestKey, round, ownId)
    // Nobody else has ever seen an ID that was made just now.
    control.claimed = { id, isNew: id === ownId, round }
    engine.keyedTurns.addSession(control, input, id)
    if (id === ownId) return undefined
    const stored = await readStored(control, id, input.owner)
    const replay = stored && replayOf(stored, requestKey)
    if (replay !== undefined) return replay
    if (stored === undefined || stored.runStatus === 'running') return undefined
  }
}
