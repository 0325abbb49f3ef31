/** A name that somebody else chose, as messages and logs show it. */
import { cutText } from './cut-text.js'

/** Characters of a name that are shown. */
const maxLength = 200

/** The beginning of a name, in which each character that breaks a line, or that nobody sees, is replaced by U+FFFD. */
export function shownName(name: string): string {
  const cut = name.length > maxLength ? `${cutText(name, maxLength - 1)}…` : name
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\uFFFD')
}
