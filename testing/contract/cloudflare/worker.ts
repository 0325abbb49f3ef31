/**
 * The worker of the tests: an application over the store that its bindings name, and routes by which a test reaches the
 * bindings from outside, as JSON. Two of it over the same objects or database are two isolates.
 */
import { type D1DatabaseLike, D1SessionStore } from '../../../adapters/d1/index.js'
import {
  type DurableObjectNamespaceLike,
  DurableObjectSessionStore,
  type DurableObjectStateLike,
  SessionObject,
} from '../../../adapters/durable-object/index.js'
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import {
  Flow,
  FlowEngine,
  LogicStep,
  reply,
  type SessionStore,
  type Transition,
  type Turn,
} from '../../../src/index.js'

/** The bindings. A worker has the one or the other. */
interface Env {
  readonly DB?: D1DatabaseLike
  readonly SESSIONS?: DurableObjectNamespaceLike
  /** Every so many calls of the store's backend one is lost, and one answer. Default: none. */
  readonly FAULTS?: number
}

/** Calls `work`, unless this call is one of those that are lost: before they are sent, or on the way back. */
async function perhaps<T>(env: Env, work: () => Promise<T>): Promise<T> {
  const { FAULTS = Number.POSITIVE_INFINITY } = env
  calls += 1
  if (calls % FAULTS === 0) throw new Error('The call was lost.')
  const answer = await work()
  if (calls % FAULTS === Math.floor(FAULTS / 2)) throw new Error('The answer was lost.')
  return answer
}
let calls = 0

class Talk extends LogicStep {
  static override id = 'Talk'

  override run({ message }: Turn): Transition {
    return reply(`You said: ${message}`)
  }
}

class Chat extends Flow {
  static override id = 'Chat'

  steps(): readonly [typeof Talk] {
    return [Talk]
  }
}

/** The state of an object, as far as only a test uses it. */
interface TestState extends DurableObjectStateLike {
  readonly storage: DurableObjectStateLike['storage'] & { getAlarm(): Promise<number | null> }
  abort(reason: string): void
}

/** The object of a session, which a test can look into, damage, wake and abort. */
export class TestObject extends SessionObject {
  readonly #state: TestState

  constructor(state: TestState) {
    super(state)
    this.#state = state
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/abort') this.#state.abort('A test aborted this object.')
    if (pathname === '/sql') return Response.json(this.#state.storage.sql.exec(await request.text()).toArray())
    if (pathname === '/wake') {
      await this.alarm()
      return Response.json(await this.#state.storage.getAlarm())
    }
    if (pathname === '/swap-while-removed') {
      const text = await request.text()
      const [removed, swapped] = [this.#ask('{"operation":"remove"}'), this.#ask(text)]
      return Response.json([await removed, await swapped])
    }
    return super.fetch(request)
  }

  async #ask(body: string): Promise<unknown> {
    return (await super.fetch(new Request('https://session/', { method: 'POST', body }))).json()
  }
}

let serve: ((request: Request) => Promise<Response>) | undefined

function createApplication(env: Env): (request: Request) => Promise<Response> {
  const { DB, SESSIONS } = env
  const sessionStore: SessionStore =
    SESSIONS === undefined
      ? new D1SessionStore({ database: faultyDatabase(DB as D1DatabaseLike, env) })
      : new DurableObjectSessionStore({ namespace: faultyNamespace(SESSIONS, env) })
  return createFetchHandler(new FlowEngine({ flows: [Chat], sessionStore }))
}

function faultyDatabase(database: D1DatabaseLike, env: Env): D1DatabaseLike {
  return {
    prepare: (statement) => database.prepare(statement),
    batch: (statements) => perhaps(env, () => database.batch(statements)),
  }
}

function faultyNamespace(namespace: DurableObjectNamespaceLike, env: Env): DurableObjectNamespaceLike {
  return {
    idFromName: (name) => namespace.idFromName(name),
    get: (id) => ({ fetch: (url, init) => perhaps(env, () => namespace.get(id).fetch(url, init)) }),
  }
}

/** Statements and their values, as one batch. */
async function runBatch(database: D1DatabaseLike, request: Request): Promise<Response> {
  const queries = (await request.json()) as [statement: string, values: unknown[]][]
  const results = await database.batch(
    queries.map(([statement, values]) => database.prepare(statement).bind(...values)),
  )
  return Response.json(results.map((result) => ({ results: result.results })))
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url)
    const { DB, SESSIONS } = env
    try {
      if (pathname === '/d1' && DB !== undefined) return await runBatch(DB, request)
      if (pathname.startsWith('/object/') && SESSIONS !== undefined) {
        const stub = SESSIONS.get(SESSIONS.idFromName(searchParams.get('name') ?? ''))
        const path = pathname.slice('/object'.length)
        const init = { method: 'POST', body: await request.text() }
        return (await stub.fetch(`https://session${path}`, init)) as Response
      }
    } catch (error) {
      return new Response(String(error), { status: 500 })
    }
    serve ??= createApplication(env)
    return serve(request)
  },
}
