/** Sends the events whose timers are due. */
import { EngineClosedError } from '../../errors/engine-errors.js'
import { decodeSession } from '../../session/session-codec.js'
import type { SessionDocument } from '../../session/session-document.js'
import { isoTime } from '../../util/iso-time.js'
import type { EngineContext } from '../core/engine-context.js'
import type { ExecuteResult, WakeResult } from '../core/engine-options.js'
import { asFlowError, userText } from '../core/error-text.js'
import { checkId } from '../core/ids.js'
import { failureEnvelope } from '../core/run-envelope.js'
import type { TurnEvent } from '../core/turn-input.js'
import { callSchedule } from '../turn/events/call-schedule.js'
import { timesOf } from '../turn/events/schedule-wake.js'
import { takeAs } from './send-event.js'

/** A queue must not take the next wake for the one that runs. */
const leastDelayMs = 1_000

/** Tries each due timer once, the soonest first. Never rejects. */
export async function wake(engine: EngineContext, named: { readonly sessionId: string }): Promise<WakeResult> {
  const results: ExecuteResult[] = []
  const tried = new Set<string>()
  let sessionId = ''
  let isCommitted = false
  try {
    sessionId = checkId(Object(named).sessionId, 'sessionId')
    // What becomes due meanwhile is for the next wake: a timer that sets itself again would keep this one busy.
    const now = engine.clock.now()
    for (;;) {
      const document = await load(engine, sessionId)
      const due = nextDue(document, now, tried)
      if (due === undefined) {
        const next = await scheduleNext(engine, document, { after: now, isCommitted })
        return { results, ...(next && { next }) }
      }
      tried.add(JSON.stringify(due))
      const { owner, flow } = document as SessionDocument
      const result = await takeAs(engine, { sessionId, flowName: flow.name, owner }, due)
      // Somebody else was faster.
      if (result.error?.code === 'EVENT_NOT_TAKEN') continue
      results.push(result)
      isCommitted ||= result.error === undefined
    }
  } catch (thrown) {
    const error = asFlowError(thrown)
    const text = userText(engine, error, { sessionId, flowName: '' })
    return { results: [...results, failureEnvelope(sessionId, text, error, 'unknown')] }
  }
}

async function load({ session }: EngineContext, sessionId: string): Promise<SessionDocument | undefined> {
  if (session.closing) throw new EngineClosedError()
  const stored = await session.access.loadUnchecked(sessionId)
  if (session.closing) throw new EngineClosedError()
  const document = stored === undefined ? undefined : decodeSession(stored, sessionId)
  return document?.runStatus === 'running' ? document : undefined
}

/** The soonest due timer that was not tried, as its event. */
function nextDue(
  document: SessionDocument | undefined,
  now: number,
  tried: ReadonlySet<string>,
): TurnEvent | undefined {
  const due = (document?.flow.frames ?? []).flatMap(({ step, entry, timers = [] }) =>
    timers
      .filter(({ at }) => Date.parse(at) <= now)
      .map(({ name, at }) => ({
        at,
        event: {
          name,
          payload: undefined,
          source: 'timer',
          seen: { name, id: `${name} ${at}` },
          only: { step, entry },
        } as const,
      })),
  )
  due.sort((one, other) => Date.parse(one.at) - Date.parse(other.at))
  return due.find(({ event }) => !tried.has(JSON.stringify(event)))?.event
}

/** Schedules the soonest timer that was not due, unless the turn of one that was has done it. */
async function scheduleNext(
  engine: EngineContext,
  document: SessionDocument | undefined,
  { after, isCommitted }: { readonly after: number; readonly isCommitted: boolean },
): Promise<string | undefined> {
  if (document === undefined) return undefined
  const soonest = timesOf(document.flow).find((at) => at > after)
  if (soonest === undefined) return undefined
  const at = Math.max(soonest, engine.clock.now() + leastDelayMs)
  if (!isCommitted) await callSchedule(engine, document.id, at)
  return isoTime(at)
}
