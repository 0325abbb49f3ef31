/** How long claims of session IDs, and the marks that deletes leave, are kept. */

/**
 * How long a claim is kept, and how long the ID of a deleted session cannot be used again: 24 hours, in milliseconds.
 * A message that is repeated within this time finds the same claim, so the mark must last as long.
 */
export const claimMs: number = 24 * 60 * 60 * 1000
