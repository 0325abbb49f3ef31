/**
 * From anything thrown to a {@link FlowError} whose message may leave the process. Texts of flow code go out as they
 * are, cut and with credentials blacked out; the engine's own sentences are not changed.
 */
import { flowCodeError } from '../errors/engine-errors.js'
import { FlowError } from '../errors/flow-error.js'
import { redactCredentials } from '../util/patterns.js'

/** Characters of a text that is not the engine's own. */
const maxTextLength = 500

/** Characters that are looked at: enough that what the cut leaves is clean, and no more, for time grows with them. */
const maxRawLength = 4000

/** What was thrown, as a text that may go out. Never throws itself. */
export function thrownText(thrown: unknown): string {
  const text = redactCredentials(firstWords(rawText(thrown)))
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength - 1)}…` : text
}

/** What flow code threw, as a {@link FlowError}. */
export function asFlowError(thrown: unknown): FlowError {
  return FlowError.isInstance(thrown) ? thrown : flowCodeError(thrownText(thrown), thrown)
}

/** Whole words only: half a credential would not be recognised as one. */
function firstWords(text: string): string {
  if (text.length <= maxRawLength) return text
  const cut = text.slice(0, maxRawLength)
  return cut.replace(/\S*$/, '') || cut
}

function rawText(thrown: unknown): string {
  try {
    for (const text of [(thrown as { message?: unknown } | null | undefined)?.message, thrown]) {
      if (typeof text === 'string' && text !== '') return text
    }
    return `Something without a message was thrown: ${thrown instanceof Error ? thrown.name : String(thrown)}.`
  } catch {
    return 'Something without a message was thrown.'
  }
}
