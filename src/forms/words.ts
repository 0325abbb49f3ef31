/** What a form understands besides answers, and the few sentences that it says itself: in English, unless replaced. */
import { comparableText } from '../model/comparable-text.js'

/**
 * The words of a form. Case and spaces do not count in what users say.
 *
 * @example
 * ```ts
 * const german: FormWords = {
 *   yes: ['Ja', 'stimmt'],
 *   no: ['Nein'],
 *   skip: ['weiter'],
 *   change: ['ändere {field}', 'ändere {field} auf {value}'],
 *   needed: (label) => `${label} fehlt noch.`,
 *   review: (rows) => [...rows.map((row) => row.join(': ')), 'Stimmt das?'].join('\n'),
 *   whatToChange: (labels) => `Was soll anders sein: ${labels.join(', ')}? Sonst sagen Sie bitte ja.`,
 * }
 * ```
 */
export interface FormWords {
  /** Confirms the review. The first is the label of the button. */
  readonly yes: readonly string[]
  /** Declines the review. The first is the label of the button. */
  readonly no: readonly string[]
  /** Leaves an optional field empty. */
  readonly skip: readonly string[]
  /** Corrects a field. `{field}` stands for its label or name, `{value}` for the new value. */
  readonly change: readonly string[]
  /** A field that is not optional was left empty. */
  readonly needed: (label: string) => string
  /** The review, unless the form overrides `review`. Its rows are labels and values. */
  readonly review: (rows: readonly (readonly [string, string])[]) => string
  /** The answer to the review is a no, or neither a yes nor a correction. */
  readonly whatToChange: (labels: readonly string[]) => string
}

export const english: FormWords = {
  yes: ['Yes', 'y', 'ok', 'okay', 'right', 'correct', 'yes please', "that's right"],
  no: ['No', 'n', 'wrong'],
  skip: ['skip'],
  change: ['change {field} to {value}', 'change the {field} to {value}', 'change {field}', 'change the {field}'],
  needed: (label) => `The ${label} is needed.`,
  review: (rows) => [...rows.map((row) => row.join(': ')), 'Is that right?'].join('\n'),
  whatToChange: (labels) => `What should I change: ${labels.join(', ')}? If nothing, say yes.`,
}

/** Whether a user said a word. Case, spaces, the kind of apostrophe and a full stop at the end do not count. */
export function isSaid(word: string, said: string): boolean {
  return plainText(word) === plainText(said)
}

/** A text without what does not count. */
export function plainText(text: string): string {
  return comparableText(text)
    .normalize()
    .replaceAll('’', "'")
    .replace(/^¡|[.!…。！]{1,3}$/g, '')
}
