/**
 * What the code of a turn did in the world once and for all: `turn.once` and `turn.forget`. Results belong to the
 * session and not to the draft, so they outlive a draft that is thrown away. This module decides what is kept, and
 * stores intents and results of durable work while the turn runs; what the turn writes at its end, `run-turn.ts` and
 * `settle-turn-error.ts` take from here.
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

/** What the effects need of their turn: `turn-control.ts` has it. */
interface EffectsControl {
  readonly engine: EngineContext
  readonly ids: FailedTurn
  readonly draft: TurnDraft | undefined
  readonly lockHolder: LockHolder | undefined
  readonly mayBeginEffects: boolean
  readonly work: { check(): void; abort(error: FlowError): void }
  hold(sessionId: string): void
  emit(name: 'effect:uncertain', extra: { effect: string; attempt: number; begunAt: string }): void
  report(name: 'session:created' | 'session:saved', extra: object): void
}

/** One piece of work under way. */
interface Begun {
  readonly name: string
  readonly durable: boolean
  /** What it is kept as until it has a result. */
  readonly effect: SessionEffect
  /** What was kept under its name before: the result that was forgotten, or an earlier beginning. */
  readonly former: SessionEffect | undefined
  /** Whether an earlier beginning has no result. */
  readonly uncertain: boolean
}

/** The effects of one turn. Made when flow code first asks for one. */
export class TurnEffects {
  readonly #control: EffectsControl
  /** What is kept whatever becomes of the turn, by name. */
  readonly #kept: Map<string, SessionEffect>
  /** What is stored. */
  #stored: ReadonlyMap<string, SessionEffect>
  /** The model calls that are counted in what this turn has stored; `undefined` where it has stored nothing. */
  #storedCalls: number | undefined
  /** The work that goes on, by name, with the call that began it. */
  readonly #running = new Map<string, OnceCall & { readonly run: Promise<JsonValue> }>()
  /** The names that the turn forgets if it commits. */
  readonly #forgotten = new Set<string>()
  /** The last write that was asked for; `undefined` where none is under way. It does not reject. */
  #lastWrite: Promise<void> | undefined
  /** Why a write failed. */
  writeFailure: FlowError | undefined
  /** Whether work may begin and results count: until the turn decides what it stores. */
  #isOpen: boolean
  readonly #reports: OnceReports

  constructor(control: EffectsControl) {
    this.#control = control
    this.#reports = new OnceReports(control)
    this.#isOpen = control.mayBeginEffects
    this.#kept = new Map(Object.entries(this.#draft.loaded?.effects ?? {}))
    this.#stored = new Map(this.#kept)
  }

  /** See `turn.once`. @param draft - That of the caller's part of the turn. */
  once(draft: TurnDraft, name: string, work: Work, options: OnceOptions): Promise<JsonValue> {
    const outcome = this.#once(draft, name, work, options)
    // Flow code need not wait for it, and a failure that nobody receives ends a process.
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

  /** The failed part of the turn has ended and the flow answers for it: what that part forgot is not forgotten. */
  startAgain(): void {
    this.#forgotten.clear()
    this.#isOpen = true
  }

  /**
   * Before the turn commits: waits for what is being written. Then no work begins, and the results of what
   * still runs are discarded.
   */
  async finish(): Promise<void> {
    while (this.#lastWrite !== undefined) await this.#lastWrite
    this.#isOpen = false
    const isKept = (name: string): boolean => !this.#forgotten.has(name) && this.#kept.get(name)?.result !== undefined
    this.#reports.close(new Map([...this.#running].filter(([name]) => !isKept(name))))
  }

  /** The turn was committed: the log says of which work it does not have the result. */
  committed(): void {
    this.#reports.committed()
  }

  /** Before a failed turn is settled: as {@link finish}, but what waits to be written is not written any more. */
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

  /** The document of a turn that leaves nothing else: a document with all effects that are kept. */
  addTo(document: SessionDocument): SessionDocument {
    const effects = recordOf(this.#kept)
    return { ...document, bytes: document.bytes + addedBytesOfEffects(document.effects, effects), effects }
  }

  /** Whether the turn, which leaves nothing else, has effects or usage that are not stored yet. */
  get isUnstored(): boolean {
    if (this.#storedCalls !== undefined && this.#storedCalls !== this.#draft.usage.modelCalls) return true
    return !isSame(this.#kept, this.#stored)
  }

  /**
   * Stores the effects and what the turn has spent, and nothing else: the rest of the document is
   * as it was before the turn.
   *
   * @throws What {@link StoreAccess.write} throws.
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
      // Flow code that catches what `once` threw cannot go on: nobody may know what is stored.
      control.work.abort(this.writeFailure)
      throw this.writeFailure
    }
    // The draft of now: the flow may have begun to answer for a failure meanwhile.
    this.#draft.storedRevision = revision
    this.#stored = written
    this.#storedCalls = usage.modelCalls
    control.report(storedRevision === undefined ? 'session:created' : 'session:saved', {})
  }

  get #draft(): TurnDraft {
    // Flow code gets a turn only when there is a draft.
    return this.#control.draft as TurnDraft
  }

  /**
   * Whether the caller is part of the turn as it runs now: not code of a turn that has ended, or
   * of a part that has failed.
   */
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
    // What this turn did, or an earlier attempt at it, is not done again: the service would get the same key.
    const isForgotten = this.#forgotten.has(name) && kept?.turn !== draft.turnNumber
    if (!isForgotten && kept?.result !== undefined) {
      this.#forgotten.delete(name)
      return deepFreeze(kept.result)
    }
    const begun = this.#begin(name, durable, kept, isForgotten)
    // In a later step: work that calls `once` again with its own name must find itself.
    const run = Promise.resolve()
      .then(async () => (await this.#resultUnderWay(begun, kept)) ?? this.#run(begun, work))
      .finally(() => this.#running.delete(name))
    this.#running.set(name, { name, step: draft.currentStep, run })
    return run
  }

  #reportFailure(call: OnceCall, result: ObservedPromise<JsonValue>, thrown: unknown): void {
    const isLate = !this.#isOpen
    // That the turn was over, and nothing else, is what the warning about unfinished work says.
    const error = isLate ? (thrown as Error).cause : thrown
    if (error !== undefined) this.#reports.addFailed({ ...call, result, error, isLate })
  }

  /**
   * The result of work that an earlier turn has begun and that this process still does: cancelled turns leave such
   * work. Waits for it as long as a tool may take.
   *
   * @returns `undefined` where there is none, and where it fails or takes longer: then its outcome is unknown.
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
    // From here on the work is done, and what fails leaves it as begun: a repeat must not do it again.
    this.#check(name)
    const result = this.#copyResult(name, returned)
    this.#keep(name, Object.freeze({ ...effect, result }))
    if (durable) await this.#write()
    return result
  }

  /** @throws `LimitExceededError` where the session has too many names. */
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
      // Nothing was done; but of an earlier beginning that is still unknown.
      if (!uncertain) this.#keep(name, former)
      if (wasForgotten && partOfTurn === this.#draft) this.#forgotten.add(name)
      throw thrown
    }
    return this.#takeResult(name, effect, durable, working)
  }

  /** Does the work. A later turn may need its result, where this one ends before. */
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

  /** Stores what is kept now, when the writes before it are done. @param begun - Work that begins with this write. */
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
      // The work does not begin.
      if (begun !== undefined) this.#keep(begun.name, begun.former)
      throw thrown
    }
  }

  #keep(name: string, effect: SessionEffect | undefined): void {
    if (effect === undefined) this.#kept.delete(name)
    else this.#kept.set(name, effect)
  }

  /**
   * @param cause - What the work has thrown.
   * @throws The abort, or that the turn has ended: nothing more may begin, and no result counts.
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

/** An effect that changes is another object. */
function isSame(one: ReadonlyMap<string, SessionEffect>, other: ReadonlyMap<string, SessionEffect>): boolean {
  if (one.size !== other.size) return false
  for (const [name, effect] of one) if (other.get(name) !== effect) return false
  return true
}
