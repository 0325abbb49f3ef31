/**
 * The requests for the locks of an engine: when each was made, when it acquired the lock, and when it released it. The
 * assertions in `lock-probe/problems.ts` decide whether that order is right.
 */
import type { LockEvent } from '../../src/index.js'

/** One request for the lock of a session. `requested`, `acquired` and `released` count the events of all requests. */
export interface LockRequest {
  readonly sessionId: string
  readonly holder: LockEvent['holder']
  readonly turnId: string | undefined
  /** From 1, over all sessions. */
  readonly number: number
  readonly requested: number
  acquired: number | undefined
  released: number | undefined
  refused: boolean
  /** The flow of a turn, and the turn's position in it, outermost first. */
  flowName: string | undefined
  places: readonly string[]
  /** Milliseconds since the epoch: when it was made, and its last progress. */
  readonly requestedAt: number
  movedAt: number
}

/** One line of the record. */
interface Line {
  readonly request: LockRequest
  text: string
}

const textsOfEvents: Readonly<Record<LockEvent['kind'], string>> = {
  requested: 'requests the lock',
  acquired: 'acquires it',
  released: 'releases it',
  refused: 'is refused',
  taken: 'loses it to a request that waited too long',
}

/** The record of one engine's locks. */
export class LockRequests {
  readonly all: LockRequest[] = []
  readonly #byNumber = new Map<number, LockRequest>()
  readonly #byTurn = new Map<string, LockRequest>()
  readonly #lines: Line[] = []
  #moments = 0

  /** Notes an event at a lock. */
  note({ kind, sessionId, request: key, holder, turnId }: LockEvent, at: number): void {
    const request = this.#byNumber.get(key) ?? this.#begin(key, sessionId, holder, turnId, at)
    const moment = ++this.#moments
    request.movedAt = at
    if (kind === 'acquired') request.acquired = moment
    const isOver = kind === 'released' || kind === 'refused' || kind === 'taken'
    if (isOver && request.acquired !== undefined) request.released = moment
    // A request that loses the lock unused was dropped from the queue.
    if (isOver && request.acquired === undefined) request.refused = true
    if (turnId !== undefined && isOver && this.#byTurn.get(turnId) === request) this.#byTurn.delete(turnId)
    const last = this.#lines.at(-1)
    if (kind === 'acquired' && last?.request === request) last.text = 'requests and acquires the lock'
    else this.#lines.push({ request, text: textsOfEvents[kind] })
  }

  /** Notes that the engine of all requests is closed: the next one numbers its requests from the start. */
  endAll(): void {
    for (const request of this.#byNumber.values()) {
      if (request.acquired === undefined) request.refused = true
      else request.released ??= ++this.#moments
    }
    this.#byNumber.clear()
    this.#byTurn.clear()
  }

  /** Notes where a turn is now. */
  locate(turnId: string, flowName: string, places: readonly string[], at: number): void {
    const request = this.#byTurn.get(turnId)
    if (request === undefined) return
    request.flowName = flowName
    request.places = places
    request.movedAt = at
  }

  /** The requests for one session, or for any, in the order in which they were made. */
  of(sessionId: string | undefined): readonly LockRequest[] {
    return sessionId === undefined ? this.all : this.all.filter((request) => request.sessionId === sessionId)
  }

  /** Every session with a request. */
  sessions(): readonly string[] {
    return [...new Set(this.all.map(({ sessionId }) => sessionId))]
  }

  /** What happened at the locks of some sessions, a line for each event. */
  record(...sessionIds: readonly string[]): string {
    const lines = this.#lines.filter(({ request }) => sessionIds.includes(request.sessionId))
    if (lines.length === 0) return 'There was no request for the lock.'
    const several = sessionIds.length > 1
    return [
      `What happened at the lock${several ? 's' : ''} of ${sessionIds.map((id) => `session '${id}'`).join(' and ')}:`,
      ...lines.map(
        ({ request, text }) => `  ${nameOf(request)} ${text}${several ? ` (session '${request.sessionId}')` : ''}`,
      ),
    ].join('\n')
  }

  #begin(
    key: number,
    sessionId: string,
    holder: LockRequest['holder'],
    turnId: string | undefined,
    at: number,
  ): LockRequest {
    const request: LockRequest = {
      sessionId,
      holder,
      turnId,
      number: this.all.length + 1,
      requested: this.#moments + 1,
      acquired: undefined,
      released: undefined,
      refused: false,
      flowName: undefined,
      places: [],
      requestedAt: at,
      movedAt: at,
    }
    this.all.push(request)
    this.#byNumber.set(key, request)
    if (turnId !== undefined) this.#byTurn.set(turnId, request)
    return request
  }
}

/** A request in words: `#2 turn of flow 'Talk'`. */
export function nameOf({ number, holder, flowName }: LockRequest): string {
  return `#${number} ${holder}${flowName === undefined ? '' : ` of flow '${flowName}'`}`
}

/** Whether a request has the lock. */
export function isHolding({ acquired, released }: LockRequest): boolean {
  return acquired !== undefined && released === undefined
}

/** Whether a request waits in the queue. */
export function isWaiting({ acquired, refused }: LockRequest): boolean {
  return acquired === undefined && !refused
}
