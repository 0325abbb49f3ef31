/** What the interface `SessionStore` promises. A failure ends with one of these sentences. */

/** The rules, by the name that the cases use. */
export const rules = {
  load: 'load gives the stored document, or undefined if there is none.',
  copies: 'What a store takes and gives shares nothing that can change with what it stores.',
  create:
    'create stores a new document. It succeeds without a change if it is stored already under its own revision, and is a conflict if the ID exists under another one.',
  save: 'save replaces the stored document if its revision equals the expected one. It succeeds without a change if the stored revision equals its own, and is a conflict if another revision is stored, or none.',
  revision: 'A revision is an opaque token: two are equal only if every character is.',
  delete:
    'delete removes a document. A missing one is not an error, with a revision or without; another revision than the expected one is a conflict.',
  atomic: 'If several writers expect one revision, exactly one wins, and the stored document is whole.',
  ids: 'An ID is an opaque text: it names its own session and no other.',
  json: 'A document is plain JSON: whatever JSON carries is read as it was written.',
  hint: 'Store the whole document; a hint only names the lists that grew.',
  handles: 'What one handle stored, every other one sees at once.',
  close: 'close closes the handle: calls after it reject. Stored sessions and other handles stay.',
  outage: 'A backend that is down rejects: an outage is never a missing session, and never a conflict.',
  unreadable:
    'Something stored that cannot be read as a document is a SessionFlowInvariantError, and can be deleted without a revision.',
  claim:
    'claim keeps an ID under a key unless there is one, and gives the one that is kept, to every handle, until its time is over.',
  deleted:
    'A store with claim keeps the ID of a delete from being used for 24 hours: a create is a conflict, and only isDeleted shows why.',
  lease:
    'lease waits until no other handle has the lease of the session, or until the signal fires. A holder that is gone leaves it to expire.',
  age: 'A store with an absolute time to live ends a session that long after its creation, however often it is saved.',
  summary: 'summary gives what list shows of a session, for the callers and with the errors of load.',
  list: 'list shows every session that is stored from the first page to the last, by its fields alone, and none that is gone.',
  optional: 'hold keeps a session until it is released; onEvicted reports dropped sessions only.',
  guarantees: "guarantees says compareAndSwap ('backend' or 'process') and durable (true or false).",
  engine: 'A conversation works over the store as over memory: every acknowledged turn is there once, in order.',
} as const
