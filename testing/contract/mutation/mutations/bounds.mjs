// Mutations of what keeps sessions within their bounds: cut lists, attachments, layouts, turns that are known by their
// ID, and content types of one reply.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const boundMutations = [
  {
    file: 'src/engine/turn/draft/trim-lists.ts',
    tests: ['src/engine/turn/trim-lists.'],
    rows: [
      ['list cut to its limit and no further', 'partKept', { piece: '0.75', becomes: '1' }],
      ['history entry of this turn removed', 'trimHistory', { piece: 'list.length - 1 &&', becomes: 'list.length &&' }],
      ['messages of this turn removed', 'placesOf', { statement: 'message.turn === turn', becomes: '' }],
      ['call cut off from its result', 'placeBefore', { piece: 'openCalls.size > 0 ||', becomes: '' }],
      [
        'results of calls in several messages parted',
        'followCalls',
        { statement: 'open.delete(part.toolCallId)', becomes: 'open.clear()' },
      ],
      ['summary at the start of a memory removed', 'trimMemory', { piece: 'summaryLength(list)', becomes: '0' }],
      [
        'memory cut in the middle of a turn',
        'countToRemove',
        { piece: "place === 'turn'", becomes: 'place !== undefined' },
      ],
      [
        'attachments of this turn removed for maxSessionBytes',
        'trimToBytes',
        { piece: 'turn - 1, removed', becomes: 'turn, removed' },
      ],
      [
        'photos kept for a turn too long',
        'trimLists',
        { piece: 'turn - attachmentTurns', becomes: 'turn - attachmentTurns - 1' },
      ],
      [
        'only the memories that a turn used are cut for maxSessionBytes',
        'trimToBytes',
        { piece: 'of memory.namespaces', becomes: 'of memory.touched.keys()' },
      ],
      [
        'only the messages of the last cut reported',
        'addMessages',
        { piece: '...(this.#messages.get(namespace) ?? []), ', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/draft/trim-lists.ts',
    tests: ['src/engine/flow-engine.prompt-prefix.'],
    rows: [['prompt changed in most turns once a memory is full', 'partKept', { piece: '0.75', becomes: '0.99' }]],
  },
  {
    file: 'src/session/lists/growing-list.ts',
    tests: ['src/session/lists/growing-list.'],
    rows: [
      ['removed entries still counted', 'removeOldest', { piece: 'bytes -= entryBytes(entry)', becomes: 'void entry' }],
      [
        'list that lost entries behind its first one said to be only cut',
        'removeOldest',
        { piece: 'this.#isRewritten = true', becomes: 'this.#isRewritten = false' },
      ],
      [
        'removed entries of this turn taken for stored ones',
        'removeOldest',
        { piece: 'Math.min(removed.length, this.#stored.length - this.#removed)', becomes: 'removed.length' },
      ],
      [
        'bytes of the list before the change remembered',
        '#freeze',
        { piece: 'entries.slice(), this.bytes', becomes: 'entries.slice(), listBytes(this.#stored)' },
      ],
    ],
  },
  {
    file: 'src/session/lists/shared-lists.ts',
    tests: ['src/session/lists/shared-lists.bytes'],
    rows: [
      [
        'frozen list measured each time',
        'listBytes',
        { piece: 'if (known?.bytes !== undefined) return known.bytes', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/session/document-bytes.ts',
    tests: ['src/session/document-bytes.'],
    rows: [
      [
        'attachments left out of the count of bytes',
        'bytesOfLists',
        { piece: '+ listBytes(attachments)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/flow/conversation-memory.ts',
    tests: ['src/flow/conversation-memory.', 'src/session/document-bytes.'],
    rows: [
      [
        'bytes of attachments not counted as they are added',
        'addedBytes',
        { piece: 'this.#attachments?.addedBytes ?? 0', becomes: '0' },
      ],
      ['photo stored once for each memory', '#store', { piece: 'this.#references.set(part, reference)', becomes: '' }],
    ],
  },
  {
    file: 'src/session/attachments.ts',
    tests: ['src/session/attachments.', 'src/engine/flow-engine.older-layout.'],
    rows: [
      ['ID given twice, to other bytes', 'referencedIds', { piece: 'ids.add(part.attachment)', becomes: 'void part' }],
      ['same photo moved twice', 'withReferences', { piece: 'one.data === part.data', becomes: 'false' }],
      ['photo of another turn taken for the same', 'withReferences', { piece: 'one.turn === turn &&', becomes: '' }],
      ['attachments out of order', 'moveBytes', { piece: 'one.turn - other.turn', becomes: 'other.turn - one.turn' }],
      [
        'moved bytes not counted',
        'moveBytes',
        { piece: '...current, bytes: bytesOfLists(current)', becomes: '...current' },
      ],
      [
        'removed photo sent to a model as an image without bytes',
        'resolved',
        { piece: 'if (data === undefined)', becomes: 'if (false)' },
      ],
    ],
  },
  {
    file: 'src/session/layout-1.ts',
    tests: ['src/session/layout-1.', 'src/session/session-codec.'],
    rows: [
      [
        'session of layout 1 stored as layout 1 again',
        'toCurrentLayout',
        { piece: '...document, version: sessionLayoutVersion', becomes: '...document' },
      ],
      [
        'count of bytes of an older release kept',
        'toCurrentLayout',
        { piece: ', bytes: bytesOfLists(current)', becomes: '' },
      ],
      [
        'bytes of a former reply made the type of the step',
        'withCounts',
        { piece: '&& encoding === undefined', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/session/restore-session.ts',
    tests: ['src/engine/flow-engine.older-layout.'],
    rows: [
      ['bytes that onRestore added kept in their message', 'checkReturned', { piece: 'moveBytes(', becomes: '(' }],
      [
        'layout that onRestore returned kept',
        'checkReturned',
        { piece: 'moveBytes(toCurrentLayout(decoded))', becomes: 'moveBytes(decoded)' },
      ],
    ],
  },
  {
    file: 'src/session/store-access.ts',
    tests: ['src/session/store-access.', 'src/engine/flow-engine.same-turn.'],
    rows: [
      ["another engine's turn taken for the own one", 'judgeTurn', { piece: '&& entry.id === turn.id', becomes: '' }],
      [
        'turn that was removed since reported as a conflict',
        'judgeTurn',
        { piece: "first > turn.turn) return 'unknown'", becomes: "first > turn.turn) return 'conflict'" },
      ],
      [
        'turn under something unreadable reported as a conflict',
        'judgeTurn',
        { piece: "=== 'unreadable') return 'unknown'", becomes: "=== 'unreadable') return 'conflict'" },
      ],
      [
        'own turn not recognised at the start of a cut history',
        'judgeTurn',
        { piece: 'first > turn.turn', becomes: 'first >= turn.turn' },
      ],
    ],
  },
  {
    file: 'src/session/session-codec.ts',
    tests: ['src/session/session-codec.'],
    rows: [
      ['newer layout called malformed', 'refuseNewerLayout', { body: '' }],
      ['newer layout read', 'checkLayout', { body: '' }],
    ],
  },
  {
    file: 'src/engine/sessions/remove-session.ts',
    tests: ['src/engine/flow-engine.older-layout.', 'adapters/fetch/routes/'],
    rows: [
      [
        'session of a newer release deleted by its owner',
        'removeSession',
        { piece: 'options !== undefined', becomes: 'false' },
      ],
      [
        'session of a newer release not deleted by the application',
        'removeSession',
        {
          piece: 'if (options !== undefined) refuseNewerLayout',
          becomes: 'refuseNewerLayout',
        },
      ],
    ],
  },
  {
    file: 'adapters/fetch/routes/end.ts',
    tests: ['adapters/fetch/routes/'],
    rows: [
      [
        'session of a newer release deleted over HTTP',
        'endSession',
        { piece: 'ownerOf(caller)', becomes: '(caller === undefined ? undefined : ownerOf(caller))' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/commit/settle-turn-error.ts',
    tests: ['src/engine/flow-engine.session-bytes.', 'src/engine/flow-engine.limits.'],
    rows: [
      ['session aborted by one turn that was too large', 'goesOnAfter', { body: 'return error.code === undefined' }],
      [
        'session goes on after any limit',
        'goesOnAfter',
        { piece: "(error as LimitExceededError).limit === 'maxSessionBytes'", becomes: 'true' },
      ],
      [
        'session that a refused turn created reported as saved',
        'reportSettled',
        { piece: "isNew ? 'session:created' : 'session:saved'", becomes: "'session:saved'" },
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: ['src/engine/flow-engine.trimmed.'],
    rows: [
      [
        'what was removed can be changed by a listener',
        'commit',
        { piece: 'deepFreeze({ history, memory, attachments })', becomes: '{ history, memory, attachments }' },
      ],
      ['event of removed entries without any', 'commit', { piece: '!draft.removed.isEmpty &&', becomes: '' }],
    ],
  },
  {
    file: 'src/compaction/policy-compactor.ts',
    tests: ['src/compaction/policy-compactor.', 'src/engine/flow-engine.trimmed.'],
    rows: [
      [
        'messages that a window removes reported to nobody',
        'removeOldest',
        { statement: 'removed.addMessages(namespace, oldest)', becomes: '' },
      ],
      ['summary removed by a window', 'removeOldest', { piece: 'summaryLength(messages.list)', becomes: '0' }],
    ],
  },
  {
    file: 'src/engine/turn/draft/turn-draft.ts',
    tests: ['src/engine/turn/run-steps.one-reply.', 'src/engine/turn/run-steps.content-type.'],
    rows: [
      [
        'bytes of one reply made the type of the step',
        'TurnDraft.enter',
        { piece: '|| fields.encoding !== undefined', becomes: '' },
      ],
      [
        'type of a reply kept for the one in its place',
        'TurnDraft.enter',
        { piece: 'isOfOneReply && fields.reply === undefined', becomes: 'isOfOneReply' },
      ],
      [
        'type of a reply ignored',
        'TurnDraft.reply',
        { piece: '? this.nextReply : answer', becomes: '? this.nextReply : undefined' },
      ],
      [
        'type of a step forgotten at the end of the turn',
        'TurnDraft',
        { piece: 'this.stepContentType = base.flow.contentType', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/session/save-hint.ts',
    tests: ['src/engine/turn/run-turn.hint.', 'src/engine/flow-engine.older-layout.'],
    rows: [
      ['store not told of removed entries', 'hintOf', { piece: 'if (change.removed > 0)', becomes: 'if (false)' }],
      [
        'other attachments taken for the stored ones',
        'hasSameLists',
        { piece: "|| !isSame('attachments')", becomes: '' },
      ],
    ],
  },
]
