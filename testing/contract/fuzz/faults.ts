/** Handlers that are wrong on purpose: the fuzzer has to report each of them. */

/** What is wrong. */
export type Fault = 'status' | 'field' | 'header' | 'hang' | 'rejection' | 'leak'

export const faults: readonly Fault[] = ['status', 'field', 'header', 'hang', 'rejection', 'leak']

type FetchFunction = (request: Request) => Response | Promise<Response>

const leaked: string[][] = []

const wrongReplies: Readonly<Record<Fault, (response: Response, request: Request) => Promise<Response>>> = {
  status: async (response) => new Response(response.body, { status: 500, headers: response.headers }),
  field: async (response) => Response.json({ ...JSON.parse(await response.text()), debug: true }, response),
  header: async (response, request) => {
    const headers = new Headers(response.headers)
    headers.set('X-Canary', request.headers.get('origin') ?? '')
    return new Response(response.body, { status: response.status, headers })
  },
  hang: () => new Promise(() => {}),
  rejection: async (response) => {
    void Promise.reject(new Error('This rejection is not handled.'))
    return response
  },
  leak: async (response) => {
    leaked.push(Array.from({ length: 2000 }, (_, index) => `${index}`))
    return response
  },
}

/** The handler, with a fault for each request that has a certain header: an `Origin`, or for a leak any. */
export function withFault(fetch: FetchFunction, fault: Fault | undefined): FetchFunction {
  if (fault === undefined) return fetch
  return async (request) => {
    const response = await fetch(request)
    const isHit = fault === 'leak' || (request.method === 'POST' && request.headers.has('origin'))
    return isHit ? wrongReplies[fault](response, request) : response
  }
}
