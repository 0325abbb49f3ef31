/**
 * Claims the ID of the session that a request with a key starts or is sent to, before the session is created. Every
 * repeat of the request, in any process, gets the same ID and finds what the first one stored. If an ID was claimed
 * before, that session may have the answer, or may go on because the turn that made it was rolled back. If the session
 * has ended without an answer, the next ID is claimed, so that all repeats of the request use the same one again.
 */
import { type Clock, monotonicTime } from '../../config/clock.js'
import { claimMs } from '../../session/deletion-mark.js'
import { decodeSession } from '../../session/session-codec.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { StoreAccess } from '../../session/store-access.js'
import { MemoryClaims } from '../../stores/claims/claims.js'
import { digestOf } from '../../util/digest.js'
import type { EngineContext } from '../core/engine-context.js'
import { checkFlowName, loadFor } from '../core/foreign-session.js'
import { registeredName } from '../core/registered-name.js'
import type { RequestKey } from '../core/turn-input.js'
import type { TurnControl } from '../turn/control/turn-control.js'
import { hasReceipt, type Replay, replayOf } from './receipts.js'
import { requestKeyOf } from './request-key.js'

/** The claims of one engine. */
export class Claims {
  /** For a store without `claim`: finds only repeats in this process. */
  readonly #local = new MemoryClaims()
  readonly #access: StoreAccess
  readonly #clock: Clock

  constructor(access: StoreAccess, clock: Clock) {
    this.#access = access
    this.#clock = clock
  }

  /**
   * Claims an ID.
   *
   * @param round - How many sessions of earlier claims have ended without an answer; from 0.
   * @returns `sessionId`, or the ID that was claimed before
   * @throws `SessionStoreError` if the store failed
   */
  async claim({ claim }: RequestKey, round: number, sessionId: string): Promise<string> {
    const key = round === 0 ? claim : digestOf(`${claim} ${round}`)
    if (this.#access.canClaim) return this.#access.claim(key, sessionId, claimMs)
    return this.#local.claim(key, sessionId, claimMs, monotonicTime(this.#clock))
  }
}

/**
 * Claims the ID of a session for the turn, as `claimed` of its contention.
 *
 * @returns the recorded outcome, if an earlier request has it
 * @throws `SessionStoreError` if the store cannot keep a claim; `IdempotencyMismatchError` as `replayOf` does
 */
export async function claimId(control: TurnControl): Promise<Replay | undefined> {
  const { engine } = control
  const requestKey = control.input.idempotency as RequestKey
  const contention = control.contend()
  for (let round = (contention.claimed?.round ?? -1) + 1; ; round++) {
    const successor = contention.takeSuccessor()
    const ownId = successor ?? engine.generateId('session')
    const id = await engine.claims.claim(requestKey, round, ownId)
    // No other request knows an ID that was just made.
    contention.claimed = { id, isNew: id === ownId && successor === undefined, round }
    engine.keyedTurns.addSession(control, id)
    if (id === ownId) return undefined
    const stored = await readStored(control, id, control.owner)
    const replay = stored && replayOf(stored, requestKey)
    if (replay !== undefined) return replay
    if (stored === undefined || stored.runStatus === 'running') return undefined
  }
}

/** A message with a key whose client may name a session other than the one that answered it. */
interface NamedMessage {
  readonly flowName: string
  readonly owner: string
  readonly idempotencyKey: string
  readonly sessionId: string
}

/**
 * Claims the named session for the key.
 *
 * @returns the session that answered an earlier request with the key; otherwise the named one, which later requests
 * with the key then find
 * @throws `InvalidInputError` for an invalid key; `SessionStoreError` if the store failed
 */
export async function claimNamedSession(engine: EngineContext, named: NamedMessage): Promise<string> {
  const { flowName, owner, idempotencyKey, sessionId } = named
  const message = { userMessage: '', attachments: [], context: undefined, owner }
  const idempotency = requestKeyOf(idempotencyKey, message, flowName)
  const looking = { engine, flowName: registeredName(engine, { flowName, hideFlow: undefined }) }
  for (let round = 0; ; round++) {
    const claimed = await engine.claims.claim(idempotency, round, sessionId)
    if (claimed === sessionId) return sessionId
    if (hasReceipt(await readStored(looking, claimed, owner), { idempotency })) return claimed
  }
}

/** The reader. `flowName` is the registered name; `turnId` is the ID of the reading turn, if there is one. */
type Reader = Pick<TurnControl, 'engine' | 'flowName'> & Partial<Pick<TurnControl, 'turnId'>>

/**
 * The stored session, read without its lock, only to see whether it has the answer to a request; `undefined` if it has
 * another owner or flow, or cannot be read.
 */
export async function readStored(
  { engine, flowName, turnId }: Reader,
  sessionId: string,
  owner: string | undefined,
): Promise<SessionDocument | undefined> {
  const flowClass = engine.flows.get(flowName)
  if (flowClass === undefined) return undefined
  const turn = turnId === undefined ? {} : { turnId }
  try {
    const { stored } = await loadFor(engine, sessionId, { owner, ...turn })
    if (stored === undefined) return undefined
    const document = decodeSession(stored, sessionId)
    checkFlowName(document, flowClass)
    return document
  } catch {
    // A turn would fail with this error, or find the store repaired.
    return undefined
  }
}
