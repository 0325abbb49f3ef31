// Mutations of what keeps sessions: the documents, the stores and the way to them. Those of the
// lock are in `locks.mjs`.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const sessionMutations = [
  {
    file: 'src/session/revision.ts',
    tests: ['src/session/revision.'],
    rows: [
      [
        'revision without a random part',
        'nextRevision',
        {
          piece: 'random}`',
          becomes: "''}`",
        },
      ],
    ],
  },
  {
    file: 'src/session/session-codec.ts',
    tests: ['src/session/session-codec.'],
    rows: [
      [
        "another session's document believed",
        'problemOf',
        {
          piece: 'return stored.id === sessionId ?',
          becomes: 'return true ?',
        },
      ],
    ],
  },
  {
    file: 'src/session/store-access.ts',
    tests: ['src/session/store-access.'],
    rows: [
      [
        'failed load taken for a missing session',
        '#load',
        {
          piece: "throw asStoreError('load', sessionId, cause)",
          becomes: 'return undefined',
        },
      ],
      [
        'conflict of a later attempt believed without a read-back',
        '#repeat',
        {
          statement: 'cause = error',
          becomes: 'if (isSessionConflict(error)) throw error\ncause = error',
        },
      ],
      [
        'conflict on the first attempt not believed',
        '#attemptWrite',
        {
          piece: 'if (isSessionConflict(error)) throw error return this.#settle(',
          becomes: 'return this.#settle(',
        },
      ],
      [
        'save of a deleted session tried again',
        'write',
        {
          piece: "if (found === 'missing') return 'conflict'",
          becomes: "if (found === 'missing') return 'again'",
        },
      ],
      [
        'save that took effect reported as failed',
        'judgeTurn',
        {
          piece: "if (found.revision === own.revision) return 'done'",
          becomes: '',
        },
      ],
      [
        'store timeout off',
        '#bounded',
        {
          piece: 'this.#deadlines.set(this.#timeoutMs,',
          becomes: 'this.#deadlines.set(Number.POSITIVE_INFINITY,',
        },
      ],
    ],
  },
  {
    file: 'src/stores/memory/memory-store.ts',
    tests: ['src/stores/memory/memory-store.'],
    rows: [
      [
        'stale save wins',
        'save',
        {
          piece: 'if (stored?.revision !== expectedRevision)',
          becomes: 'if (stored === undefined)',
        },
      ],
      [
        'stale delete wins',
        'delete',
        {
          piece: 'if (expectedRevision !== undefined && stored.revision !== expectedRevision)',
          becomes: 'if (false)',
        },
      ],
      [
        'store fails to delete what is missing',
        'delete',
        {
          piece: 'if (stored === undefined) return if (expectedRevision',
          becomes: 'if (stored === undefined) throw new SessionConflictError({ sessionId })\nif (expectedRevision',
        },
      ],
    ],
  },
  {
    file: 'src/stores/memory/session-cache.ts',
    tests: ['src/stores/memory/'],
    rows: [
      [
        'session evicted while a turn holds it',
        'hold',
        {
          piece: 'this.#cache.delete(sessionId)',
          becomes: '',
        },
      ],
      [
        'session larger than the store vanishes',
        '#keep',
        {
          piece: 'Math.min(stored.bytes, this.#maxBytes)',
          becomes: 'stored.bytes',
        },
      ],
      [
        'deleted session reported as evicted',
        'constructor',
        {
          piece: "reason === 'evict' &&",
          becomes: '',
        },
      ],
      [
        'expired session comes back',
        '#unexpired',
        {
          piece: 'stored.expiresAt > monotonicTime(this.#options.clock)',
          becomes: 'true',
        },
      ],
    ],
  },
  {
    file: 'src/session/copy-document.ts',
    tests: ['src/session/lists/copy-document.', 'src/stores/memory/memory-store.'],
    rows: [
      [
        'store shares what can change with its caller',
        'copyValue',
        {
          piece: 'return copyObject(value, previous, finish)',
          becomes: 'return value',
        },
      ],
    ],
  },
  {
    file: 'src/util/json.ts',
    tests: ['src/util/json.'],
    rows: [
      [
        'a key __proto__ allowed',
        'copyObject',
        {
          piece: "if (key === '__proto__') throw",
          becomes: 'if (false) throw',
        },
      ],
      [
        'maxJsonDepth off',
        'copyNested',
        {
          piece: 'if (ancestors.length >= maxDepth)',
          becomes: 'if (false)',
        },
      ],
      [
        'infinite numbers allowed',
        'copyNumber',
        {
          piece: 'if (!Number.isFinite(value)) throw',
          becomes: 'if (false) throw',
        },
      ],
    ],
  },
  {
    file: 'src/util/linked-list.ts',
    tests: ['src/util/linked-list.', 'src/session/session-lock.'],
    rows: [
      [
        'an entry that forgets those behind it',
        'remove',
        {
          piece: 'else next.previous = previous',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/stores/memory/memory-store.ts',
    tests: ['src/stores/memory/memory-store.'],
    rows: [
      [
        'create repeated after a lost answer conflicts',
        'create',
        { piece: 'else if (stored.revision !== revision) throw', becomes: 'else throw' },
      ],
      ['stored document shared with its writer', 'create', { piece: 'frozenCopy(document)', becomes: 'document' }],
    ],
  },
  {
    file: 'src/stores/memory/session-cache.ts',
    tests: ['src/stores/memory/'],
    rows: [
      ['maxSessions off', '#keep', { piece: 'this.#options.maxSessions', becomes: 'Number.POSITIVE_INFINITY' }],
      ['session released though another turn holds it', 'hold', { piece: 'if (held.holders > 0) return', becomes: '' }],
    ],
  },
  {
    file: 'src/stores/memory/heap-bytes.ts',
    tests: ['src/stores/memory/heap-bytes.'],
    rows: [
      ['memory of objects not counted', 'heapBytes', { piece: '+ perObject * objects', becomes: '' }],
      [
        'state that changes counted only once',
        'countOnce',
        { piece: 'if (Object.isFrozen(value)) objectCounts.set', becomes: 'objectCounts.set' },
      ],
    ],
  },
  {
    file: 'src/util/patterns.ts',
    tests: ['src/util/patterns.', 'src/engine/model-call/answer-parts.'],
    rows: [
      ['name of an unknown tool in full', 'toToolName', { piece: '.slice(0, 64)', becomes: '' }],
      ['session ID with a comma', 'sessionId', { piece: '!-+\\--~', becomes: '!-~' }],
      ['base64 cut off accepted', 'isBase64', { piece: 'text.length % 4 === 0 &&', becomes: '' }],
    ],
  },
  {
    file: 'src/util/options.ts',
    tests: ['src/util/options.'],
    rows: [
      [
        'option named like a method of every object',
        'findUnknownName',
        { piece: '!Object.hasOwn(known, name)', becomes: '!(name in known)' },
      ],
      ['suggestion of an option that shares only letters', 'wordsOf', { piece: "'-$&'", becomes: "'$&'" }],
      [
        'suggestion for swapped letters left out',
        'isOneLetterApart',
        { piece: 'a[at] === b[at + 1]', becomes: 'false' },
      ],
      ['Infinity where a number must be finite', 'isInRange', { piece: 'return !finite', becomes: 'return true' }],
    ],
  },
]
