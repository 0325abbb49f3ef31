/**
 * Who came to the locks of an engine, in which order, and what became of them. Only notes and words: what the order
 * should have been is decided by the assertions.
 */
import type { LockEvent } from '../../src/index.js'

/** One visit to the lock of a session. Moments count up over all visits: one after the other, never the same. */
export interface Visit {
  readonly sessionId: string
  readonly holder: LockEvent['holder']
  readonly turnId: string | undefined
  /** From 1, over all sessions. */
  readonly number: number
  readonly asked: number
  entered: number | undefined
  left: number | undefined
  refused: boolean
  /** Of a turn: its flow, and where in it the turn is, outermost first. */
  flowName: string | undefined
  places: readonly string[]
  /** Milliseconds since the epoch: when it asked, and when it got on last. */
  readonly askedAt: number
  movedAt: number
}

/** One line of the record. */
interface Line {
  readonly visit: Visit
  text: string
}

const deeds: Readonly<Record<LockEvent['kind'], string>> = {
  requested: 'asks',
  acquired: 'enters',
  released: 'leaves',
  refused: 'is refused',
}

/** The record of one engine's locks. */
export class Visits {
  readonly all: Visit[] = []
  readonly #byNumber = new Map<number, Visit>()
  readonly #byTurn = new Map<string, Visit>()
  readonly #lines: Line[] = []
  #moments = 0

  /** Notes an event at a lock. */
  note({ kind, sessionId, request: key, holder, turnId }: LockEvent, at: number): void {
    const visit = this.#byNumber.get(key) ?? this.#begin(key, sessionId, holder, turnId, at)
    const moment = ++this.#moments
    visit.movedAt = at
    if (kind === 'acquired') visit.entered = moment
    if (kind === 'released') visit.left = moment
    if (kind === 'refused') visit.refused = true
    if (turnId !== undefined && (kind === 'released' || kind === 'refused')) this.#byTurn.delete(turnId)
    const last = this.#lines.at(-1)
    if (kind === 'acquired' && last?.visit === visit) last.text = 'asks and enters'
    else this.#lines.push({ visit, text: deeds[kind] })
  }

  /** Notes where a turn is now. */
  locate(turnId: string, flowName: string, places: readonly string[], at: number): void {
    const visit = this.#byTurn.get(turnId)
    if (visit === undefined) return
    visit.flowName = flowName
    visit.places = places
    visit.movedAt = at
  }

  /** The visits to one session, or to any, in the order in which they asked. */
  of(sessionId: string | undefined): readonly Visit[] {
    return sessionId === undefined ? this.all : this.all.filter((visit) => visit.sessionId === sessionId)
  }

  /** Every session that was visited. */
  sessions(): readonly string[] {
    return [...new Set(this.all.map(({ sessionId }) => sessionId))]
  }

  /** What happened at the locks of some sessions, a line for each event. */
  record(...sessionIds: readonly string[]): string {
    const lines = this.#lines.filter(({ visit }) => sessionIds.includes(visit.sessionId))
    if (lines.length === 0) return 'Nobody came to the lock.'
    const several = sessionIds.length > 1
    return [
      `What happened at the lock${several ? 's' : ''} of ${sessionIds.map((id) => `session '${id}'`).join(' and ')}:`,
      ...lines.map(
        ({ visit, text }) => `  ${nameOf(visit)} ${text}${several ? ` (session '${visit.sessionId}')` : ''}`,
      ),
    ].join('\n')
  }

  #begin(key: number, sessionId: string, holder: Visit['holder'], turnId: string | undefined, at: number): Visit {
    const visit: Visit = {
      sessionId,
      holder,
      turnId,
      number: this.all.length + 1,
      asked: this.#moments + 1,
      entered: undefined,
      left: undefined,
      refused: false,
      flowName: undefined,
      places: [],
      askedAt: at,
      movedAt: at,
    }
    this.all.push(visit)
    this.#byNumber.set(key, visit)
    if (turnId !== undefined) this.#byTurn.set(turnId, visit)
    return visit
  }
}

/** A visit in words: `#2 turn of flow 'Talk'`. */
export function nameOf({ number, holder, flowName }: Visit): string {
  return `#${number} ${holder}${flowName === undefined ? '' : ` of flow '${flowName}'`}`
}

/** Whether a visit has the lock. */
export function isInside({ entered, left }: Visit): boolean {
  return entered !== undefined && left === undefined
}

/** Whether a visit stands in line. */
export function isWaiting({ entered, refused }: Visit): boolean {
  return entered === undefined && !refused
}
