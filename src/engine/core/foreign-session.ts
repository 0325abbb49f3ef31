/** What an operation finds under an ID for a caller who names an owner, perhaps nobody. */
import { isMalformed, SessionFlowMismatchError } from '../../errors/session-errors.js'
import type { FlowConstructor } from '../../flow/flow-registry.js'
import { ownerOf } from '../../session/session-codec.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { EngineContext } from './engine-context.js'
import type { EngineEventMap } from './engine-events.js'

/** Who asks: the owner that a caller names, perhaps nobody. */
export interface Caller {
  readonly owner?: string | undefined
}

/** What is stored under an ID. */
export interface Found {
  /** The caller's own session, as it was loaded and unchecked; `undefined` where there is none. */
  readonly stored: unknown
  /** Whether there is another owner's. */
  readonly isForeign: boolean
  /** Whose session it is, as far as it can be read; `undefined` where there is none. */
  readonly owner?: unknown
}

/**
 * Loads what is stored for a caller. Of another owner's session nothing but the owner is looked at, whatever is wrong
 * with it. One whose owner cannot be read counts as one without an owner.
 *
 * @param caller - `turnId`: of the turn that loads.
 * @param orUnknown - Whether one whose owner cannot be read counts as the caller's. Default `false`.
 * @throws `SessionStoreError`, and `SessionFlowInvariantError` where the caller's own session cannot be read.
 */
export function loadFor(
  { session }: EngineContext,
  sessionId: string,
  { owner, turnId }: Caller & { readonly turnId?: string },
  orUnknown = false,
): Promise<Found> {
  return session.access.loadUnchecked(sessionId, { owner }, turnId).then(
    (stored) => {
      if (stored === undefined) return { stored, isForeign: false }
      const storedOwner = ownerOf(stored)
      const isForeign = storedOwner !== owner
      return { stored: isForeign ? undefined : stored, isForeign, owner: storedOwner }
    },
    (error: unknown) => {
      if (!isMalformed(error) || error.owner === owner || (orUnknown && error.owner === undefined)) throw error
      return { stored: undefined, isForeign: true, owner: error.owner }
    },
  )
}

/** Reports that somebody asked for another owner's session. */
export function reportForeign(
  { events, clock }: EngineContext,
  {
    requestId,
    ...asked
  }: Pick<EngineEventMap['session:foreign'], 'sessionId' | 'operation' | 'flowName' | 'turnId'> & {
    readonly requestId?: string | undefined
  },
  { owner: askedBy }: Caller,
  owner: unknown,
): void {
  if (!events.hasListeners('session:foreign')) return
  events.emit('session:foreign', {
    ...asked,
    ...(requestId === undefined ? {} : { requestId }),
    ...(askedBy === undefined ? {} : { askedBy }),
    ...(typeof owner === 'string' ? { owner } : {}),
    at: clock.now(),
  })
}

/** @throws `SessionFlowMismatchError` */
export function checkFlowName(document: SessionDocument, flowClass: FlowConstructor): void {
  const { name } = document.flow
  if (name === flowClass.id || flowClass.aliases.includes(name)) return
  throw new SessionFlowMismatchError({ sessionId: document.id, boundFlow: name, requestedFlow: flowClass.id })
}
