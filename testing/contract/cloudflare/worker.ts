/**
 * The worker of the tests: an application over the store that its bindings name, and routes by which a test reaches the bindings from
 * outside, as JSON. Two of it over the same objects or database are two isolates.
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
  /** Milliseconds. */
  readonly TTL?: number
}

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

/** The object of a session, which a test can look into, damage and abort. */
export class TestObject extends SessionObject {
  readonly #state: DurableObjectStateLike & { abort(reason: string): void }

  constructor(state: DurableObjectStateLike & { abort(reason: string): void }) {
    super(state)
    this.#state = state
  }

  override async fetch(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url)
    if (pathname === '/abort') this.#state.abort('A test aborted this object.')
    if (pathname === '/sql') return Response.json(this.#state.storage.sql.exec(await request.text()).toArray())
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

function createApplication({ DB, SESSIONS, TTL }: Env): (request: Request) => Promise<Response> {
  const times = TTL === undefined ? {} : { ttlMs: TTL }
  const sessionStore: SessionStore =
    SESSIONS === undefined
      ? new D1SessionStore({ database: DB as D1DatabaseLike, ...times })
      : new DurableObjectSessionStore({ namespace: SESSIONS, ...times })
  return createFetchHandler(new FlowEngine({ flows: [Chat], sessionStore }))
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
