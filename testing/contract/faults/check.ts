/**
 * Checks what must hold in any run, whatever faults it had: the promises of design 2. It compares each change of the
 * data with the reference model, each answer with the changes, and the final read with the last change.
 */

import { lastTurnOf, newSession, take, viewOf } from '../simulation/model-session.js'
import type { ModelSession } from '../simulation/model-types.js'
import { hintProblem } from '../simulation/timeline.js'
import type { RecordedEffect } from './backend.js'
import { type Call, type Played, storeTimeoutMs, turnTimeoutMs } from './play.js'
import { same } from './same.js'

/** The longest that a call may take: it waits for the lock, runs, and has three writes; time moves in jumps. */
const longestMs = 2 * turnTimeoutMs + 3 * 3 * storeTimeoutMs + 5 * 5_000

/** What was wrong with a run, and counts of what was seen. */
export interface Verdict {
  readonly violations: readonly string[]
  readonly turns: number
  readonly commits: number
  /** A session came back after its removal: the message that created it had arrived a second time. */
  readonly lateCreates: number
}

/** Checks a run. */
export function check(played: Played): Verdict {
  return new Check(played).verdict()
}

class Check {
  readonly #played: Played
  readonly #violations: string[] = []
  /** By message of a turn: the changes that stored it, each document once. */
  readonly #commits = new Map<string, RecordedEffect[]>()
  readonly #everStored = new Set<string>()
  #lateCreates = 0

  constructor(played: Played) {
    this.#played = played
  }

  verdict(): Verdict {
    const { backend, calls, rejections, overlaps, healed, stage, locksLeft } = this.#played
    for (const effect of backend.effects) this.#checkEffect(effect)
    for (const call of calls) this.#checkCall(call)
    for (const call of healed) this.#checkHealed(call)
    this.#checkLines()
    this.#checkTouches()
    this.#checkRead()
    for (const overlap of overlaps) this.#fail(`two turns at once: ${overlap}`)
    for (const rejection of rejections) this.#fail(`a call was rejected: ${String(rejection)}`)
    if (stage.clock.pending > 0) this.#fail(`${stage.clock.pending} timers are left`)
    if (locksLeft > 0) this.#fail(`${locksLeft} locks are left`)
    const turns = calls.filter(({ kind }) => kind === 'turn').length
    return { violations: this.#violations, turns, commits: this.#commits.size, lateCreates: this.#lateCreates }
  }

  #fail(text: string): void {
    this.#violations.push(text)
  }

  /** Every change is one that the contract knows, on top of what was there. */
  #checkEffect(effect: RecordedEffect): void {
    const { before, after, expectedRevision, sessionId, isAgain } = effect
    const where = `${sessionId}, revision ${after?.revision ?? 'none'}`
    if (before?.revision !== expectedRevision) this.#fail(`${where} replaced what its writer had not read`)
    this.#checkOnce(effect, where)
    if (after === undefined || isAgain) return
    const { session } = after
    const base = before?.session ?? newSession(session.flow, undefined, undefined)
    if (!this.#played.issued.has(sessionId)) this.#fail(`${where} has an ID that no engine made`)
    if (before !== undefined) this.#checkHint(effect, where)
    if (session.count > base.count) this.#checkCommit(effect, session, base, where)
    else if (session.status === 'running') this.#checkCheckpoint(session, base, where)
    else this.#checkAbort(session, base, where)
  }

  #checkHint(effect: RecordedEffect, where: string): void {
    const { hint } = effect
    const problem = hint === undefined ? 'it needs a hint' : hintProblem(effect)
    if (problem !== undefined) this.#fail(`${where} was saved with the hint ${JSON.stringify(hint)}: ${problem}`)
  }

  /** Nothing is stored twice, and no session comes back after its removal. */
  #checkOnce({ before, expectedRevision, sessionId, isAgain }: RecordedEffect, where: string): void {
    if (before === undefined && this.#everStored.has(sessionId)) {
      // A message that arrives after everything else did cannot be distinguished from a first one.
      if (isAgain && expectedRevision === undefined) this.#lateCreates++
      else this.#fail(`${where} came back after it was removed`)
    } else if (isAgain) this.#fail(`${where} was stored twice`)
    this.#everStored.add(sessionId)
  }

  #checkCommit(effect: RecordedEffect, session: ModelSession, base: ModelSession, where: string): void {
    const message = session.turns.at(-1)?.message ?? ''
    const commits = this.#commits.get(message) ?? []
    this.#commits.set(message, [...commits, effect])
    const taken = take(base, lastTurnOf(session))
    if (taken.failed !== undefined || !same(session, taken.after))
      this.#fail(`${where} is not the whole of '${message}'`)
  }

  #checkCheckpoint(session: ModelSession, base: ModelSession, where: string): void {
    if (session.flow !== 'Ledger' || !same(session, { ...base, saves: base.saves + 1 })) {
      this.#fail(`${where} is not a checkpoint`)
    }
  }

  #checkAbort(session: ModelSession, base: ModelSession, where: string): void {
    const { errors, usage } = session
    const left = { ...base, status: 'aborted', errors, usage, saves: base.saves + 1 } as const
    const last = errors.at(-1) ?? ''
    if (!same(session, left) || !same(errors.slice(0, -1), base.errors)) this.#fail(`${where} is more than an abort`)
    if (isConflict(last) || isUnknown(last)) this.#fail(`${where} was aborted after: ${last}`)
    if (usage.modelCalls < base.usage.modelCalls) this.#fail(`${where} lost usage`)
  }

  #checkCall(call: Call): void {
    const { kind, message, asked, entered } = call
    const name = `${kind} '${message}' of ${asked ?? 'a new session'}`
    if (entered.length > 1) this.#fail(`${name} was run ${entered.length} times`)
    const commits = this.#commits.get(message) ?? []
    if (commits.length > 1) this.#fail(`${name} was stored ${commits.length} times`)
    const [commit] = commits
    if (commit !== undefined) this.#checkNotForgotten(call, commit.sessionId, name)
    if (!call.isLost) this.#checkAnswer(call, commit, name)
  }

  #checkAnswer(call: Call, commit: RecordedEffect | undefined, name: string): void {
    const tookMs = call.repliedAt - call.launchedAt
    if (call.replied === Number.POSITIVE_INFINITY) this.#fail(`${name} is not answered`)
    else if (tookMs > longestMs) this.#fail(`${name} took ${tookMs} ms`)
    if (call.deleted !== undefined) this.#checkDelete(call, name)
    if (call.response?.success === true) this.#checkSuccess(call, commit, name)
    if (call.response?.success === false) this.#checkFailure(call, commit, name)
  }

  /** No new session in place of one that is there. */
  #checkNotForgotten({ asked, launched, replied }: Call, sessionId: string, name: string): void {
    if (asked === undefined || sessionId === asked || sessionId === '') return
    const { timeline } = this.#played.backend
    if (!timeline.everBetween(launched, replied, asked, (session) => session?.status !== 'running')) {
      this.#fail(`${name} went to ${sessionId}, and ${asked} was there`)
    }
  }

  #checkDelete({ deleted, launched, replied, asked }: Call, name: string): void {
    const { timeline } = this.#played.backend
    if (deleted?.success !== true) return
    if (!timeline.everBetween(launched, replied, String(asked), (session) => session === undefined)) {
      this.#fail(`${name} was reported as deleted`)
    }
  }

  #checkSuccess({ response, replied }: Call, commit: RecordedEffect | undefined, name: string): void {
    if (commit === undefined) this.#fail(`${name} was acknowledged and is not stored`)
    else if (commit.tick >= replied) this.#fail(`${name} was acknowledged before it was stored`)
    const last = commit?.after?.session.turns.at(-1)
    const expected = {
      success: true,
      completed: last?.step === 'Done',
      message: last?.reply,
      session: commit?.sessionId,
      contentType: last?.contentType,
    }
    if (!same(response, expected)) this.#fail(`${name} was answered with ${JSON.stringify(response)}`)
  }

  #checkFailure(call: Call, commit: RecordedEffect | undefined, name: string): void {
    const { response, asked, launched, replied, entered } = call
    const { message = '', session = '' } = response ?? {}
    const { backend, issued } = this.#played
    if (session !== '' && session !== asked && !issued.has(session)) this.#fail(`${name} failed with ID '${session}'`)
    this.#checkNotForgotten(call, session, name)
    const others = backend.effects.filter(
      ({ sessionId, tick }) => sessionId === asked && tick > launched && tick < replied,
    )
    if (isConflict(message)) this.#checkConflict(call, message, others, commit, name)
    if (message.startsWith('Session store failed to load') && entered.length > 0) {
      this.#fail(`${name} ran without its session`)
    }
    if (commit !== undefined && !isInDoubt(message) && !wasRemoved(others, commit, message)) {
      this.#fail(`${name} failed (${message}) and is stored`)
    }
  }

  /** A conflict has a cause, and nothing is stored after it. */
  #checkConflict(
    { asked, life }: Call,
    message: string,
    others: readonly RecordedEffect[],
    commit: RecordedEffect | undefined,
    name: string,
  ): void {
    if (message.startsWith("Session '") && message.includes(' Saving the aborted session failed: ')) {
      this.#fail(`${name} was to be aborted after: ${message}`)
    }
    if (asked === undefined || !this.#mayMeet(asked, life, message))
      this.#fail(`${name} met a conflict without a rival`)
    const { stage, calls } = this.#played
    const { faults } = stage
    // A request that is behind, or comes late, conflicts with what came before it.
    if (faults.has('stale read') || faults.has('delay')) return
    // So does a turn that follows one of the same engine whose write is still on its way.
    const isOnItsWay = (other: Call): boolean =>
      other.life === life && other.asked === asked && isInDoubt(other.response?.message ?? '')
    if (calls.some(isOnItsWay)) return
    const isOwn = (effect: RecordedEffect): boolean =>
      effect === commit || (effect.by === life.seat && effect.after?.session.status === 'running')
    if (others.every(isOwn)) this.#fail(`${name} has a conflict without a rival`)
  }

  /** Whether the session of a conflict is the requested one, or one that another message for it has begun. */
  #mayMeet(asked: string, life: Call['life'], message: string): boolean {
    if (message.includes(`'${asked}'`)) return true
    const { calls, issued } = this.#played
    const begun = [...issued].filter(([sessionId]) => message.includes(`'${sessionId}'`))
    return calls.some(
      (other) => other.life === life && other.asked === asked && begun.some(([, tick]) => tick > other.launched),
    )
  }

  /** An engine touches a session only while a caller waits for its answer. */
  #checkTouches(): void {
    const { backend, calls, issued } = this.#played
    for (const { life, sessionId, tick } of backend.touches) {
      const issuedAt = issued.get(sessionId) ?? 0
      const isAsked = calls.some(
        (call) =>
          call.life === life &&
          call.launched < tick &&
          call.replied > tick &&
          (call.asked === sessionId || (call.kind === 'turn' && this.#hasBegun(call, issuedAt))),
      )
      if (!isAsked) this.#fail(`engine ${life.seat} touched ${sessionId}, and no request waited for it`)
    }
  }

  /**
   * Whether a turn may have begun the session that was issued at a tick, or follows one that did: messages that wait for
   * an ended session share the new one.
   */
  #hasBegun({ life, asked, launched }: Call, issuedAt: number): boolean {
    if (issuedAt > launched) return true
    return this.#played.calls.some(
      (other) =>
        other.kind === 'turn' &&
        other.life === life &&
        other.asked === asked &&
        other.launched < issuedAt &&
        other.replied > issuedAt,
    )
  }

  /** After the last fault everything works. */
  #checkHealed(call: Call): void {
    if (call.response?.success !== true) {
      this.#fail(`after the faults '${call.message}' failed: ${call.response?.message ?? 'no answer'}`)
    }
  }

  /** In one engine, the turns of one session run in the order in which they were requested. */
  #checkLines(): void {
    const latest = new Map<object, Map<string, number>>()
    // A turn that could not continue the requested session has a new one, with a separate lock.
    const ran = this.#played.calls.filter(({ ranIn, asked }) => ranIn !== undefined && ranIn === asked)
    for (const { life, asked, entered, message } of ran) {
      const line = latest.get(life) ?? new Map<string, number>()
      latest.set(life, line)
      const [tick = 0] = entered
      if (tick < (line.get(String(asked)) ?? 0)) this.#fail(`'${message}' ran before one that was asked for earlier`)
      line.set(String(asked), tick)
    }
  }

  /** What a new store reads is what was stored last. */
  #checkRead(): void {
    const { backend, read } = this.#played
    const last = new Map(backend.effects.map(({ sessionId, after }) => [sessionId, after] as const))
    for (const [sessionId, stored] of last) {
      const document = read.get(sessionId)
      const view = document === undefined ? undefined : viewOf(document)
      if (!same(view, stored?.session) || document?.revision !== stored?.revision) {
        this.#fail(`${sessionId} reads as ${JSON.stringify(view)} in place of ${JSON.stringify(stored?.session)}`)
      }
    }
  }
}

function isConflict(message: string): boolean {
  return message.includes('was changed or deleted by another request')
}

function isUnknown(message: string): boolean {
  return message.includes('Whether it took effect is unknown')
}

/**
 * Whether the answer says that the outcome is unknown: also if the abort that would have said so could not be stored.
 */
function isInDoubt(message: string): boolean {
  return isUnknown(message) || message.includes(' Saving the aborted session failed: ')
}

/**
 * Whether a save took effect, its answer was lost, and the session was removed before it was
 * read back: that is reported.
 */
function wasRemoved(others: readonly RecordedEffect[], commit: RecordedEffect, message: string): boolean {
  return isConflict(message) && others.some(({ after, tick }) => after === undefined && tick > commit.tick)
}
