/**
 * The first `length` UTF-16 units of a text, but never half of a surrogate pair: providers and stores may refuse that.
 */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  const isHalf = last >= 0xd8_00 && last <= 0xdb_ff
  return text.slice(0, isHalf ? length - 1 : length)
}
