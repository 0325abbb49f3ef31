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
      [
        'client does not say which event came last',
        'headersOf',
        { piece: "'Last-Event-ID': lastEventId,", becomes: '' },
      ],
      [
        'a message that cannot be sent is sent again and again',
        'attempt',
        { piece: '!isSent && !(', becomes: 'false && !(' },
      ],
      [
        'a token that the network lost fails the message',
        'attempt',
        { piece: '!(error instanceof TypeError)', becomes: 'true' },
      ],
      [
        'a message counts as sent before there is a request',
        'attempt',
        { piece: 'let isSent = false', becomes: 'let isSent = false; delivery.mayBeStored = true' },
      ],
      [
        'a conversation that takes the place of another one has no config',
        'bodyOf',
        { piece: 'attachments, config })', becomes: 'attachments })' },
      ],
      [
        'client sends what was stopped while its headers were made',
        'attempt',
        { piece: 'stopped.aborted', becomes: 'false' },
      ],
      ['a server has less time to answer where headers took long', 'attempt', { statement: 'onBytes()', becomes: '' }],
    ],
  },
  {
    file: 'adapters/client/chat-server.ts',
    tests: ['adapters/client/'],
    rows: [
      [
        'client waits for ever on a dead connection',
        'openConnection',
        { piece: 'connection.abort(reason)', becomes: 'void reason' },
      ],
      ['a connection that has ended keeps its timer', 'ask', { statement: 'close()', becomes: '' }],
      ['client waits for ever for headers', 'ChatServer.headers', { piece: 'closed(reject)', becomes: 'undefined' }],
      [
        'a path outside of a page is taken for a lost network',
        'ChatServer.headers',
        { piece: 'new Request(this.#url)', becomes: '{}' },
      ],
      [
        'headers that cannot be sent are taken for a lost network',
        'ChatServer.headers',
        {
          statement: '{ cause: error }',
          becomes: 'throw error',
        },
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
      [
        'a failure after which the turn may be stored says nothing of it',
        'isInDoubt',
        { piece: 'mayPass(outcome) ||', becomes: '' },
      ],
      [
        'a refusal is taken for the outcome of an earlier attempt',
        'isInDoubt',
        { piece: "(wasSent && ['unknown', 'none'].includes(outcome.sessionState))", becomes: 'false' },
      ],
      ['a pause that was left keeps its timer', 'pause', { statement: 'clearTimeout(timer)', becomes: '' }],
      [
        'client does not wait for a browser that is offline',
        'pause',
        { piece: 'onLine === false', becomes: 'onLine === 0' },
      ],
    ],
  },
  {
    file: 'adapters/client/chat-listeners.ts',
    tests: ['adapters/client/'],
    rows: [['a listener sees an earlier state last', 'notify', { piece: 'if (!isNewest()) return', becomes: '' }]],
  },
  {
    file: 'adapters/client/chat-options.ts',
    tests: ['adapters/client/'],
    rows: [
      [
        'a chat is made with a URL that nobody can read',
        'checkOptions',
        { piece: 'check(isUrl(url)', becomes: 'check(true' },
      ],
    ],
  },
  {
    file: 'adapters/client/chat-storage.ts',
    tests: ['adapters/client/'],
    rows: [
      [
        'chat writes its attachments at each piece of a reply',
        'keep',
        { statement: 'if (summary === this.#summary) return', becomes: '' },
      ],
    ],
  },
  {
    file: 'adapters/client/stored-turns.ts',
    tests: ['adapters/client/'],
    rows: [
      [
        'history puts the turns that are not answered last',
        'withOpenTurns',
        { piece: 'if (place > 0) place--', becomes: 'if (false) place--' },
      ],
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
      ['stopped said of a message whose turn may be stored', '#run', { piece: ' && !entry.mayBeStored', becomes: '' }],
      [
        'failed said of a message whose turn may be stored',
        '#receive',
        { piece: 'event, entry.mayBeStored)', becomes: 'event, false)' },
      ],
      [
        'an outcome of an earlier session takes the newer one from the conversation',
        '#settle',
        { piece: "sent !== had && (had !== '' || session === sent)", becomes: 'false' },
      ],
      [
        'what was refused is tried again in the session that it was sent to',
        'messageToRepeat',
        { piece: '{ session: _sent, ...message }: ChatMessage', becomes: 'message: ChatMessage' },
      ],
      [
        'a message changes with the objects of its page',
        'send',
        {
          piece: 'JSON.parse(',
          becomes:
            '((_copy: string) => ({ key: crypto.randomUUID(), text: message, attachments, config: this.#options.config }))(',
        },
      ],
      [
        'a message goes to a session that is being deleted',
        'send',
        { piece: 'ending !== undefined', becomes: 'false' },
      ],
      [
        'history takes a message away that was answered meanwhile',
        'history',
        { piece: ' || this.#hasAnsweredBeside(before)', becomes: '' },
      ],
      [
        'a reload forgets that a message was sent',
        '#addEntry',
        { piece: 'mayBeStored: message.session !== undefined', becomes: 'mayBeStored: false' },
      ],
      [
        'a repeat forgets that its message was sent',
        'retry',
        {
          piece: 'this.#addEntry(entry.message,',
          becomes: 'this.#addEntry({ ...entry.message, session: undefined } as never,',
        },
      ],
      [
        'a message is sent again with the config of another page',
        '#run',
        {
          piece: 'message.session ??= conversation.session',
          becomes: 'message.session ??= conversation.session; Object.assign(message, { config: this.#config })',
        },
      ],
      [
        'stop leaves the messages that wait on the server',
        'stop',
        {
          piece: 'if (isCancelled || (await entry.cancelled)) isAnyCancelled = true',
          becomes: 'if (isCancelled || (await entry.cancelled)) return true',
        },
      ],
      [
        'stop does not wait for a message that has only just been sent',
        'stop',
        { piece: 'if (!isCancelled) await', becomes: 'if (false) await' },
      ],
      [
        'chat replaces its session by an empty one',
        '#settle',
        { piece: 'outcome.session || sent', becomes: 'outcome.session' },
      ],
      [
        'chat begins a second conversation in the first turn',
        '#run',
        { piece: "conversation.session === ''", becomes: 'false' },
      ],
      [
        'chat goes back to the conversation that was started over',
        '#settle',
        { piece: 'conversation.said = {', becomes: 'this.#conversation = conversation; conversation.said = {' },
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
        { piece: 'if (!this.#hasAnsweredBeside(turns)) break', becomes: 'break' },
      ],
      [
        'history takes the turns that are not answered away',
        'history',
        { piece: 'withOpenTurns(turns, this.#state.turns)', becomes: '[...turns]' },
      ],
      [
        'chat keeps what has an outcome',
        '#change',
        { piece: "(isUnderWay(turn) || turn.status === 'unanswered')", becomes: 'true' },
      ],
      [
        'end takes a conversation away that began meanwhile',
        '#end',
        { piece: 'conversation === this.#conversation', becomes: 'true' },
      ],
      [
        'resume rejects where a newer message took the place of a turn',
        'resume',
        { piece: 'this.#repeatable()', becomes: 'this.#state.turns.map((turn) => ({ turn }))' },
      ],
      [
        'what may be stored is sent to another session',
        '#settle',
        { piece: 'else if (!entry.mayBeStored) entry', becomes: 'else entry' },
      ],
      [
        'an attachment that is not in a list is left out',
        'send',
        { piece: '!Array.isArray(attachments) ||', becomes: '!attachments.some ? false :' },
      ],
      ['chat holds turns that it no longer shows', '#take', { piece: '.then(() => {})', becomes: '' }],
    ],
  },
]
