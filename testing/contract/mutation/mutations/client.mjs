// Mutations of `turnkeeper/client`: keys, what is repeated, what a reload and a stop come to.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const clientMutations = [
  {
    file: 'adapters/client/chat-request.ts',
    tests: ['adapters/client/'],
    rows: [
      ['client sends no key', 'headersOf', { piece: "'Idempotency-Key': key,", becomes: '' }],
      [
        'client makes a key for each attempt',
        'headersOf',
        { piece: "'Idempotency-Key': key,", becomes: "'Idempotency-Key': crypto.randomUUID()," },
      ],
      ['client does not say which event came last', 'headersOf', { piece: "lastEventId === ''", becomes: 'true' }],
      [
        'a message that cannot be sent is sent again and again',
        'attempt',
        { piece: 'if (!isLost) yield', becomes: 'if (false) yield' },
      ],
      [
        'a token that the network lost fails the message',
        'attempt',
        { piece: 'body !== undefined && error instanceof TypeError', becomes: 'false' },
      ],
      [
        'client waits for ever on a dead connection',
        'attempt',
        { piece: 'const close = (): void => connection.abort()', becomes: 'const close = (): void => {}' },
      ],
    ],
  },
  {
    file: 'adapters/client/chat-server.ts',
    tests: ['adapters/client/'],
    rows: [
      [
        'stop, end and history wait for ever on a dead connection',
        'ask',
        { piece: "connection.abort(new Error('No reply came.'))", becomes: 'undefined' },
      ],
      ['end of a conversation fails with the page of a proxy', 'ask', { piece: '.catch(() => ({}))', becomes: '' }],
    ],
  },
  {
    file: 'adapters/client/send-message.ts',
    tests: ['adapters/client/'],
    rows: [
      ['client repeats what is refused', 'mayPass', { piece: ' && !refusals.includes(code)', becomes: '' }],
      ['client tries for ever', 'sendMessage', { piece: 'number < maxAttempts && ', becomes: '' }],
      ['client repeats what was stopped', 'sendMessage', { piece: ' && !stopped.aborted', becomes: '' }],
    ],
  },
  {
    file: 'adapters/client/attachment-of.ts',
    tests: ['adapters/client/'],
    rows: [
      ['a file keeps the parameters of its type', 'attachmentOf', { piece: ".split(';')", becomes: ".split('\\n')" }],
      ['a photo is sent as a file', 'attachmentOf', { piece: "'image/'", becomes: "'picture/'" }],
    ],
  },
  {
    file: 'adapters/client/chat.ts',
    tests: ['adapters/client/', 'testing/contract/browser/retries.'],
    rows: [
      [
        'stopped said of a message whose turn nobody cancelled',
        '#run',
        { piece: '(!entry.isSent || (await entry.cancelled))', becomes: 'true' },
      ],
      [
        'chat replaces its session by an empty one',
        '#settle',
        { piece: "isOver ? '' : session || had", becomes: "isOver ? '' : session" },
      ],
      [
        'chat begins a second conversation in the first turn',
        '#run',
        { piece: "conversation.session === ''", becomes: 'false' },
      ],
      [
        'chat goes back to the conversation that was started over',
        '#settle',
        { statement: 'if (conversation !== this.#conversation) return', becomes: 'this.#conversation = conversation' },
      ],
      [
        'a message of an earlier conversation goes to the next one',
        '#run',
        {
          piece: 'message.session ??= conversation.session',
          becomes: 'message.session ??= this.#conversation.session',
        },
      ],
      ['stop only leaves', '#cancel', { piece: "session === ''", becomes: 'true' }],
      ['chat repeats a recorded failure', 'messageToRepeat', { piece: "sessionState === 'aborted' || ", becomes: '' }],
      [
        'history shows a turn twice that waits for its reply',
        'history',
        { piece: "status !== 'waiting'", becomes: 'true' },
      ],
      [
        'history shows a turn twice that was stored meanwhile',
        'history',
        { piece: 'if (isBusy)', becomes: 'if (false)' },
      ],
      ['history loses a turn that is being read', '#run', { piece: 'return turn', becomes: 'return this.#turn(id)' }],
      [
        'history takes the turns that are not answered away',
        '#showStored',
        { piece: 'withOpenTurns(turns, this.#state.turns)', becomes: '[...turns]' },
      ],
      [
        'history puts the turns that are not answered last',
        'withOpenTurns',
        { piece: 'if (place > 0) place--', becomes: 'if (false) place--' },
      ],
      ['chat keeps what has an outcome', '#keep', { piece: 'this.#hasNoOutcome(id) && ', becomes: '' }],
      [
        'chat writes its attachments at each piece of a reply',
        '#keep',
        { statement: 'if (summary === this.#kept) return', becomes: '' },
      ],
      ['chat holds turns that it no longer shows', '#take', { piece: '.then(() => {})', becomes: '' }],
    ],
  },
]
