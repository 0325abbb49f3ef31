// Mutations of the stores over Keyv: what is written, what is known, what is believed.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const storeMutations = [
  {
    file: 'src/stores/keyv/layout/chunks.ts',
    tests: ['src/stores/keyv/'],
    rows: [
      [
        "a chunk of another conversation's list accepted",
        'isChain',
        { piece: 'if (before !== undefined && previous !== before) return false', becomes: '' },
      ],
      [
        'a list accepted whose tip the head does not name',
        'isChain',
        { piece: 'return before === undefined || before === last', becomes: 'return true' },
      ],
      [
        'entries that another process cut kept',
        'followChunks',
        { piece: 'cutList(whole, removedBy(whole, head))', becomes: 'cutList(whole, 0)' },
      ],
      [
        "a list that begins before what is known taken for the known one's",
        'continuedLists',
        { piece: 'if (head.first < list.first || head.chunks < list.chunks) return undefined', becomes: '' },
      ],
      [
        'a chunk cut in its middle read whole',
        'cutList',
        { piece: 'Math.floor(skip / size)', becomes: 'Math.ceil(skip / size)' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/layout/read-session.ts',
    tests: ['src/stores/keyv/layout/'],
    rows: [
      [
        'a chunk read under the revision of another one',
        'SessionReader.#chunks',
        { piece: 'revision = chunk.previous', becomes: 'revision = chunk.revision' },
      ],
      [
        'a chunk that was moved in its list read',
        'SessionReader.#chunks',
        { piece: 'key: chunkName(list.name, index)', becomes: 'key: chunkName(list.name, 0)' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/layout/codec.ts',
    tests: ['src/stores/keyv/layout/'],
    rows: [
      [
        'hooks that do not get the place of a text',
        'encodeWithHooks',
        { piece: 'hooks.serialize?.({ value: packed }, place)', becomes: 'keyv.serialize?.({ value: packed })' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/chunked-session-store.ts',
    tests: ['src/stores/keyv/'],
    rows: [
      [
        'an old session loaded because its backend still has it',
        'load',
        { piece: '!isPast(this.#expiresBy(found.document))', becomes: 'true' },
      ],
      [
        'a session removed that took the place of an old one',
        'load',
        { piece: '#driver.remove(key, found.revision,', becomes: '#driver.remove(key, undefined,' },
      ],
      [
        'a session saved beyond its greatest age',
        '#checkAge',
        { piece: 'if (isPast(expiresBy)) throw new SessionConflictError({ sessionId: document.id })', becomes: '' },
      ],
      [
        'a conflict of the backend taken for success',
        '#write',
        { piece: "if (outcome === 'conflict') throw new SessionConflictError({ sessionId: id })", becomes: '' },
      ],
      [
        'what was known kept through a write that failed',
        '#write',
        {
          piece: 'this.#known?.delete(key) const outcome = await this.#driver.swap',
          becomes: 'const outcome = await this.#driver.swap',
        },
      ],
      [
        'a revision written twice remembered as the second',
        '#write',
        { piece: '|| this.#attempts.count(write) > 1', becomes: '' },
      ],
      [
        'a closed store used',
        '#checkOpen',
        {
          piece: 'if (this.#closed !== undefined) throw new Error(this.#options.closedMessage)',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/layout/write-plan.ts',
    tests: ['src/stores/keyv/'],
    rows: [
      [
        'a hint believed blindly',
        'continues',
        { piece: 'if (list.length !== rest.length + appended) return false', becomes: '' },
      ],
      [
        'a list that the document lost forgotten, and its names used again',
        'keepNames',
        { piece: 'if (!lists.has(name)) lists.set(name, emptyList.entries)', becomes: 'void name' },
      ],
      [
        'chunks of a list that was cut left behind',
        'removedChunks',
        { piece: 'removed.push(chunkName(name, index))', becomes: 'void index' },
      ],
      [
        'a list remembered that its owner can change',
        'planWrite',
        { piece: '[...lists.values()].every(isFrozenList)', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/layout/read-session.ts',
    tests: ['src/stores/keyv/'],
    rows: [
      [
        'an unreadable head taken for a missing session',
        '#readAll',
        {
          piece: 'const stored = await this.#driver.readAll(key)',
          becomes:
            'const stored = await this.#driver.readAll(key).then((found) => (found?.head.endsWith("}") ? found : undefined))',
        },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/layout/keys.ts',
    tests: ['src/stores/keyv/', 'testing/suites/stores/session-store-suite'],
    rows: [
      [
        'IDs that are not plain used as keys',
        'sessionKey',
        { piece: 'plain.test(sessionId) ? sessionId : hashedKey(sessionId)', becomes: 'sessionId.toLowerCase()' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/write-attempts.ts',
    tests: ['src/stores/keyv/write-attempts.'],
    rows: [
      ['attempts of all writes forgotten at once', 'add', { statement: 'this.#older = this.#recent', becomes: '' }],
    ],
  },
  {
    file: 'src/stores/memory/session-cache.ts',
    tests: ['src/stores/memory/', 'testing/suites/stores/right-stores'],
    rows: [
      [
        'memory: the end of a session put off by a save',
        'set',
        {
          piece: 'before !== undefined && isSame ? before.endsAt : now + absoluteTtlMs',
          becomes: 'now + absoluteTtlMs',
        },
      ],
      [
        'memory: a held session outlives its greatest age',
        '#storedOf',
        { piece: 'held.stored.endsAt <= monotonicTime(this.#options.clock)', becomes: 'false' },
      ],
      [
        'memory: sessions that ended are kept where none expires',
        '#dropExpired',
        { piece: 'Math.min(ttlMs, absoluteTtlMs)', becomes: 'ttlMs' },
      ],
    ],
  },
]
