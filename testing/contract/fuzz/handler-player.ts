/**
 * Plays cases on the handlers in this process: makes the `Request`, and reads as much of the reply as the case says.
 */

import type { HandlerCase, TakenBytes } from './classes/handler-classes.js'
import { boundMs } from './connection.js'
import { judgeReply, type SeenReply } from './oracle.js'
import type { Outcome } from './outcome.js'
import { type RequestPlan, runPlan, sessionMark, userHeader } from './plan.js'
import { type AppName, maxBodyBytes, type ServedApps } from './served-app.js'

/**
 * Up to the limit, then as much again, which is thrown away so that the client can read the
 * reply, and what is on its way.
 */
const mostTakenBytes = 2 * maxBodyBytes + 500_000

export class HandlerPlayer {
  readonly #apps: ServedApps['apps']

  constructor(apps: ServedApps['apps']) {
    this.#apps = apps
  }

  async play(app: AppName, handlerCase: HandlerCase): Promise<Outcome> {
    const { plan } = handlerCase
    const session = plan.opener === undefined ? '' : await this.#openSession(app, plan.opener)
    const aborting = new AbortController()
    const taken = { bytes: 0 }
    const request = requestOf(handlerCase, session, aborting.signal, taken)
    if (request === undefined) return { kinds: ['refused'], problems: [] }
    if (handlerCase.isUsed) await request.text()
    const { abortAfterMs } = handlerCase
    if (abortAfterMs === 0) aborting.abort()
    const abortTimer = abortAfterMs ? setTimeout(() => aborting.abort(), abortAfterMs) : undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, boundMs, 'late')
    })
    try {
      const reply = await Promise.race([this.#answer(app, request, handlerCase), late])
      if (reply === 'late') return { kinds: [], problems: [`hang: no reply within ${boundMs} ms`] }
      if (handlerCase.reads !== 'all') return { kinds: ['none'], problems: [] }
      const kind = reply.status < 400 ? 'success' : 'failure'
      // A client that has gone can be answered with anything that is documented, and gets none of it.
      const expects = abortAfterMs === undefined ? plan.expects : undefined
      const problems = taken.bytes > mostTakenBytes ? [`${taken.bytes} bytes of a body were read`] : []
      const due = { method: plan.method, route: plan.route, expects }
      return { kinds: [kind], problems: [...problems, ...judgeReply(reply, due, { app, byServer: false })] }
    } catch (error) {
      return { kinds: [], problems: [`the handler or its reply failed: ${String(error)}`] }
    } finally {
      clearTimeout(timer)
      clearTimeout(abortTimer)
    }
  }

  async #answer(app: AppName, request: Request, { reads }: HandlerCase): Promise<SeenReply> {
    const response = await this.#apps[app](request)
    const { status } = response
    const headers = [...response.headers]
    if (reads === 'nothing') return { status, headers, body: '' }
    if (reads === 'all') return { status, headers, body: await response.text() }
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    return { status, headers, body: '' }
  }

  async #openSession(app: AppName, user: string): Promise<string> {
    const plan = runPlan({}, { headers: user === '' ? [] : [[userHeader, user]] })
    const request = requestOf({ plan, reads: 'all' }, '', undefined, { bytes: 0 })
    const response = await this.#apps[app](request as Request)
    await response.text()
    return response.headers.get('CHAT_SESSION_ID') ?? ''
  }
}

/** The request of a case; `undefined` if the platform refuses to make it. */
function requestOf(
  { plan, body }: HandlerCase,
  session: string,
  signal: AbortSignal | undefined,
  taken: TakenBytes,
): Request | undefined {
  const replace = (text: string): string => (session === '' ? text : text.replaceAll(sessionMark, session))
  try {
    const headers = new Headers()
    for (const [name, value] of plan.headers) headers.append(name, replace(value))
    const { body: stream } = streamOf(body, plan, taken)
    const init = { method: plan.method, headers, body: stream, duplex: 'half', signal: signal ?? null }
    return new Request(`http://chat.example${replace(plan.target)}`, init as RequestInit)
  } catch (error) {
    // A path, header or body that no `Request` can have.
    if (error instanceof TypeError) return undefined
    throw error
  }
}

function streamOf(body: HandlerCase['body'], plan: RequestPlan, taken: TakenBytes): { readonly body: unknown } {
  if (body !== undefined) return { body: body(taken) }
  return { body: plan.body === undefined ? null : Buffer.from(plan.body, 'latin1') }
}
