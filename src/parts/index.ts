/**
 * What a reply carries beside its text: choices, cards, forms, files, and data of your own.
 *
 * @module turnkeeper/parts
 */

// A list of names that is kept by hand, and nothing else.

export type { ReplyPart } from '../model/reply-part.js'
export { card, choices, custom, file, form, textOf } from './parts.js'
