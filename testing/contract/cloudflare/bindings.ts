/** The bindings of the worker of these tests, reached from Node by its routes. */
import type { D1DatabaseLike, D1StatementLike } from '../../../adapters/d1/index.js'
import type { DurableObjectNamespaceLike } from '../../../adapters/durable-object/index.js'

interface Statement extends D1StatementLike {
  readonly query: readonly [statement: string, values: readonly unknown[]]
}

async function post(url: URL, body: string): Promise<Response> {
  return fetch(url, { method: 'POST', body })
}

/** The database. */
export function databaseAt(worker: URL): D1DatabaseLike {
  return {
    prepare: (statement) => prepared(statement, []),
    async batch(statements) {
      const response = await post(
        new URL('/d1', worker),
        JSON.stringify((statements as Statement[]).map((s) => s.query)),
      )
      if (response.status !== 200) throw new Error(await response.text())
      return (await response.json()) as { results: unknown[] }[]
    },
  }
}

function prepared(statement: string, values: readonly unknown[]): Statement {
  return { query: [statement, values], bind: (...bound) => prepared(statement, bound) }
}

/** The rows of one statement. */
export async function queryAt(
  worker: URL,
  statement: string,
  ...values: unknown[]
): Promise<Record<string, unknown>[]> {
  const database = databaseAt(worker)
  const [result] = await database.batch([database.prepare(statement).bind(...values)])
  return (result?.results ?? []) as Record<string, unknown>[]
}

/** Asks the object of a name something by one of its routes. The session's own route is `/`. */
export async function askObject(worker: URL, name: string, path: string, body = ''): Promise<Response> {
  return post(new URL(`/object${path}?name=${encodeURIComponent(name)}`, worker), body)
}

/** The namespace of the objects. */
export function namespaceAt(worker: URL): DurableObjectNamespaceLike {
  return {
    idFromName: (name) => ({ name }),
    get: (id) => ({ fetch: (_url, { body }) => askObject(worker, (id as { name: string }).name, '/', body) }),
  }
}
