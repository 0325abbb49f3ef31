/**
 * The errors of a session document: the contract's four codes (7.2), and a session that cannot be continued. The first
 * three leave the stored document unchanged.
 */
import { factsOf } from './error-facts.js'
import { FlowError } from './flow-error.js'

/** Whether `error` is one of the three conflict classes, which leave the document unchanged. */
export function isSessionConflict(error: unknown): boolean {
  return FlowError.isInstance(error) && factsOf(error.code).session === 'conflict'
}

/**
 * A stale compare-and-swap: another request changed or deleted the session since it was loaded. Intended status 409.
 */
export class SessionConflictError extends FlowError<'SESSION_CONFLICT'> {
  declare readonly sessionId: string

  constructor(options: { readonly sessionId: string; readonly cause?: unknown }) {
    super({
      code: 'SESSION_CONFLICT',
      message: `Session '${options.sessionId}' was changed or deleted by another request.`,
      cause: options.cause,
      facts: { sessionId: options.sessionId },
    })
  }

  static {
    this.prototype.name = 'SessionConflictError'
  }
}

/** A session ID was used with a flow that the session does not belong to. Intended status 409. */
export class SessionFlowMismatchError extends FlowError<'SESSION_FLOW_MISMATCH'> {
  declare readonly sessionId: string
  /** The flow that the stored session is bound to. */
  declare readonly boundFlow: string
  /** The flow that the caller named. */
  declare readonly requestedFlow: string

  constructor(options: {
    readonly sessionId: string
    readonly boundFlow: string
    readonly requestedFlow: string
    readonly cause?: unknown
  }) {
    super({
      code: 'SESSION_FLOW_MISMATCH',
      message: `Session '${options.sessionId}' belongs to flow '${options.boundFlow}' and cannot run flow '${options.requestedFlow}'.`,
      cause: options.cause,
      facts: { sessionId: options.sessionId, boundFlow: options.boundFlow, requestedFlow: options.requestedFlow },
    })
  }

  static {
    this.prototype.name = 'SessionFlowMismatchError'
  }
}

/** The stored document cannot be a session of this flow. Intended status 409. */
export class SessionFlowInvariantError extends FlowError<'SESSION_FLOW_INVARIANT'> {
  declare readonly sessionId: string
  /**
   * Whether a newer release stored the session, in a layout that this release cannot read. The session itself is
   * intact.
   */
  declare readonly newerLayout: boolean
  /** The session's owner, if the store could read it although it could not read the document. */
  declare readonly owner: string | undefined

  constructor(options: {
    readonly sessionId: string
    /** The problem of the document; with `newerLayout`, its layout. */
    readonly problem: string
    readonly newerLayout?: boolean
    /**
     * For stores: the session's owner, if it can be read. Other callers then get the same answer as for an unknown ID.
     * Default: the session counts as one without an owner.
     */
    readonly owner?: string | undefined
    readonly cause?: unknown
  }) {
    const { sessionId, problem, newerLayout = false, owner, cause } = options
    const message = newerLayout
      ? `Session '${sessionId}' was stored by a newer release of Turnkeeper and cannot be read: ${problem}.`
      : `Session '${sessionId}' is malformed: ${problem}.`
    super({
      code: 'SESSION_FLOW_INVARIANT',
      message,
      cause,
      facts: { sessionId, newerLayout, owner },
    })
  }

  static {
    this.prototype.name = 'SessionFlowInvariantError'
  }
}

/** Whether `error` means that a document cannot be read. */
export function isMalformed(error: unknown): error is SessionFlowInvariantError {
  return FlowError.isInstance(error) && error.code === 'SESSION_FLOW_INVARIANT'
}

/** Whether `error` refuses a session that a newer release stored. */
export function isNewerLayout(error: unknown): error is SessionFlowInvariantError {
  return isMalformed(error) && error.newerLayout
}

/**
 * The session backend failed. Its error is the `cause` and never part of the message, because it may contain hosts and
 * keys. Intended status 500.
 */
export class SessionStoreError extends FlowError<'SESSION_STORE_ERROR'> {
  /** The operation of the store that failed. */
  declare readonly operation: 'load' | 'create' | 'save' | 'delete' | 'claim' | 'list' | 'close'
  /** The session ID; absent for `list` and `close`. */
  declare readonly sessionId: string | undefined

  constructor(options: {
    readonly operation: SessionStoreError['operation']
    readonly sessionId?: string | undefined
    /** An additional sentence about the outcome. */
    readonly detail?: string
    readonly cause?: unknown
  }) {
    const subject = options.sessionId === undefined ? '' : ` session '${options.sessionId}'`
    const detail = options.detail === undefined ? '' : ` ${options.detail}`
    super({
      code: 'SESSION_STORE_ERROR',
      message: `Session store failed to ${options.operation}${subject}.${detail}`,
      cause: options.cause,
      facts: { operation: options.operation, sessionId: options.sessionId },
    })
  }

  static {
    this.prototype.name = 'SessionStoreError'
  }
}

/** Only with `unknownSession: 'reject'`: there is no session to continue under this ID. */
export class SessionNotFoundError extends FlowError<'SESSION_NOT_FOUND'> {
  constructor(options: { readonly sessionId: string; readonly cause?: unknown }) {
    super({
      code: 'SESSION_NOT_FOUND',
      message: `Session '${options.sessionId}' does not exist or has ended. Leave the session ID out to start a new one.`,
      cause: options.cause,
      facts: { sessionId: options.sessionId },
    })
  }

  static {
    this.prototype.name = 'SessionNotFoundError'
  }
}

/**
 * No step that the session is in, and not its flow, takes an event of this name now. The session is unchanged. Final,
 * unless `sessionState` is `running`: a step that takes the event may be about to be entered. Intended status 409.
 */
export class EventNotTakenError extends FlowError<'EVENT_NOT_TAKEN'> {
  constructor(options: { readonly sessionId: string; readonly event: string; readonly details?: string | undefined }) {
    const { details, ...facts } = options
    super({
      code: 'EVENT_NOT_TAKEN',
      message: `Session '${facts.sessionId}' does not take the event '${facts.event}' now.`,
      ...(details && { details }),
      facts,
    })
  }

  static {
    this.prototype.name = 'EventNotTakenError'
  }
}

/** The store failed, and the stored state is unknown. @internal */
export class OutcomeUnknownError extends SessionStoreError {}

/** Whether the stored state is unknown after `error`. The engine must then not save the session as aborted. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof OutcomeUnknownError
}

/** Whether the stored document stays unchanged after `error`. */
export function leavesSessionUnchanged(error: FlowError): boolean {
  return isOutcomeUnknown(error) || factsOf(error.code).session !== 'aborts'
}
