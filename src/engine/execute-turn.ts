/** One turn as the engine's callers see it: its input is checked, it waits for the session's lock, and it runs. */
import { TurnAbortedError } from '../errors/engine-errors.js'
import type { EngineContext } from './engine-context.js'
import type { ExecuteResult, FlowRunInput } from './engine-options.js'
import { asFlowError, userText } from './error-text.js'
import { checkConfig, checkInputNames, checkSessionId, checkTurnInput, type TurnInput } from './input/check-input.js'
import { turnWait } from './lock-waits.js'
import { lookUpState, stateUnseen } from './session-state.js'
import { failureEnvelope, type TurnOutcome } from './turn/run-envelope.js'
import { runTurn } from './turn/run-turn.js'
import { TurnControl } from './turn/turn-control.js'
import type { TurnStream } from './turn/turn-stream.js'

/**
 * Runs one turn. Never rejects.
 *
 * @param context - Added to the flow context of a new session, where the input has no `config`.
 * @param stream - Receives the turn piece by piece. Default: nobody does.
 */
export async function executeTurn(
  engine: EngineContext,
  unchecked: FlowRunInput,
  context?: unknown,
  stream?: TurnStream,
): Promise<ExecuteResult> {
  let givenId = ''
  let outcome: TurnOutcome
  try {
    // The caller's object is read inside the `try`: it may be anything, and its getters may throw.
    const sessionId = checkSessionId((unchecked as FlowRunInput | null | undefined)?.sessionId)
    givenId = sessionId ?? ''
    const input = checkInput(engine, unchecked, sessionId, context, stream)
    if (input.signal?.aborted === true) throw new TurnAbortedError({ cause: input.signal.reason })
    const control = new TurnControl(engine, engine.flows.currentName(input.flowName), givenId, stream)
    outcome = await engine.session.hold(
      sessionId,
      (holder) => runTurn(control, input, holder),
      () => turnWait(control, input),
    )
  } catch (thrown) {
    const error = asFlowError(thrown)
    const flowName = fieldOf(unchecked, 'flowName')
    const failed = { sessionId: givenId, flowName: typeof flowName === 'string' ? flowName : '' }
    const text = userText(engine, error, failed)
    outcome = failureEnvelope(givenId, text, error, givenId === '' ? 'none' : stateUnseen(error))
  }
  const { sessionState } = outcome
  if (sessionState !== undefined) return outcome as ExecuteResult
  const id = outcome.response.session === '' ? givenId : outcome.response.session
  return { ...outcome, sessionState: await lookUpState(engine, id, fieldOf(unchecked, 'owner')) }
}

/** A field of the caller's object, which may be anything; its getters may throw. */
function fieldOf(input: FlowRunInput, name: 'owner' | 'flowName'): unknown {
  try {
    return (input as FlowRunInput | null | undefined)?.[name]
  } catch {
    return undefined
  }
}

function checkInput(
  { limits }: EngineContext,
  unchecked: FlowRunInput,
  sessionId: string | undefined,
  givenContext: unknown,
  stream: TurnStream | undefined,
): TurnInput {
  checkInputNames(unchecked)
  const { flowName, userMessage, attachments, signal, owner, serverContext, waitUntil } = unchecked
  const config = checkConfig(unchecked.config, limits)
  const context = config === undefined ? givenContext : { config }
  const input = checkTurnInput(
    { flowName, userMessage, attachments, sessionId, context, signal, owner, serverContext, waitUntil },
    limits,
  )
  if (stream === undefined) return input
  stream.followSignal(input.signal)
  return { ...input, signal: stream.signal }
}
