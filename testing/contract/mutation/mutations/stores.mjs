// Mutations of the stores over Keyv: what is written, what is known, what is believed.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const storeMutations = [
  {
    file: 'src/stores/keyv/layout/chunks.ts',
    tests: ['src/stores/keyv/'],
    rows: [
      [
        "a chunk of another conversation's list accepted",
        'followChunks',
        { piece: 'if (chunk.previous !== tip) return undefined', becomes: '' },
      ],
      [
        'a list accepted whose tip the head does not name',
        'followChunks',
        { piece: 'if (tip !== head.tip ||', becomes: 'if (' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/keyv-session-store.ts',
    tests: ['src/stores/keyv/'],
    rows: [
      [
        'a conflict of the backend taken for success',
        '#write',
        { piece: "if (outcome === 'conflict') throw new SessionConflictError({ sessionId: id })", becomes: '' },
      ],
      [
        'what was known kept through a write that failed',
        '#write',
        {
          piece: 'this.#known?.delete(key) const outcome = await driver.swap',
          becomes: 'const outcome = await driver.swap',
        },
      ],
      [
        'a revision written twice remembered as the second',
        '#write',
        { piece: '|| this.#attempts.count(write) > 1', becomes: '' },
      ],
      [
        'a closed store used',
        '#open',
        {
          piece: "if (this.#closed !== undefined) throw new Error('The Keyv session store is closed.') return this",
          becomes: 'return this',
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
        'startsAsKnown',
        {
          piece: 'if (list?.length !== before.length',
          becomes: 'if (list === undefined || list.length < 0 * before.length',
        },
      ],
      [
        'a list remembered that its owner can change',
        'planWrite',
        { piece: '@all &&= isFrozenList(@entries)', becomes: '@all &&= true' },
      ],
    ],
  },
  {
    file: 'src/stores/keyv/layout/read-session.ts',
    tests: ['src/stores/keyv/'],
    rows: [
      [
        'an unreadable head taken for a missing session',
        'read',
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
]
