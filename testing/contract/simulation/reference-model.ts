/**
 * The rules of sessions (contract 3, 4.5, 4.6, 7.3; design 2, 5, 13) over a map in memory: what a turn or a delete must
 * answer and leave behind, with everything that may happen on the way. It predicts which operation fails, never when.
 */

import { defaultRules, summarized } from './model-lists.js'
import { newSession, take } from './model-session.js'
import type { FlowName, ModelSession, Rules, Usage } from './model-types.js'

/** What disturbs a turn in the middle of its flow's code. */
export type Interference = 'none' | 'write' | 'malform' | 'remove' | 'timeout' | 'hang' | 'cancel'

export const turnTimeoutMs = 60_000

/** Which calls of a store fail, and when: before the call takes effect, or after it did. */
export interface Fault {
  readonly operation: 'load' | 'create' | 'save' | 'delete'
  readonly effect: 'fail-before' | 'fail-after'
  readonly nth: number
  readonly times: number
}

export interface TurnCall {
  readonly flow: FlowName
  readonly message: string
  readonly photo: string | undefined
  readonly sessionId: string | undefined
  readonly owner: string | undefined
  readonly config: Readonly<Record<string, unknown>> | undefined
  /** The ID that the engine gave to a new session in this turn, if it made one. */
  readonly newId: string | undefined
  /** The ID that the engine gave to the turn. */
  readonly turnId: string
  readonly unknownSession: 'new' | 'reject'
  readonly interference: Interference
  readonly faults: readonly Fault[]
}

export interface Outcome {
  readonly success: boolean
  readonly completed: boolean
  readonly message: string
  readonly session: string
  readonly contentType: string
  readonly code: string | undefined
}

/** An outcome, and what the caller reads of the session. */
export type TurnOutcome = Outcome & {
  readonly sessionState: 'running' | 'completed' | 'aborted' | 'none' | 'unknown'
  /** Why a new session answered. */
  readonly restarted: 'unknown' | 'completed' | 'aborted' | undefined
}

type Written = 'done' | 'failed' | 'unknown' | 'conflict'

/** An answer that ends a turn early. */
class Answer {
  readonly outcome: Outcome
  constructor(code: string, message: string, session: string) {
    this.outcome = { success: false, completed: true, message, session, contentType: 'text/plain', code }
  }
}

export class ReferenceModel {
  /** The IDs that a delete keeps from being used. */
  readonly #deleted = new Set<string>()
  readonly sessions: Map<string, ModelSession> = new Map()
  readonly #onAnswer: (code: string | undefined) => void
  readonly #rules: Rules
  #faults: (Fault & { seen: number })[] = []

  /** @param onAnswer - Receives the code of each answer to a turn. */
  constructor(rules: Rules = defaultRules, onAnswer: (code: string | undefined) => void = () => undefined) {
    this.#rules = rules
    this.#onAnswer = onAnswer
  }

  /** What an outsider's write leaves; one may also come in the middle of a turn. */
  disturb(sessionId: string, how: Interference): void {
    if (how === 'remove') this.#deleted.add(sessionId)
    const session = this.sessions.get(sessionId)
    if (session === undefined) return
    const saves = session.saves + 1
    if (how === 'write')
      this.sessions.set(sessionId, { ...session, context: { ...session.context, outside: saves }, saves })
    if (how === 'malform') this.sessions.set(sessionId, { ...session, status: 'lost', saves })
    if (how === 'remove') this.sessions.delete(sessionId)
  }

  run(call: TurnCall): TurnOutcome {
    this.#expect(call.faults)
    const reason = this.#whyRestarted(call)
    const outcome = this.#settle(call)
    this.#onAnswer(outcome.code)
    const restarted = outcome.session === call.newId ? reason : undefined
    return { ...outcome, sessionState: this.#stateAfter(outcome, call), restarted }
  }

  /** Why the requested session cannot continue, if it cannot. */
  #whyRestarted({ sessionId, owner }: TurnCall): TurnOutcome['restarted'] {
    if (sessionId === undefined) return undefined
    const found = this.sessions.get(sessionId)
    if (found === undefined || found.owner !== owner) return 'unknown'
    return found.status === 'completed' || found.status === 'aborted' ? found.status : undefined
  }

  /** What is stored under the ID that the caller uses next, as far as the engine can know it. */
  #stateAfter(outcome: Outcome, call: TurnCall): TurnOutcome['sessionState'] {
    if (outcome.success) return outcome.completed ? 'completed' : 'running'
    const id = outcome.session === '' ? (call.sessionId ?? '') : outcome.session
    if (id === '') return 'none'
    if (this.#isUnknown(outcome, id, call.newId)) return 'unknown'
    const found = this.sessions.get(id)
    if (found === undefined || found.owner !== call.owner) return 'none'
    return found.status === 'lost' ? 'unknown' : found.status
  }

  /** Whether the engine could not ask: the store failed, or its answer after a conflict did. */
  #isUnknown({ code, message }: Outcome, id: string, newId = id): boolean {
    const isUnread = code === 'SESSION_STORE_ERROR' && message.startsWith('Session store failed to load')
    if (isUnread || message.endsWith('Whether it took effect is unknown.')) return true
    const isOfSave = [id, newId].some((written) => message.endsWith(conflictText(written)))
    const isConflict = code === 'SESSION_CONFLICT' || isOfSave
    return isConflict && this.#strikes('load') !== undefined
  }

  get #afterFailure(): 'aborted' | 'running' {
    return this.#rules.onTurnError === 'abort' ? 'aborted' : 'running'
  }

  /** `undefined` on success. */
  delete(
    sessionId: string,
    owner: string | undefined | 'any',
    faults: readonly Fault[],
  ): { readonly code: string; readonly message: string } | undefined {
    this.#expect(faults)
    if (sessionId === '') return undefined
    if (this.#strikes('load') !== undefined)
      return { code: 'SESSION_STORE_ERROR', message: storeText('load', sessionId) }
    const session = this.sessions.get(sessionId)
    const isOwn = session !== undefined && (owner === 'any' || owner === session.owner)
    const written = isOwn ? this.#write('delete', sessionId, session, undefined) : this.#mark(sessionId)
    return written === 'done'
      ? undefined
      : { code: 'SESSION_STORE_ERROR', message: storeText('delete', sessionId, written) }
  }

  #settle(call: TurnCall): Outcome {
    try {
      return this.#run(call)
    } catch (answer) {
      if (answer instanceof Answer) return answer.outcome
      throw answer
    }
  }

  #run(call: TurnCall): Outcome {
    const loaded = this.#load(call)
    const id = String(loaded === undefined ? call.newId : call.sessionId)
    let base = loaded ?? newSession(call.flow, call.owner, call.config)
    let stored = loaded
    // The ID of a stored session; the ID of a session that was not stored is unknown to all callers.
    const known = (): string => (loaded === undefined && stored === undefined ? '' : id)

    const fail = (
      code: string,
      message: string,
      usage: Usage,
      status: 'aborted' | 'running' = this.#afterFailure,
    ): Answer => {
      const failed = {
        ...base,
        status,
        errors: [...base.errors, message],
        usage,
        saves: base.saves + 1,
      }
      const written = this.#write(stored === undefined ? 'create' : 'save', id, stored, failed)
      if (written === 'done') return new Answer(code, message, id)
      const second =
        written === 'conflict' ? conflictText(id) : storeText(stored === undefined ? 'create' : 'save', id, written)
      const what = status === 'aborted' ? 'aborted session' : 'session'
      return new Answer(code, `${message} Saving the ${what} failed: ${second}`, known())
    }

    const commit = (next: ModelSession, usage: Usage): void => {
      const operation = stored === undefined ? 'create' : 'save'
      const written = this.#write(operation, id, stored, next)
      if (written === 'conflict') throw new Answer('SESSION_CONFLICT', conflictText(id), known())
      if (written === 'unknown') throw new Answer('SESSION_STORE_ERROR', storeText(operation, id, written), known())
      if (written === 'failed') throw fail('SESSION_STORE_ERROR', storeText(operation, id, written), usage)
      stored = next
    }

    if (call.flow === 'Ledger') {
      const checkpoint = { ...base, saves: base.saves + 1 }
      commit(checkpoint, base.usage)
      base = checkpoint
    }
    const taken = take(base, { message: call.message, id: call.turnId, photo: call.photo }, this.#rules)
    this.disturb(id, call.interference)
    if (call.interference === 'cancel')
      throw new Answer('TURN_ABORTED', 'The turn was cancelled by its caller.', known())
    if (call.interference === 'timeout' || call.interference === 'hang')
      throw fail('TURN_TIMEOUT', timeoutText, taken.usage)
    if (taken.failed !== undefined) {
      if (taken.goesOn) throw fail('LIMIT_EXCEEDED', taken.failed, taken.usage, 'running')
      throw fail('FLOW_ERROR', taken.failed, taken.usage)
    }
    commit(taken.after, taken.usage)
    if (taken.isSummaryDue) this.#summarize(id, taken.after)
    const last = taken.after.turns.at(-1)
    return {
      success: true,
      completed: taken.after.status === 'completed',
      message: last?.reply ?? '',
      session: id,
      contentType: last?.contentType ?? '',
      code: undefined,
    }
  }

  /**
   * Stores the summary after the reply, in a session that is loaded again. If that fails, only the summary is lost, and
   * a second save stores its cost, if the session can be loaded.
   */
  #summarize(id: string, session: ModelSession): void {
    const { compaction } = this.#rules
    const after = compaction === undefined ? session : summarized(session, compaction)
    if (after === session) return
    const isLoaded = this.#strikes('load') === undefined
    if (isLoaded && this.#write('save', id, session, after) !== 'failed') return
    if (this.#strikes('load') !== undefined) return
    this.#write('save', id, session, { ...session, usage: after.usage, saves: after.saves })
  }

  /** The session to continue, or `undefined` for a new one. */
  #load({ sessionId, flow, owner, unknownSession }: TurnCall): ModelSession | undefined {
    if (sessionId === undefined) return undefined
    if (this.#strikes('load') !== undefined)
      throw new Answer('SESSION_STORE_ERROR', storeText('load', sessionId), sessionId)
    const session = this.sessions.get(sessionId)
    // The owner comes first: to anybody else a session is unknown, whatever is wrong with it.
    if (session?.status === 'lost' && session.owner === owner) {
      throw new Answer('SESSION_FLOW_INVARIANT', `Session '${sessionId}' is malformed: runStatus is 'lost'.`, sessionId)
    }
    if (session !== undefined && session.owner === owner) {
      if (session.flow !== flow) {
        const text = `Session '${sessionId}' belongs to flow '${session.flow}' and cannot run flow '${flow}'.`
        throw new Answer('SESSION_FLOW_MISMATCH', text, sessionId)
      }
      if (session.status === 'running') return session
    }
    if (unknownSession === 'new') return undefined
    const text = `Session '${sessionId}' does not exist or has ended. Leave the session ID out to start a new one.`
    throw new Answer('SESSION_NOT_FOUND', text, sessionId)
  }

  /** One write: three attempts, a read-back after each unclear one, and no result without it (design 5). */
  #write(
    operation: 'create' | 'save' | 'delete',
    id: string,
    expected: ModelSession | undefined,
    next: ModelSession | undefined,
  ): Written {
    let result: 'done' | 'conflict' | 'unclear' = 'unclear'
    for (let attempt = 1; attempt <= 3; attempt++) {
      result = this.#attempt(operation, id, expected, next)
      if (result === 'done' || (result === 'conflict' && attempt === 1)) return result
      if (this.#strikes('load') !== undefined) return 'unknown'
      const found = this.sessions.get(id)
      if (found === next) return 'done'
      if (found !== expected) return 'conflict'
    }
    return result === 'conflict' ? result : 'failed'
  }

  /** `unclear`: the store failed, before or after the write took effect. */
  #attempt(
    operation: 'create' | 'save' | 'delete',
    id: string,
    expected: ModelSession | undefined,
    next: ModelSession | undefined,
  ): 'done' | 'conflict' | 'unclear' {
    const strike = this.#strikes(operation)
    if (strike === 'fail-before') return 'unclear'
    const found = this.sessions.get(id)
    if (found !== expected && found !== next) return 'conflict'
    if (operation === 'create' && found === undefined && this.#deleted.has(id)) return 'conflict'
    if (next === undefined) this.#deleted.add(id)
    if (next === undefined) this.sessions.delete(id)
    else this.sessions.set(id, next)
    return strike === undefined ? 'done' : 'unclear'
  }

  /** Keeps an ID without a session of the caller from being used; another owner's session stays. */
  #mark(id: string): Written {
    const isForeign = this.sessions.has(id)
    for (let attempt = 1; attempt <= 3; attempt++) {
      const strike = this.#strikes('delete')
      if (strike !== 'fail-before' && !isForeign) this.#deleted.add(id)
      if (strike === undefined || (isForeign && strike === 'fail-after')) return 'done'
      if (this.#strikes('load') !== undefined) return 'unknown'
      if (isForeign) return 'done'
    }
    return 'failed'
  }

  #expect(faults: readonly Fault[]): void {
    this.#faults = faults.map((fault) => ({ ...fault, seen: 0 }))
  }

  #strikes(operation: Fault['operation']): Fault['effect'] | undefined {
    for (const fault of this.#faults) {
      if (fault.operation !== operation) continue
      fault.seen++
      if (fault.seen >= fault.nth && fault.seen < fault.nth + fault.times) return fault.effect
    }
    return undefined
  }
}

const timeoutText = `The turn took longer than the limit turnTimeoutMs (${turnTimeoutMs} ms).`

function conflictText(id: string): string {
  return `Session '${id}' was changed or deleted by another request.`
}

function storeText(operation: string, id: string, written: Written = 'failed'): string {
  return `Session store failed to ${operation} session '${id}'.${written === 'unknown' ? ' Whether it took effect is unknown.' : ''}`
}
