/**
 * Wakes sessions by the alarms of a Durable Object. It is an object of its own, one for each session: the alarm of the
 * session's object belongs to its time to live. In the Worker:
 *
 *     export const WakeObject = wakeObject((env: Env) => engineOf(env))
 *     const engine = new FlowEngine({ flows, sessionStore, schedule: scheduleByAlarm(env.WAKES) })
 *
 * wrangler.json names the class beside `SessionObject`, in `bindings` and in `new_sqlite_classes`.
 */
import type { FlowEngine } from 'turnkeeper'
import type { DurableObjectNamespaceLike } from 'turnkeeper/durable-object'

/** What the object uses of its state. */
interface ObjectState {
  readonly storage: {
    get(key: string): Promise<unknown>
    put(key: string, value: string): Promise<void>
    getAlarm(): Promise<number | null>
    setAlarm(time: number): Promise<void>
    deleteAll(): Promise<void>
  }
}

interface Wake {
  readonly sessionId: string
  readonly at: string
}

/** After a wake that failed, for example because a service is down. */
const retryMs = 60_000

/** The engine option `schedule`. */
export function scheduleByAlarm(namespace: DurableObjectNamespaceLike): (wake: Wake) => Promise<void> {
  return async (wake) => {
    const stub = namespace.get(namespace.idFromName(wake.sessionId))
    const { status } = await stub.fetch('https://wake/', { method: 'POST', body: JSON.stringify(wake) })
    if (status !== 204) throw new Error(`The object of the wake answered with status ${status}.`)
  }
}

/** The class of the objects. */
export function wakeObject<Env>(engineOf: (env: Env) => FlowEngine) {
  return class WakeObject {
    readonly #storage: ObjectState['storage']
    readonly #env: Env

    constructor({ storage }: ObjectState, env: Env) {
      this.#storage = storage
      this.#env = env
    }

    /** Sets the alarm, unless an earlier one is set: the wake then schedules what is left. */
    async fetch(request: Request): Promise<Response> {
      const { sessionId, at } = (await request.json()) as Wake
      const alarm = await this.#storage.getAlarm()
      await this.#storage.put('sessionId', sessionId)
      if (alarm === null || Date.parse(at) < alarm) await this.#storage.setAlarm(Date.parse(at))
      return new Response(null, { status: 204 })
    }

    /** Called by the platform. It removes the object, unless the session waits for another time. */
    async alarm(): Promise<void> {
      const sessionId = String(await this.#storage.get('sessionId'))
      const { results } = await engineOf(this.#env).wake({ sessionId })
      if (results.some(({ error }) => error !== undefined)) await this.#storage.setAlarm(Date.now() + retryMs)
      else if ((await this.#storage.getAlarm()) === null) await this.#storage.deleteAll()
    }
  }
}
