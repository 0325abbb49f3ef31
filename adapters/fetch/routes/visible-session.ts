/** Loads a session for a caller: not one of another owner, and not one of a flow that `authorizeFlow` refuses. */
import type { SessionDocument, SessionSummary } from '../../../src/index.js'
import { registeredName } from '../request/authorize-flow.js'
import type { RouteContext, RoutedRequest } from './route.js'

/** A session of the caller. */
interface LoadedSession {
  readonly document: SessionDocument
  /** Whether it must look like an unknown session. */
  readonly isHidden: boolean
}

/** The caller's session; `undefined` if there is none. Rejects with a `FlowError` if it cannot be read. */
export async function loadSession(
  context: RouteContext,
  routed: RoutedRequest,
  sessionId: string,
): Promise<LoadedSession | undefined> {
  const document = await context.engine.getSession?.(sessionId, askedBy(routed))
  return document && { document, isHidden: !(await mayRunFlow(context, routed, document.flow.name)) }
}

/** The summary of the caller's session; `undefined` if it must look unknown. Rejects as {@link loadSession}. */
export async function loadSummary(
  context: RouteContext,
  routed: RoutedRequest,
  sessionId: string,
): Promise<SessionSummary | undefined> {
  const summary = await context.engine.getSummary?.(sessionId, askedBy(routed))
  return summary && (await mayRunFlow(context, routed, summary.flowName)) ? summary : undefined
}

function askedBy({ caller, requestId }: RoutedRequest): { readonly owner?: string; readonly requestId: string } {
  return { ...(caller?.principal === undefined ? {} : { owner: caller.principal }), requestId }
}

/** Whether the caller may run a flow. An unregistered one may be run only if there is no `authorizeFlow`. */
export async function mayRunFlow(
  { engine, mayRun }: RouteContext,
  { request, caller }: RoutedRequest,
  flowName: string,
): Promise<boolean> {
  if (mayRun === undefined) return true
  const name = registeredName(engine, flowName)
  return name !== undefined && mayRun(caller?.principal, name, request)
}
