/** The default logger: the console of the runtime. */
import type { FlowLogger } from '../flow/turn.js'

/**
 * Writes to the console. A text with a `%` is passed as an argument of a format, because a console interprets `%s` and
 * other specifiers in its first argument: https://console.spec.whatwg.org/#formatter
 */
export const consoleLogger: FlowLogger = {
  debug: (text, fields) => console.debug(...argumentsOf(text), fields),
  info: (text, fields) => console.info(...argumentsOf(text), fields),
  warn: (text, fields) => console.warn(...argumentsOf(text), fields),
  error(text, fields) {
    const { sessionId, ...others } = fields ?? {}
    // Nothing has shown that the session of a refused request is the caller's, and its ID may open it.
    const isRefused = sessionId !== undefined && others.turnId === undefined
    if (!isRefused) console.error(...argumentsOf(text), fields)
    else console.error(...argumentsOf(text.replaceAll(`'${sessionId}'`, "'...'")), others)
  },
}

function argumentsOf(text: string): string[] {
  return text.includes('%') ? ['%s', text] : [text]
}
