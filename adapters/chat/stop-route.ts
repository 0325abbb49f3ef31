/**
 * The routes below the path of a chat handler, in both protocols: `{path}/{id}/{action}`. Both have the action `stop`.
 */
import { replyJson } from '../fetch/reply/envelope.js'
import { checkContentType } from '../fetch/request/headers.js'
import { clientIdIn } from './client-id.js'
import type { ChatContext, ChatRequest, ChatRoute } from './serve-chat.js'

/** The chat and the action in a path. */
export interface IdAndAction {
  readonly id: string
  /** The segment after the ID; `undefined` if there is none. */
  readonly action: string | undefined
}

/** The ID and the action of a path below `base`; `undefined` for any other path. */
export function idAndAction(path: string, base: string): IdAndAction | undefined {
  if (!path.startsWith(`${base}/`)) return undefined
  const [segment = '', action, ...more] = path.slice(base.length + 1).split('/')
  const id = clientIdIn(segment)
  return id === undefined || more.length > 0 ? undefined : { id, action }
}

/** `POST {path}/{id}/stop`: stops the running turns of a chat in this process, and answers whether one was stopped. */
export function stopRoute({ turns, flow }: ChatContext, id: string): ChatRoute {
  async function stop({ request, owner, headers }: ChatRequest): Promise<Response> {
    checkContentType(request)
    return replyJson({ stopped: await turns.stop({ owner, flow, id }) }, 200, headers)
  }
  return { method: 'POST', name: 'cancel', answer: stop }
}
