// Mutations of the stores over D1 and Durable Objects. They need Miniflare, which is installed in
// testing/contract/runtimes.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const cloudflareMutations = [
  {
    file: 'src/stores/keyv/drivers/text-pieces.ts',
    tests: ['src/stores/keyv/drivers/text-pieces.'],
    rows: [
      [
        'a text longer than a row is not cut',
        'piecesOf',
        { piece: 'text.length * 3 <= maxPieceBytes', becomes: 'true' },
      ],
      [
        'a text cut by characters of more than a byte',
        'piecesOf',
        { piece: 'start += read', becomes: 'start += maxPieceBytes' },
      ],
      ['of several pieces the last one alone', 'textsOf', { piece: "parts.join('')", becomes: "parts.at(-1) ?? ''" }],
    ],
  },
  {
    file: 'adapters/d1/d1-statements.ts',
    tests: ['testing/contract/cloudflare/d1.test'],
    rows: [
      ['D1: stale save wins', 'update', { piece: 'AND revision = ?7 AND', becomes: 'AND ?7 <> 0 AND' }],
      ['D1: a save that is stored already is stored again', 'update', { piece: 'AND revision <> ?2', becomes: '' }],
      [
        'D1: texts written by a swap that lost',
        'insertTexts',
        { piece: 'AND session.attempt = ?2', becomes: 'AND ?2 <> 0' },
      ],
      ['D1: texts removed by a swap that lost', 'written', { piece: 'AND attempt = ?2', becomes: 'AND ?2 <> 0' }],
      ['D1: session created over one that is there', 'insert', { piece: 'WHERE NOT', becomes: 'WHERE 1 OR NOT' }],
      ['D1: stale delete wins', 'remove', { piece: 'OR revision = ?2 OR', becomes: 'OR 1 OR' }],
      [
        'D1: texts of a removed session stay',
        'createTables',
        { piece: 'WHERE session_id = OLD.id', becomes: 'WHERE 0' },
      ],
      ['D1: greatest age of a session put off by a save', 'expiry', { piece: 'min(ifnull', becomes: 'max(ifnull' }],
      ['D1: an expired session loaded', 'readHead', { piece: 'key = ?1 AND', becomes: 'key = ?1 OR 0 AND' }],
      [
        'D1: everybody has the sessions of an owner',
        'listHeads',
        { piece: "' AND owner = ?3'", becomes: "' AND ?3 <> 0'" },
      ],
      [
        'D1: a claim that is kept is overwritten',
        'claim',
        { piece: 'turnkeeper_claim.expires_at <=', becomes: '0 <=' },
      ],
    ],
  },
  {
    file: 'adapters/d1/d1-driver.ts',
    tests: ['testing/contract/cloudflare/d1.test'],
    rows: [
      [
        'D1: the rest of a long head lost in a listing',
        '#readHeads',
        { piece: "rest.get(String(row.id)) ?? ''", becomes: "''" },
      ],
      [
        'D1: no tables, no session',
        '#run',
        { piece: 'if (!/no such table: turnkeeper_/.test(String(error)))', becomes: 'if (true)' },
      ],
    ],
  },
  {
    file: 'adapters/durable-object/object-storage.ts',
    tests: ['testing/contract/cloudflare/isolates.test'],
    rows: [['object: two isolates overwrite each other', 'swap', { piece: "return 'conflict'", becomes: ';' }]],
  },
  {
    file: 'adapters/d1/d1-statements.ts',
    tests: ['testing/contract/cloudflare/isolates.test'],
    rows: [
      [
        'D1: two isolates overwrite each other',
        'update',
        { piece: 'AND revision = ?7 AND', becomes: 'AND ?7 <> 0 AND' },
      ],
    ],
  },
  {
    file: 'adapters/durable-object/object-storage.ts',
    tests: ['testing/contract/cloudflare/durable-object.test'],
    rows: [
      ['object: stale save wins', 'swap', { piece: "return 'conflict'", becomes: ';' }],
      [
        'object: a save that is stored already is a conflict',
        'swap',
        { piece: "if (stored === revision) return 'done'", becomes: '' },
      ],
      ['object: stale delete wins', 'remove', { piece: "return 'conflict'", becomes: ';' }],
      [
        'object: a deleted session stays as tables',
        'remove',
        { piece: 'if (this.#hasTables) await this.#removeAll()', becomes: "this.#rows('DELETE FROM entry')" },
      ],
      ['object: an alarm removes what is not over', 'wake', { piece: '&& expiresAt <= Date.now()', becomes: '' }],
      [
        'object: no alarm after one that came too early',
        'wake',
        { piece: 'await this.#storage.setAlarm(expiresAt)', becomes: ';' },
      ],
      ['object: an alarm not moved to an earlier end', '#keep', { piece: 'alarmAt <= expiry', becomes: 'true' }],
      ['object: a session that is over loaded', '#live', { piece: '<= Date.now()', becomes: '<= 0' }],
      ['object: chunks that were cut stay', '#changeTexts', { piece: '...removed,', becomes: '' }],
    ],
  },
]
