/**
 * The effects of a turn: `turn.once` and `turn.forget`. Results belong to the session, not to the draft, so they
 * outlive a discarded draft. This module decides which results to keep, and stores the intents and results of durable
 * work while the turn runs. `run-turn.ts` and `settle-turn-error.ts` write the rest at the end of the turn.
 */
import { flowCodeError } from '../../../errors/engine-errors.js'
import type { FlowError } from '../../../errors/flow-error.js'
import type { Turn } from '../../../flow/turn.js'
import { addedBytesOfEffects } from '../../../session/document-bytes.js'
import type { LockHolder } from '../../../session/lock/lock-line.js'
import { nextRevision } from '../../../session/revision.js'
import { unchangedLists } from '../../../session/save-hint.js'
import type { SessionDocument, SessionEffect, SessionEffects } from '../../../session/session-document.js'
import { digestOf } from '../../../util/digest.js'
import { isoTime } from '../../../util/iso-time.js'
import { copyJson, deepFreeze, type JsonError, type JsonValue, jsonSize, setOwn } from '../../../util/json.js'
import { ObservedPromise } from '../../../util/observed-promise.js'
import type { EngineContext } from '../../core/engine-context.js'
import { depthExceeded, limitExceeded } from '../../core/engine-limits.js'
import type { FailedTurn } from '../../core/engine-options.js'
import { asFlowError } from '../../core/error-text.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { checkName, hasEnded, isDurable } from './check-once.js'
import { type OnceCall, OnceReports } from './once-reports.js'

type Once = Turn['once']
type Work = Parameters<Once>[1]
type OnceOptions = Parameters<Once>[2]

/** The part of `turn-control.ts` that the effects use. */
interface EffectsControl {
  readonly engine: EngineContext
  readonly ids: FailedTurn
  readonly draft: TurnDraft | undefined
  readonly lockHolder: LockHolder | undefined
  readonly mayBeginEffects: boolean
  /** The turn of the same event that met a conflict. Its results are kept. */
  readonly after: { readonly effects: TurnEffects | undefined } | undefined
  readonly work: { check(): void; abort(error: FlowError): void }
  hold(sessionId: string): void
  emit(name: 'effect:uncertain', extra: { effect: string; attempt: number; begunAt: string }): void
  report(name: 'session:created' | 'session:saved', extra: object): void
}

/** One running piece of work. */
interface Begun {
  readonly name: string
  readonly durable: boolean
  /** Its entry until it has a result. */
  readonly effect: SessionEffect
  /** The earlier entry of its name: a forgotten result, or an earlier start. */
  readonly former: SessionEffect | undefined
  /** Whether an earlier start has no result. */
  readonly uncertain: boolean
}

/** The effects of one turn. Made on first use. */
export class TurnEffects {
  readonly #control: EffectsControl
  /** The entries to keep even if the turn fails, by name. */
  readonly #kept: Map<string, SessionEffect>
  /** The stored entries. */
  #stored: ReadonlyMap<string, SessionEffect>
  /** The model calls counted in the turn's last write; `undefined` if it has written nothing. */
  #storedCalls: number | undefined
  /** The running work by name, with the call that started it. */
  readonly #running = new Map<string, OnceCall & { readonly run: Promise<JsonValue> }>()
  /** The names that the turn forgets if it commits. */
  readonly #forgotten = new Set<string>()
  /** The last requested write; `undefined` if none is running. It does not reject. */
  #lastWrite: Promise<void> | undefined
  /** The error of a failed write. */
  writeFailure: FlowError | undefined
  /** Whether work may begin and results count: true until the turn begins its commit. */
  #isOpen: boolean
  readonly #reports: OnceReports

  constructor(control: EffectsControl) {
    this.#control = control
    this.#reports = new OnceReports(control)
    this.#isOpen = control.mayBeginEffects
    this.#kept = new Map(Object.entries(this.#draft.loaded?.effects ?? {}))
    this.#stored = new Map(this.#kept)
    const lost = control.after?.effects
    if (lost !== undefined) this.#takeOver(lost.#kept)
  }

  #takeOver(lost: ReadonlyMap<string, SessionEffect>): void {
    for (const [name, effect] of lost) if (this.#kept.get(name)?.result === undefined) this.#kept.set(name, effect)
  }

  /** See `turn.once`. @param draft - The draft of the caller's part of the turn. */
  once(draft: TurnDraft, name: string, work: Work, options: OnceOptions): Promise<JsonValue> {
    const outcome = this.#once(draft, name, work, options)
    // Flow code need not await it, and an unhandled rejection would end the process.
    const result = ObservedPromise.of(outcome)
    const { currentStep: step } = draft
    outcome.catch((error: unknown) => this.#reportFailure({ name, step }, result, error))
    return result
  }

  /** See `turn.forget`. */
  forget(draft: TurnDraft, name: string): void {
    checkName(name)
    if (this.#isCurrent(draft)) this.#forgotten.add(name)
  }

  /** Called when a part of the turn failed and the flow answers for it: names forgotten in that part are kept. */
  startAgain(): void {
    this.#forgotten.clear()
    this.#isOpen = true
  }

  /**
   * Called before the commit: waits for running writes. After that no work begins, and the results of running work are
   * discarded.
   */
  async finish(): Promise<void> {
    while (this.#lastWrite !== undefined) await this.#lastWrite
    this.#isOpen = false
    const isKept = (name: string): boolean => !this.#forgotten.has(name) && this.#kept.get(name)?.result !== undefined
    this.#reports.close(new Map([...this.#running].filter(([name]) => !isKept(name))))
  }

  /** Called when the turn was committed: logs the work whose result is missing. */
  committed(): void {
    this.#reports.committed()
  }

  /** Called before a failed turn is settled: like {@link finish}, but pending writes are dropped. */
  abandon(): Promise<void> {
    this.#isOpen = false
    return this.finish()
  }

  /** The effects that a turn stores when it commits. */
  get afterCommit(): SessionEffects {
    const left = new Map(this.#kept)
    for (const name of this.#forgotten) left.delete(name)
    return recordOf(left)
  }

  /** The document of a turn that stores only effects: the given document with all kept effects. */
  addTo(document: SessionDocument): SessionDocument {
    const effects = recordOf(this.#kept)
    return { ...document, bytes: document.bytes + addedBytesOfEffects(document.effects, effects), effects }
  }

  /** Whether a turn that stores only effects has effects or usage that are not stored yet. */
  get isUnstored(): boolean {
    if (this.#storedCalls !== undefined && this.#storedCalls !== this.#draft.usage.modelCalls) return true
    return !isSame(this.#kept, this.#stored)
  }

  /**
   * Stores only the effects and the turn's spending; the rest of the document stays as before the turn.
   *
   * @throws any error of {@link StoreAccess.write}
   */
  async store(): Promise<void> {
    const control = this.#control
    const { clock, generateId, session } = control.engine
    const draft = this.#draft
    const { storedRevision, beforeTurn } = draft
    const revision = nextRevision(storedRevision, generateId('revision'))
    const usage = { ...draft.usage }
    const written = new Map(this.#kept)
    const document = this.addTo({ ...beforeTurn, revision, savedAt: isoTime(clock.now()), usage })
    try {
      if (storedRevision === undefined) control.hold(document.id)
      await session.access.write(document, storedRevision, {
        hint: unchangedLists,
        holder: control.lockHolder,
      })
    } catch (thrown) {
      this.writeFailure = asFlowError(thrown)
      // Flow code that catches the error of `once` cannot go on, because the stored state may be unknown.
      control.work.abort(this.writeFailure)
      throw this.writeFailure
    }
    // The current draft: the flow may have begun to answer for a failure meanwhile.
    this.#draft.storedRevision = revision
    this.#stored = written
    this.#storedCalls = usage.modelCalls
    control.report(storedRevision === undefined ? 'session:created' : 'session:saved', {})
  }

  get #draft(): TurnDraft {
    // Flow code gets a turn only when there is a draft.
    return this.#control.draft as TurnDraft
  }

  /** Whether the caller belongs to the current part of the turn: not to an ended turn, or to a failed part. */
  #isCurrent(draft: TurnDraft): boolean {
    return this.#isOpen && draft === this.#draft
  }

  async #once(draft: TurnDraft, name: string, work: Work, options: OnceOptions): Promise<JsonValue> {
    checkName(name)
    const durable = isDurable(name, work, options) ?? this.#control.engine.session.access.store.guarantees.durable
    this.#check(name)
    if (!this.#isCurrent(draft)) throw hasEnded(name)
    const running = this.#running.get(name)
    if (running !== undefined) return running.run
    const kept = this.#kept.get(name)
    // Work of this turn, or of an earlier attempt at it, is not repeated: the service would get the same key.
    const isForgotten = this.#forgotten.has(name) && kept?.turn !== draft.turnNumber
    if (!isForgotten && kept?.result !== undefined) {
      this.#forgotten.delete(name)
      return deepFreeze(kept.result)
    }
    const begun = this.#begin(name, durable, kept, isForgotten)
    // Set before the work runs: work that calls `once` with its own name must find itself.
    const run = Promise.resolve()
      .then(async () => (await this.#resultUnderWay(begun, kept)) ?? this.#run(begun, work))
      .finally(() => this.#running.delete(name))
    this.#running.set(name, { name, step: draft.currentStep, run })
    return run
  }

  #reportFailure(call: OnceCall, result: ObservedPromise<JsonValue>, thrown: unknown): void {
    const isLate = !this.#isOpen
    // The warning about unfinished work reports only that the turn was over.
    const error = isLate ? (thrown as Error).cause : thrown
    if (error !== undefined) this.#reports.addFailed({ ...call, result, error, isLate })
  }

  /**
   * The result of work that an earlier turn started and that still runs in this process, after a cancelled turn for
   * example. Waits for it as long as a tool may take.
   *
   * @returns `undefined` if there is none, or if it fails or takes longer, so that its outcome is unknown
   */
  async #resultUnderWay(
    { uncertain, name, durable }: Begun,
    kept: SessionEffect | undefined,
  ): Promise<JsonValue | undefined> {
    const { workUnderWay, deadlines, limits } = this.#control.engine
    const working = kept && uncertain ? workUnderWay.get(this.#keyOf(name, kept)) : undefined
    if (kept === undefined || working === undefined) return undefined
    const isDone = await new Promise<boolean>((resolve) => {
      const deadline = deadlines.set(limits.toolTimeoutMs, () => resolve(false))
      const end = (done: boolean): void => {
        deadline?.cancel()
        resolve(done)
      }
      working.then(
        () => end(true),
        () => end(false),
      )
    })
    return isDone ? this.#takeResult(name, kept, durable, working) : undefined
  }

  #keyOf(name: string, { turn }: SessionEffect): string {
    return digestOf(JSON.stringify(['once', this.#draft.base.id, turn ?? 0, name]))
  }

  /** Waits for the work of an effect, and keeps its result. */
  async #takeResult(
    name: string,
    effect: SessionEffect,
    durable: boolean,
    working: Promise<unknown>,
  ): Promise<JsonValue> {
    const returned = await working
    // The work is done by now. A later failure leaves it marked as begun, because a repeat must not do it again.
    this.#check(name)
    const result = this.#copyResult(name, returned)
    this.#keep(name, Object.freeze({ ...effect, result }))
    if (durable) await this.#write()
    return result
  }

  /** @throws `LimitExceededError` if the session has too many names */
  #begin(name: string, durable: boolean, former: SessionEffect | undefined, isForgotten: boolean): Begun {
    const { engine } = this.#control
    const { limits, clock } = engine
    const names = new Set([...this.#kept.keys(), ...this.#running.keys()])
    for (const forgotten of this.#forgotten) names.delete(forgotten)
    names.add(name)
    if (names.size > limits.maxEffects) throw limitExceeded(limits, 'maxEffects', 'The number of names of turn.once')
    const known = isForgotten ? undefined : former
    const effect: SessionEffect = Object.freeze(
      known === undefined
        ? { begunAt: isoTime(clock.now()), attempts: 1, turn: this.#draft.turnNumber }
        : { ...known, attempts: known.attempts + 1 },
    )
    return { name, durable, effect, former, uncertain: known !== undefined }
  }

  async #run(begun: Begun, work: Work): Promise<JsonValue> {
    const { name, durable, effect, former, uncertain } = begun
    this.#check(name)
    const partOfTurn = this.#draft
    const wasForgotten = this.#forgotten.has(name)
    if (durable) await this.#write(begun)
    else this.#keep(name, effect)
    this.#forgotten.delete(name)
    const control = this.#control
    const { begunAt, attempts: attempt } = effect
    if (uncertain) control.emit('effect:uncertain', { effect: name, attempt, begunAt })
    const idempotencyKey = this.#keyOf(name, effect)
    const working = this.#do(idempotencyKey, () => work(Object.freeze({ idempotencyKey, attempt, uncertain, begunAt })))
    try {
      await working
    } catch (thrown) {
      this.#check(name, thrown)
      // This attempt did nothing, but the outcome of an earlier one is still unknown.
      if (!uncertain) this.#keep(name, former)
      if (wasForgotten && partOfTurn === this.#draft) this.#forgotten.add(name)
      throw thrown
    }
    return this.#takeResult(name, effect, durable, working)
  }

  /** Does the work. A later turn may need its result, if this one ends first. */
  #do(idempotencyKey: string, work: () => unknown): Promise<unknown> {
    const { workUnderWay } = this.#control.engine
    const working = (async () => work())()
    workUnderWay.set(idempotencyKey, working)
    const end = (): void => {
      if (workUnderWay.get(idempotencyKey) === working) workUnderWay.delete(idempotencyKey)
    }
    working.then(end, end)
    return working
  }

  /** Stores the current entries, after earlier writes. @param begun - The work that begins with this write. */
  #write(begun?: Begun): Promise<void> {
    const write = (this.#lastWrite ?? Promise.resolve()).then(() => this.#writeNow(begun))
    const done = (): void => {
      if (this.#lastWrite === last) this.#lastWrite = undefined
    }
    const last: Promise<void> = write.then(done, done)
    this.#lastWrite = last
    return write
  }

  async #writeNow(begun: Begun | undefined): Promise<void> {
    this.#check(begun?.name)
    if (begun !== undefined) this.#keep(begun.name, begun.effect)
    try {
      await this.store()
      this.#check(begun?.name)
    } catch (thrown) {
      // The work must not begin.
      if (begun !== undefined) this.#keep(begun.name, begun.former)
      throw thrown
    }
  }

  #keep(name: string, effect: SessionEffect | undefined): void {
    if (effect === undefined) this.#kept.delete(name)
    else this.#kept.set(name, effect)
  }

  /**
   * @param cause - The error of the work.
   * @throws the abort, or an error because the turn has ended: no work may begin, and no result counts
   */
  #check(name = '', cause?: unknown): void {
    this.#control.work.check()
    if (!this.#isOpen) throw hasEnded(name, cause)
  }

  #copyResult(name: string, returned: unknown): JsonValue {
    const { limits } = this.#control.engine
    const refuse = (problem: string, cause: JsonError): Error =>
      depthExceeded(limits, cause, ` of turn.once('${name}')`) ??
      flowCodeError(`The result of turn.once('${name}') cannot be stored: ${problem}.`, cause)
    const result = returned === undefined ? null : copyJson(returned, 'result', limits.maxJsonDepth, refuse)
    if (jsonSize(result) <= limits.maxEffectBytes) return deepFreeze(result)
    throw limitExceeded(limits, 'maxEffectBytes', `The result of turn.once('${name}')`)
  }
}

function recordOf(effects: ReadonlyMap<string, SessionEffect>): SessionEffects {
  const record = {}
  for (const [name, effect] of effects) setOwn(record, name, effect)
  return Object.freeze(record)
}

/** A changed effect is a new object. */
function isSame(one: ReadonlyMap<string, SessionEffect>, other: ReadonlyMap<string, SessionEffect>): boolean {
  if (one.size !== other.size) return false
  for (const [name, effect] of one) if (other.get(name) !== effect) return false
  return true
}
