/** Texts that somebody else chose: cut, and a name as messages and logs show it. */

/** Characters of a name that are shown. */
const maxLength = 200

/** The beginning of a name, in which each character that breaks a line, or that nobody sees, is replaced by U+FFFD. */
export function shownName(name: string): string {
  const cut = name.length > maxLength ? `${cutText(name, maxLength - 1)}…` : name
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\uFFFD')
}

/**
 * The first `length` UTF-16 units of a text, but never half of a surrogate pair: providers and stores may refuse that.
 */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  const isHalf = last >= 0xd8_00 && last <= 0xdb_ff
  return text.slice(0, isHalf ? length - 1 : length)
}
