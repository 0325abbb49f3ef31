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
    const { shownText, shownFields } = withoutRefusedSession(text, fields)
    console.error(...argumentsOf(shownText), shownFields)
  },
}

type Fields = Readonly<Record<string, unknown>> | undefined

/**
 * Removes the session ID of a request that was refused before its turn began: nothing has shown that the session is the
 * caller's, and without `authorize` its ID opens it.
 */
function withoutRefusedSession(
  text: string,
  fields: Fields,
): { readonly shownText: string; readonly shownFields: Fields } {
  const { sessionId, ...others } = fields ?? {}
  if (typeof sessionId !== 'string' || others.turnId !== undefined) return { shownText: text, shownFields: fields }
  return { shownText: text.replaceAll(`'${sessionId}'`, "'...'"), shownFields: others }
}

function argumentsOf(text: string): string[] {
  return text.includes('%') ? ['%s', text] : [text]
}
