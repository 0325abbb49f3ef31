// Breaks of what keeps sessions: the lock, the documents, the stores and the way to them.

/** @type {import('../apply-break.mjs').BreakGroups} */
export const sessionBreaks = [
  {
    file: 'src/session/session-lock.ts',
    tests: ['src/session/session-lock.'],
    rows: [
      ['lock not first in, first out', 'const waiter = queue?.first', 'const waiter = queue?.last'],
      [
        'lock freed while others wait',
        'queue.remove(waiter) waiter.enter()',
        'this.#queues.delete(sessionId)\nwaiter.enter()',
      ],
    ],
  },
  {
    file: 'src/session/flow-session.ts',
    tests: ['src/session/flow-session.'],
    rows: [['lock kept after its holder is done', 'if (sessionId !== undefined) this.#lock.release(sessionId)', '']],
  },
  {
    file: 'src/session/revision.ts',
    tests: ['src/session/revision.'],
    rows: [['revision without a random part', 'random}`', "''}`"]],
  },
  {
    file: 'src/session/session-codec.ts',
    tests: ['src/session/session-codec.'],
    rows: [["another session's document believed", 'return id === sessionId ?', 'return true ?']],
  },
  {
    file: 'src/session/store-access.ts',
    tests: ['src/session/store-access.'],
    rows: [
      ['failed load taken for a missing session', "throw asStoreError('load', sessionId, cause)", 'return undefined'],
      [
        'conflict of a later attempt believed without a read-back',
        '// Also a conflict is read back before it is believed: the earlier attempt may be what it met.',
        'if (isSessionConflict(error)) throw error',
      ],
      [
        'conflict on the first attempt not believed',
        'if (isSessionConflict(error)) throw error return this.#settle(',
        'return this.#settle(',
      ],
      [
        'save of a deleted session tried again',
        "if (found === 'missing') return 'conflict'",
        "if (found === 'missing') return 'again'",
      ],
      ['save that took effect reported as failed', 'if (found.revision === own.revision) return true', ''],
      [
        'store timeout off',
        'setDeadline(this.#clock, this.#timeoutMs,',
        'setDeadline(this.#clock, Number.POSITIVE_INFINITY,',
      ],
    ],
  },
  {
    file: 'src/stores/memory/memory-store.ts',
    tests: ['src/stores/memory/memory-store.'],
    rows: [
      ['stale save wins', 'if (stored?.revision !== expectedRevision)', 'if (stored === undefined)'],
      [
        'stale delete wins',
        'if (expectedRevision !== undefined && stored.revision !== expectedRevision)',
        'if (false)',
      ],
      [
        'store fails to delete what is missing',
        'if (stored === undefined) return if (expectedRevision',
        'if (stored === undefined) throw new SessionConflictError({ sessionId })\nif (expectedRevision',
      ],
    ],
  },
  {
    file: 'src/stores/memory/bounded-sessions.ts',
    tests: ['src/stores/memory/memory-store.'],
    rows: [
      ['session evicted while a turn holds it', 'this.#droppable.remove(entry) entry.holders++', 'entry.holders++'],
    ],
  },
  {
    file: 'src/session/lists/copy-document.ts',
    tests: ['src/session/lists/copy-document.', 'src/stores/memory/memory-store.'],
    rows: [
      [
        'store shares what can change with its caller',
        'if (isPlainData(value)) return copyObject(value)',
        'if (isPlainData(value)) return value',
      ],
    ],
  },
  {
    file: 'src/util/json.ts',
    tests: ['src/util/json.'],
    rows: [
      ['a key __proto__ allowed', "if (key === '__proto__') throw", 'if (false) throw'],
      ['maxJsonDepth off', 'if (ancestors.length >= maxDepth)', 'if (false)'],
      ['infinite numbers allowed', 'if (!Number.isFinite(value)) throw', 'if (false) throw'],
    ],
  },
  {
    file: 'src/util/linked-list.ts',
    tests: ['src/util/linked-list.', 'src/session/session-lock.'],
    rows: [['an entry that forgets those behind it', 'else next.previous = previous', '']],
  },
]
