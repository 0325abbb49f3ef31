/** The default logger: the console of the runtime. */
import type { FlowLogger } from '../flow/turn.js'

/**
 * Writes to the console. A text with a `%` goes in as an argument of the format, because a console reads `%s` and the
 * like in its first one: https://console.spec.whatwg.org/#formatter
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
