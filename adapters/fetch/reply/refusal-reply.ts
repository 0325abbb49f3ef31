// The reply to a request that the adapter refuses: an envelope with all five fields, as if the engine had failed it.
import type { RunResponseType } from '../../../src/index.js'
import type { HeaderRecord } from '../cors.js'
import { createDrainingBody } from '../request/drain.js'
import type { Refusal } from './refusal.js'
import type { StatusMode } from './statuses.js'

/** Makes the reply to a refused request; `extraHeaders` go on top. */
export type RefusalReply = (request: Request, refusal: Refusal, extraHeaders: HeaderRecord | undefined) => Response

/**
 * @param statuses - see the option of that name; 404 and 405 are the same in both modes
 * @param maxDrainBytes - how much of a body that is too long is read and thrown away
 */
export function createRefusalReply(statuses: StatusMode, maxDrainBytes: number): RefusalReply {
  return function replyToRefused(request, { message, preciseStatus, unreadBody }, extraHeaders) {
    const response: RunResponseType = {
      success: false,
      completed: true,
      message,
      session: '',
      contentType: 'text/plain',
    }
    const text = JSON.stringify(response)
    const isAboutRoute = preciseStatus === 404 || preciseStatus === 405
    const status = statuses === 'precise' || isAboutRoute ? preciseStatus : 400
    const headers: HeaderRecord = {
      'Content-Type': 'application/json',
      'Chat-Reply': 'envelope',
      'Chat-Completed': 'true',
      ...extraHeaders,
    }
    if (unreadBody === undefined) return new Response(request.method === 'HEAD' ? null : text, { status, headers })
    const draining = createDrainingBody(request, unreadBody, text, maxDrainBytes)
    return new Response(draining.body, { status, headers: { ...headers, ...draining.headers } })
  }
}
