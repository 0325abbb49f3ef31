// Breaks of the stores over Keyv: what is written, what is known, what is believed.

/** @type {import('../apply-break.mjs').BreakGroups} */
export const storeBreaks = [
  {
    file: 'src/stores/keyv/layout/chunks.ts',
    tests: ['src/stores/keyv/'],
    rows: [
      ["a chunk of another conversation's list accepted", 'if (chunk.previous !== tip) return undefined', ''],
      ['a list accepted whose tip the head does not name', 'if (tip !== head.tip ||', 'if ('],
    ],
  },
  {
    file: 'src/stores/keyv/keyv-session-store.ts',
    tests: ['src/stores/keyv/'],
    rows: [
      [
        'a conflict of the backend taken for success',
        "if (outcome === 'conflict') throw new SessionConflictError({ sessionId: id })",
        '',
      ],
      [
        'what was known kept through a write that failed',
        'this.#known?.delete(key) const outcome = await driver.swap',
        'const outcome = await driver.swap',
      ],
      ['a revision written twice remembered as the second', 'this.#attempts.get(write) === 1 && plan', 'plan'],
      [
        'a closed store used',
        "if (this.#closed !== undefined) throw new Error('The Keyv session store is closed.') return this",
        'return this',
      ],
    ],
  },
  {
    file: 'src/stores/keyv/layout/write-plan.ts',
    tests: ['src/stores/keyv/'],
    rows: [
      [
        'a hint believed blindly',
        'if (list?.length !== before.length',
        'if (list === undefined || list.length < 0 * before.length',
      ],
      ['a list remembered that its owner can change', '.every(isFrozenList) ? planned', '.every(() => true) ? planned'],
    ],
  },
  {
    file: 'src/stores/keyv/layout/read-session.ts',
    tests: ['src/stores/keyv/'],
    rows: [
      [
        'an unreadable head taken for a missing session',
        'const stored = await this.#driver.readAll(key)',
        'const stored = await this.#driver.readAll(key).then((found) => (found?.head.endsWith("}") ? found : undefined))',
      ],
    ],
  },
  {
    file: 'src/stores/keyv/layout/keys.ts',
    tests: ['src/stores/keyv/', 'testing/suites/stores/session-store-suite'],
    rows: [
      [
        'IDs that are not plain used as keys',
        'plain.test(sessionId) ? sessionId : hashedKey(sessionId)',
        'sessionId.toLowerCase()',
      ],
    ],
  },
]
