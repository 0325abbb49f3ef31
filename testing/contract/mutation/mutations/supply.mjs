/** Mutations of what finds faults: the oracle of the fuzzer, and the checks of what the package is made of. */

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const supplyMutations = [
  {
    file: 'testing/contract/fuzz/oracle.ts',
    tests: ['testing/contract/fuzz/oracle.'],
    rows: [
      [
        'fuzzer overlooks a status that is not documented',
        'judgeStatus',
        { piece: '.has(status)', becomes: '.has(status) && false' },
      ],
      ['fuzzer overlooks an unknown header', 'judgeHeader', { condition: '!knownHeader.test(name)', becomes: 'false' }],
      [
        'fuzzer overlooks an unknown form of a body',
        'judgeJson',
        { condition: 'form === undefined', becomes: 'false' },
      ],
      [
        'fuzzer takes an empty refusal of the application for that of the server',
        'isOfServer',
        { piece: "app === 'strict' ? markHeader : 'Content-Type'", becomes: "'Content-Type'" },
      ],
    ],
  },
  {
    file: 'testing/contract/fuzz/event-oracle.ts',
    tests: ['testing/contract/fuzz/oracle.'],
    rows: [
      [
        'fuzzer overlooks a field of a last event',
        'isOutcome',
        { piece: 'entries.length - 5 === entries.filter(([name]) => others.has(name)).length', becomes: 'true' },
      ],
    ],
  },
  {
    file: '.config/scripts/lock.mjs',
    tests: ['testing/contract/supply-chain/'],
    rows: [
      [
        'lock without the integrity of a package of this platform',
        'withoutIntegrity',
        { piece: 'entry.optional === true && isOfOtherPlatform(entry)', becomes: 'entry.optional === true' },
      ],
      ['lock with an entry missing', 'missingEntries', { piece: '=== undefined)', becomes: '=== null)' }],
    ],
  },
  {
    file: '.config/scripts/sbom.mjs',
    tests: ['testing/contract/supply-chain/'],
    rows: [
      [
        'licence of which one part is permissive',
        'isPermissive',
        { piece: ".split(' AND ').every(", becomes: ".split(' AND ').some(" },
      ],
      [
        'dependency of a dependency without a licence check',
        'productionEntries',
        { piece: 'visit(entry)', becomes: '' },
      ],
    ],
  },
  {
    file: '.config/scripts/audit.mjs',
    tests: ['testing/contract/supply-chain/'],
    rows: [
      [
        'audit without an answer that counts as fine',
        'judgeVulnerabilities',
        { piece: "verdict: 'no answer'", becomes: "verdict: 'fine'" },
      ],
      [
        'audit that overlooks a critical vulnerability',
        'judgeVulnerabilities',
        { piece: 'counts.high + counts.critical', becomes: 'counts.high' },
      ],
    ],
  },
]
