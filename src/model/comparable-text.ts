/** How labels are compared, by the builder of choices and by `turn.choice`. */

/** A label, or what a user has typed for it, without what does not count: case and spaces. */
export function comparableText(text: string): string {
  return text.toLowerCase().replace(/\s+/g, '')
}
