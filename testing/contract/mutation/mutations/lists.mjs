// Mutations of the lists that share their entries and never change.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const listMutations = [
  {
    file: 'src/session/lists/growing-list.ts',
    tests: ['src/session/lists/growing-list.'],
    rows: [
      [
        'entries of a list added to twice shared by both',
        'takeEntries',
        { piece: 'unfrozen.delete(list)', becomes: '' },
      ],
      [
        'list that changes after it was given out',
        '#thaw',
        { piece: 'takeEntries(this.@list)', becomes: 'this.@list as T[]' },
      ],
    ],
  },
  {
    file: 'src/session/lists/shared-lists.ts',
    tests: ['src/session/lists/shared-lists.'],
    rows: [
      ['entries of a list not frozen', 'freezeList', { statement: 'deepFreeze(@entry)', becomes: '' }],
      [
        'unchecked entries taken for checked ones',
        'extendList',
        { piece: 'checkedLength(list)', becomes: 'extended.length' },
      ],
    ],
  },
]
