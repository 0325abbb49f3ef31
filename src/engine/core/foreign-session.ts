/** Loads the session under an ID as seen by a caller, with or without an owner. */
import { isMalformed, SessionFlowMismatchError } from '../../errors/session-errors.js'
import type { FlowConstructor } from '../../flow/flow.js'
import { ownerOf } from '../../session/session-codec.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { EngineContext } from './engine-context.js'
import type { EngineEventMap } from './engine-events.js'

/** The caller's owner, if any. */
export interface Caller {
  readonly owner?: string | undefined
}

/** The stored session of an ID, as seen by a caller. */
export interface Found {
  /** The caller's own session, as loaded and unchecked; `undefined` if there is none. */
  readonly stored: unknown
  /** Whether another owner's session is stored. */
  readonly isForeign: boolean
  /** The owner of the session, if it can be read; `undefined` if there is none. */
  readonly owner?: unknown
}

/**
 * Loads the session of an ID for a caller. Of another owner's session only the owner is read, even if the rest is
 * malformed. A session whose owner cannot be read counts as one without an owner.
 *
 * @param caller - `turnId`: the ID of the loading turn; `isBrief`: whether the summary of the session is enough.
 * @param orUnknown - Whether a session whose owner cannot be read counts as the caller's. Default `false`.
 * @throws `SessionStoreError`; `SessionFlowInvariantError` if the caller's own session cannot be read
 */
export function loadFor(
  engine: EngineContext,
  sessionId: string,
  { owner, turnId, isBrief }: Caller & { readonly turnId?: string; readonly isBrief?: boolean },
  orUnknown = false,
): Promise<Found> {
  const { access } = engine.session
  const loading = isBrief
    ? access.summaryUnchecked(sessionId, { owner })
    : access.loadUnchecked(sessionId, { owner }, turnId)
  return loading.then(
    (stored) => {
      if (stored === undefined) return { stored, isForeign: false }
      const storedOwner = ownerOf(stored)
      const isForeign = storedOwner !== owner
      return { stored: isForeign ? undefined : stored, isForeign, owner: storedOwner }
    },
    (error: unknown) => {
      reportUnreadable(engine, sessionId, error)
      if (!isMalformed(error) || error.owner === owner || (orUnknown && error.owner === undefined)) throw error
      return { stored: undefined, isForeign: true, owner: error.owner }
    },
  )
}

/**
 * Reports and logs a stored session that cannot be read. Does nothing for another error, or a newer release's session.
 */
export function reportUnreadable({ events, clock, logger }: EngineContext, sessionId: string, error: unknown): void {
  if (!isMalformed(error) || error.newerLayout) return
  const { message: problem } = error
  const log = async (): Promise<void> => logger.error(problem, { sessionId })
  // A logger that throws or rejects must not touch the reply.
  log().catch(() => undefined)
  if (events.hasListeners('session:unreadable')) {
    events.emit('session:unreadable', { sessionId, problem, at: clock.now() })
  }
}

/** Reports a request for another owner's session. */
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
