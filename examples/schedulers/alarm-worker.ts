/** A Worker whose sessions are woken by alarms: each session has an object that stores it, and one that wakes it. */
import { FlowEngine } from 'turnkeeper'
import { type DurableObjectNamespaceLike, DurableObjectSessionStore } from 'turnkeeper/durable-object'
import { createFetchHandler } from 'turnkeeper/fetch'
import { scheduleByAlarm, wakeObject } from './alarm.ts'
import { Reminder } from './reminder.ts'

export { SessionObject } from 'turnkeeper/durable-object'

interface Env {
  readonly SESSIONS: DurableObjectNamespaceLike
  readonly WAKES: DurableObjectNamespaceLike
  /** Milliseconds; the first wake comes after four times this. Default: the engine's. */
  readonly STORE_TIMEOUT_MS?: number
}

let engine: FlowEngine | undefined

/** One engine for all requests and objects of an isolate. */
function engineOf({ SESSIONS, WAKES, STORE_TIMEOUT_MS: storeTimeoutMs }: Env): FlowEngine {
  engine ??= new FlowEngine({
    flows: [Reminder],
    sessionStore: new DurableObjectSessionStore({ namespace: SESSIONS }),
    schedule: scheduleByAlarm(WAKES),
    ...(storeTimeoutMs === undefined ? {} : { limits: { storeTimeoutMs } }),
  })
  return engine
}

export const WakeObject = wakeObject(engineOf)

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    return createFetchHandler(engineOf(env), { authorize: 'none', session: true })(request)
  },
}
