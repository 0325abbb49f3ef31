/**
 * What an engine does with a damaged session: it continues it, or refuses it with the documented error and does not
 * change any byte; and it can remove it in any case.
 */
import type { ExecuteResult, SessionStore } from '../../../src/index.js'
import { goldenEngine, goldenId } from './golden-files.js'

/** A place where one session is stored. */
export interface Place {
  /** A store as a new process opens it. */
  store(): SessionStore
  /** Everything that is stored, as one text. */
  bytes(): string
  isEmpty(): boolean
}

export type Verdict = 'valid' | 'refused'

/** Runs a turn in the session, then removes it. Throws if either result is wrong. */
export async function judge(place: Place): Promise<Verdict> {
  const before = place.bytes()
  const result = await goldenEngine(place.store()).execute({
    flowName: 'Golden',
    userMessage: 'go on',
    sessionId: goldenId,
  })
  const { response } = result
  const verdict = response.success && response.session === goldenId ? 'valid' : 'refused'
  const isChanged = place.bytes() !== before
  if (verdict === 'refused') {
    checkRefusal(result)
    if (isChanged) throw new Error('It was refused, and changed.')
  } else if (!isChanged) throw new Error('It was answered, and not stored.')
  const removed = await goldenEngine(place.store()).deleteSession(goldenId)
  if (!removed.success || !place.isEmpty()) throw new Error(`It could not be removed: ${removed.message ?? ''}`)
  return verdict
}

/** The error must be a documented one. A session that names another flow is refused for that. */
function checkRefusal({ response, error }: ExecuteResult): void {
  if (error?.code !== 'SESSION_FLOW_INVARIANT' && error?.code !== 'SESSION_FLOW_MISMATCH') {
    throw new Error(`The turn ended with ${error?.code ?? 'success'} in '${response.session}': ${response.message}`)
  }
  if (response.session !== goldenId) throw new Error(`It was refused under the ID '${response.session}'.`)
}
