/** `POST end`: deletes the session that a request names. */
import { FlowError } from '../../../src/index.js'
import { codeHeader, type HeaderRecord } from '../core/header-names.js'
import type { ServedEngine } from '../core/served-engine.js'
import { replyJson } from '../reply/envelope.js'
import { codeOf } from '../reply/outcome.js'
import { addRetryAfter, statusOf } from '../reply/statuses.js'
import type { AuthorizedCaller } from '../request/authorize.js'
import { readNamedSession } from './named-session.js'
import type { RouteContext, RoutedRequest } from './route.js'
import { loadSession } from './visible-session.js'

/** Deletes a session. Throws a `Refusal` if the request is invalid. */
export async function endSession(context: RouteContext, routed: RoutedRequest): Promise<Response> {
  const { statuses } = context
  const { headers: common } = routed
  const sessionId = await readNamedSession(context, routed.request)
  const { result, error } = await deleteSession(context, routed, sessionId)
  if (result.success) return replyJson(result, 200, common)
  const status = statusOf(error, statuses)
  const headers: HeaderRecord = { ...common, [codeHeader]: codeOf(error) }
  addRetryAfter(headers, status)
  return replyJson(result, status, headers)
}

type Deleted = Awaited<ReturnType<ServedEngine['executeDelete']>>

/**
 * Deletes a session, unless it belongs to a flow that the caller may not run: it looks like an unknown one. A first
 * turn, whose session is not stored yet, can be ended.
 */
async function deleteSession(context: RouteContext, routed: RoutedRequest, sessionId: string): Promise<Deleted> {
  const { engine, mayRun, textOf } = context
  const { caller, requestId } = routed
  if (mayRun !== undefined && sessionId !== '') {
    try {
      const loaded = await loadSession(context, routed, sessionId)
      if (loaded?.isHidden === true) return { result: { success: true, session: sessionId } }
    } catch (error) {
      if (!FlowError.isInstance(error)) throw error
      // The engine decides about a session whose flow cannot be read.
      if (error.code !== 'SESSION_FLOW_INVARIANT') {
        const message = textOf(error.message, error.code, { requestId, sessionId })
        return { result: { success: false, message, session: sessionId }, error }
      }
    }
  }
  return engine.executeDelete(sessionId, { ...ownerOf(caller), requestId })
}

/**
 * With options the engine deletes a session only if its owner is the given one, or if both are absent. Without options
 * it would delete any session, even one that only a newer release can read; only the application itself may do that.
 */
function ownerOf(caller: AuthorizedCaller | undefined): NonNullable<Parameters<ServedEngine['executeDelete']>[1]> {
  // Without `authorize` no session has an owner, so an unreadable one has none either.
  if (caller === undefined) return { unreadable: true }
  return caller.principal === undefined ? {} : { owner: caller.principal }
}
