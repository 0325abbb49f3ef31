/** What the interface `SessionStore` promises, in the words that a failure ends with. */

/** The rules, by the name that the cases use. */
export const rules = {
  load: 'load gives the stored document, or undefined where there is none.',
  copies: 'What a store takes and gives shares nothing that can change with what it stores.',
  create:
    'create stores a new document. It succeeds without a change where it is stored already under its own revision, and is a conflict where the ID exists under another one.',
  save: 'save replaces the stored document if its revision equals the expected one. It succeeds without a change where the stored revision equals the own one, and is a conflict where another revision is stored, or none.',
  revision: 'A revision is an opaque token: two are equal only where every character is.',
  delete:
    'delete removes a document. A missing one is no error, with a revision or without; another revision than the expected one is a conflict.',
  atomic: 'Of writers that expect one revision exactly one wins, and what is stored is whole.',
  ids: 'An ID is an opaque text: it names its own session and no other.',
  json: 'A document is plain JSON: whatever JSON carries is read as it was written.',
  hint: 'The document is what is stored; a hint only tells which lists grew.',
  handles: 'Whatever one handle stored, every other one sees, at once.',
  close: 'close gives up the handle: calls after it reject. Stored sessions and other handles stay.',
  outage: 'A backend that is down rejects: an outage is never a missing session, and never a conflict.',
  unreadable:
    'Something stored that cannot be read as a document is a SessionFlowInvariantError, and can be deleted without a revision.',
  optional: 'hold keeps a session until it is released; onEvicted tells of dropped sessions alone.',
  guarantees: "guarantees says compareAndSwap ('backend' or 'process') and durable (true or false).",
  engine: 'A conversation goes on over the store as over memory: every acknowledged turn is there once, in order.',
} as const
