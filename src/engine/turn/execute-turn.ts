/** One turn from the caller's point of view: checks the input, waits for the session's lock, and runs. */
import { EngineBusyError, TurnAbortedError } from '../../errors/engine-errors.js'
import { isRequestId } from '../../util/patterns.js'
import type { EngineContext } from '../core/engine-context.js'
import { limitExceeded } from '../core/engine-limits.js'
import type { ExecuteResult, FlowRunInput } from '../core/engine-options.js'
import { asFlowError, userText } from '../core/error-text.js'
import { registeredName } from '../core/registered-name.js'
import { failureEnvelope, type TurnOutcome } from '../core/run-envelope.js'
import { lookUpState, stateUnseen } from '../core/session-state.js'
import type { TurnEvent, TurnInput } from '../core/turn-input.js'
import { answerRepeat, replayBeforeLock } from '../idempotency/answer-repeat.js'
import { requestKeyOf } from '../idempotency/request-key.js'
import { checkConfig, checkInputNames, checkSessionId, checkTurnInput } from '../input/check-input.js'
import { turnWait } from '../lock/lock-waits.js'
import type { TurnStream } from '../stream/turn-stream.js'
import { TurnControl } from './control/turn-control.js'
import { lateCode } from './events/late-code.js'
import { runTurn } from './run-turn.js'

/**
 * Runs one turn. Never rejects.
 *
 * @param context - Added to the flow context of a new session, if the input has no `config`.
 * @param stream - Receives the turn piece by piece. Default: none.
 * @param event - The event of the application that the turn takes. Default: none.
 */
export async function executeTurn(
  engine: EngineContext,
  unchecked: FlowRunInput,
  context?: unknown,
  stream?: TurnStream,
  event?: TurnEvent,
): Promise<ExecuteResult> {
  let givenId = ''
  let control: TurnControl | undefined
  let outcome: TurnOutcome
  try {
    // The caller's object is read inside the `try`, because its getters may throw.
    const sessionId = checkSessionId((unchecked as FlowRunInput | null | undefined)?.sessionId)
    givenId = sessionId ?? ''
    const input = checkInput(engine, unchecked, sessionId, context, stream, event)
    if (input.signal?.aborted === true) throw new TurnAbortedError({ cause: input.signal.reason })
    const turn = new TurnControl(engine, input, registeredName(engine, input), givenId, { stream })
    control = turn
    if (input.idempotency === undefined) outcome = await runToEnd(turn)
    else {
      // A refusal is an outcome for all requests that joined the turn.
      const run = (): Promise<TurnOutcome> =>
        runToEnd(turn).catch((thrown: unknown) => refusal(engine, unchecked, givenId, thrown, turn))
      outcome = await engine.keyedTurns.run(turn, run)
    }
  } catch (thrown) {
    outcome = refusal(engine, unchecked, givenId, thrown, control)
  }
  if (control !== undefined) {
    engine.admission.leave(control)
    control.contention?.settle(outcome)
  }
  const { sessionState } = outcome
  if (sessionState !== undefined) return outcome as ExecuteResult
  const id = outcome.response.session === '' ? givenId : outcome.response.session
  const turn = control?.ids ?? requestOf(unchecked)
  return { ...outcome, sessionState: await lookUpState(engine, id, fieldOf(unchecked, 'owner'), turn) }
}

/**
 * The result of a turn that never began.
 *
 * @param control - The control of the turn; `undefined` if its input was refused.
 */
function refusal(
  engine: EngineContext,
  unchecked: FlowRunInput,
  givenId: string,
  thrown: unknown,
  control: TurnControl | undefined,
): TurnOutcome {
  const error = asFlowError(thrown)
  if (control !== undefined && engine.events.hasListeners('turn:refused')) {
    control.report('turn:refused', { code: error.code, waitedMs: control.waitedMs })
  }
  const flowName = fieldOf(unchecked, 'flowName')
  // Anything but `false` hides the flow here, because an invalid value may be the reason for the refusal.
  const hideFlow = (fieldOf(unchecked, 'hideFlow') ?? false) === false ? undefined : true
  const failed = {
    sessionId: givenId,
    flowName: typeof flowName === 'string' ? registeredName(engine, { flowName, hideFlow }) : '',
    ...requestOf(unchecked),
  }
  const text = userText(engine, error, failed)
  return failureEnvelope(givenId, text, error, givenId === '' ? 'none' : stateUnseen(error))
}

/** Runs a turn, and the turn of an event again after a conflict: see `events/run-to-commit.ts`. */
function runToEnd(control: TurnControl): Promise<TurnOutcome> {
  if (control.input.event === undefined) return runInOrder(control)
  return lateCode(control.engine).then(({ runToCommit }) => runToCommit(control, runInOrder))
}

/** Runs a turn after earlier ones, unless it is a repeat whose answer is found before it asks for the lock. */
function runInOrder(control: TurnControl): Promise<TurnOutcome> {
  const { arrivals, session, admission, limits } = control.engine
  const limit = session.closing ? undefined : admission.enter(control)
  if (limit === 'maxConcurrentTurns') return Promise.reject(new EngineBusyError({ value: limits[limit] }))
  if (limit !== undefined) return Promise.reject(limitExceeded(limits, limit, 'The number of turns of one owner'))
  // A closing engine refuses repeats too, at the lock.
  const looksFirst = control.input.idempotency !== undefined && !session.closing
  const replay = looksFirst ? replayBeforeLock(control) : undefined
  if (replay !== undefined) {
    return replay.then((found) => (found === undefined ? runWithLock(control) : answerRepeat(control, found)))
  }
  const before = arrivals.before(control.input)
  return before === undefined ? runWithLock(control) : before.then(() => runWithLock(control))
}

function runWithLock(control: TurnControl): Promise<TurnOutcome> {
  return control.engine.session.hold(
    control.input.sessionId ?? control.contention?.claimed?.id,
    (holder) => runTurn(control, holder),
    () => turnWait(control),
  )
}

/** The ID of a request, which may be any value. */
function requestOf(unchecked: FlowRunInput): { readonly requestId?: string } {
  const requestId = fieldOf(unchecked, 'requestId')
  return typeof requestId === 'string' && isRequestId(requestId) ? { requestId } : {}
}

/** A field of the caller's object, which may be any value; its getters may throw. */
function fieldOf(input: FlowRunInput, name: 'owner' | 'flowName' | 'requestId' | 'hideFlow'): unknown {
  try {
    return (input as FlowRunInput | null | undefined)?.[name]
  } catch {
    return undefined
  }
}

/** The name of the flow for an idempotency key. A request for a hidden flow never matches an admitted one. */
function keyedName({ flowName, hideFlow }: TurnInput): string {
  return hideFlow === true ? `\0${flowName}` : flowName
}

function checkInput(
  { limits, events }: EngineContext,
  unchecked: FlowRunInput,
  sessionId: string | undefined,
  givenContext: unknown,
  stream: TurnStream | undefined,
  event: TurnEvent | undefined,
): TurnInput {
  checkInputNames(unchecked)
  const config = checkConfig(unchecked.config, limits)
  const ofUser = checkTurnInput(
    {
      flowName: unchecked.flowName,
      userMessage: unchecked.userMessage,
      attachments: unchecked.attachments,
      sessionId,
      context: config === undefined ? givenContext : { config },
      signal: unchecked.signal,
      owner: unchecked.owner,
      requestId: unchecked.requestId,
      hideFlow: unchecked.hideFlow,
      serverContext: unchecked.serverContext,
      waitUntil: unchecked.waitUntil,
      event: unchecked.event,
      choice: unchecked.choice,
      whenEnded: unchecked.whenEnded,
    },
    limits,
  )
  const checked = event === undefined ? ofUser : { ...ofUser, event }
  const { idempotencyKey } = unchecked
  const input =
    idempotencyKey === undefined
      ? checked
      : { ...checked, idempotency: requestKeyOf(idempotencyKey, checked, keyedName(checked)) }
  if (stream === undefined) return input
  stream.readOptions(idempotencyKey !== undefined)
  stream.followSignal(input.signal)
  const { goingOn } = stream
  if (goingOn !== undefined && input.waitUntil !== undefined) events.callListener(input.waitUntil, goingOn, 'waitUntil')
  return { ...input, signal: stream.signal }
}
