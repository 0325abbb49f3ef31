/** Cuts texts from outside, and makes names from outside safe for messages and logs. */

/** The most characters of a name that are shown. */
const maxLength = 200

/** The beginning of a name, with U+FFFD in place of each character that is invisible or breaks the line. */
export function shownName(name: string): string {
  const cut = name.length > maxLength ? `${cutText(name, maxLength - 1)}…` : name
  return cut.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\uFFFD')
}

/**
 * The first `length` UTF-16 units of a text. Never ends with half of a surrogate pair, which providers and stores may
 * refuse.
 */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  const isHalf = last >= 0xd8_00 && last <= 0xdb_ff
  return text.slice(0, isHalf ? length - 1 : length)
}
