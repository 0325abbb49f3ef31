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
  error: (text, fields) => console.error(...argumentsOf(text), fields),
}

function argumentsOf(text: string): string[] {
  return text.includes('%') ? ['%s', text] : [text]
}
