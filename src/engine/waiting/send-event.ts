/** Sends an event of the application to a session. */
import { EngineClosedError } from '../../errors/engine-errors.js'
import type { AnyFlowError } from '../../errors/flow-error.js'
import { EventNotTakenError, SessionFlowMismatchError } from '../../errors/session-errors.js'
import { ownerOf } from '../../session/session-codec.js'
import type { SessionDocument } from '../../session/session-document.js'
import type { SessionSummary } from '../../session/session-store.js'
import { isRequestId, isSessionId } from '../../util/patterns.js'
import type { EngineContext } from '../core/engine-context.js'
import type { ExecuteResult, SendEventInput, SessionState } from '../core/engine-options.js'
import { asFlowError, userText } from '../core/error-text.js'
import { loadFor, reportForeign } from '../core/foreign-session.js'
import { failureEnvelope } from '../core/run-envelope.js'
import { lookUpState } from '../core/session-state.js'
import type { TurnEvent } from '../core/turn-input.js'
import type { TurnControl } from '../turn/control/turn-control.js'
import { executeTurn } from '../turn/execute-turn.js'
import { checkSendEvent } from './check-send-event.js'

/** What a session is bound to. */
interface FoundSession {
  readonly flowName: string
  readonly owner?: string | undefined
}

interface EventTurn extends FoundSession {
  readonly sessionId: string
  readonly idempotencyKey?: string | undefined
  readonly requestId?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** Never rejects. */
export async function sendEvent(engine: EngineContext, unchecked: SendEventInput): Promise<ExecuteResult> {
  try {
    const event = checkSendEvent(unchecked, engine.limits)
    return await take(engine, unchecked, event)
  } catch (thrown) {
    const error = asFlowError(thrown)
    const id = textIn(unchecked, 'sessionId', isSessionId) ?? ''
    const requestId = textIn(unchecked, 'requestId', isRequestId)
    const request = requestId === undefined ? {} : { requestId }
    const text = userText(engine, error, { sessionId: id, flowName: '', ...request })
    return failureEnvelope(id, text, error, await stateOf(engine, id, unchecked, error))
  }
}

/** A field of the caller's object, which may be any value; its getters may throw. */
function textIn(
  input: SendEventInput,
  name: 'sessionId' | 'requestId' | 'owner',
  isValid: (text: string) => boolean,
): string | undefined {
  try {
    const value: unknown = Object(input)[name]
    return typeof value === 'string' && isValid(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The state of a session whose event was refused before its turn. */
async function stateOf(
  engine: EngineContext,
  sessionId: string,
  input: SendEventInput,
  { code }: AnyFlowError,
): Promise<SessionState> {
  if (code === 'EVENT_NOT_TAKEN' || sessionId === '') return 'none'
  if (engine.session.closing) return 'unknown'
  const owner = textIn(input, 'owner', () => true)
  if (owner !== undefined) return lookUpState(engine, sessionId, owner, {})
  try {
    // The application may see every session.
    const stored = (await engine.session.access.summaryUnchecked(sessionId)) as SessionSummary | undefined
    return stored?.runStatus ?? 'none'
  } catch {
    return 'unknown'
  }
}

async function take(
  engine: EngineContext,
  { sessionId, owner, flowName, idempotencyKey, requestId, signal }: SendEventInput,
  event: TurnEvent,
): Promise<ExecuteResult> {
  if (engine.session.closing) throw new EngineClosedError()
  const found = await findSession(engine, sessionId, owner)
  if (found === undefined) throw new EventNotTakenError({ sessionId, event: event.name })
  const boundFlow = engine.flows.currentName(found.flowName)
  if (flowName !== undefined && engine.flows.currentName(flowName) !== boundFlow) {
    throw new SessionFlowMismatchError({ sessionId, boundFlow, requestedFlow: flowName })
  }
  return takeAs(engine, { ...found, sessionId, idempotencyKey, requestId, signal }, event)
}

/** Has a session take an event, as a turn of its flow and its owner. */
export function takeAs(
  engine: EngineContext,
  { sessionId, flowName, owner, idempotencyKey, requestId, signal }: EventTurn,
  event: TurnEvent,
): Promise<ExecuteResult> {
  const turn = { flowName, userMessage: '', sessionId, idempotencyKey, requestId, signal, owner }
  return executeTurn(engine, turn as Parameters<typeof executeTurn>[1], undefined, undefined, event)
}

/** The flow and the owner of a session; of one that is about to be created, from its first turn. */
async function findSession(
  engine: EngineContext,
  sessionId: string,
  owner: string | undefined,
): Promise<FoundSession | undefined> {
  const stored =
    owner === undefined
      ? await engine.session.access.summaryUnchecked(sessionId)
      : await ownOf(engine, sessionId, owner)
  if (stored !== undefined) {
    // A store without `summary` returns the whole document.
    const { flow, flowName = flow?.name } = stored as Partial<SessionSummary & SessionDocument>
    return { flowName: flowName as string, owner: ownerOf(stored) as string | undefined }
  }
  const turns = engine.session.holdersOf(sessionId).map((holder) => holder.waitOf().turn as TurnControl | undefined)
  const turn = turns.find((one) => one !== undefined && (owner === undefined || one.owner === owner))
  return turn && { flowName: turn.flowName, owner: turn.owner }
}

/** The session of an owner, as stored; `undefined` if it is another owner's. */
async function ownOf(engine: EngineContext, sessionId: string, owner: string): Promise<unknown> {
  const found = await loadFor(engine, sessionId, { owner, isBrief: true })
  if (found.isForeign) reportForeign(engine, { sessionId, operation: 'run' }, { owner }, found.owner)
  return found.stored
}
