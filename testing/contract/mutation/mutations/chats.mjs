// Mutations of chats that a client names: pages of the AI SDK, and agents of AG-UI.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const chatMutations = [
  {
    file: 'adapters/chat/chat-sessions.ts',
    tests: ['adapters/ui-message/'],
    rows: [['chat found by its ID alone', 'nameOf', { piece: '[owner, flow, id]', becomes: '[flow, id]' }]],
  },
  {
    file: 'adapters/chat/chat-sessions.ts',
    tests: ['adapters/chat/'],
    rows: [
      [
        'chat in use forgotten before one that is not',
        'MemoryChatSessions.load',
        { statement: 'this.#set(name, sessionId)', becomes: '' },
      ],
      [
        'chat that is not known kept in place of another',
        'MemoryChatSessions.load',
        { condition: 'sessionId !== undefined', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'adapters/chat/chat-turns.ts',
    tests: ['adapters/ui-message/'],
    rows: [
      ['turn of a chat for nobody', 'ChatTurns.#begin', { piece: 'owner: chat.owner,', becomes: '' }],
      [
        'another key each time a message of a chat is sent',
        'keyOf',
        { piece: '[id, message.id]', becomes: '[id, message.id, Math.random()]' },
      ],
      [
        'session that the page brings ignored',
        'ChatTurns.#current',
        { piece: 'new Set([brought, kept])', becomes: 'new Set([kept])' },
      ],
      [
        'session that was kept before the one that the page brings',
        'ChatTurns.#choose',
        { piece: '[brought, kept]', becomes: '[kept, brought]' },
      ],
      [
        'session of a chat loaded where there is no choice',
        'ChatTurns.#current',
        { condition: 'named.length < 2', becomes: 'false' },
      ],
      [
        'message that waits for the turn before it',
        'ChatTurns.#current',
        { piece: 'of named', becomes: 'of before === undefined ? named : []' },
      ],
      [
        'session that has ended gone on with',
        'ChatTurns.#answers',
        { piece: "document.runStatus === 'running'", becomes: 'true' },
      ],
      [
        'message that ended its session run again in the next one',
        'hasAnswered',
        { piece: 'receipt.key === digest', becomes: 'false' },
      ],
      [
        'session of another owner gone on with',
        'ChatTurns.#answers',
        { piece: 'document !== undefined &&', becomes: 'document === undefined ||' },
      ],
      [
        'session that cannot be loaded left for another one',
        'ChatTurns.#answers',
        { statement: 'return true', becomes: 'return false' },
      ],
      [
        'chat that goes back to the session of a recorded reply',
        'ChatTurns.#keep',
        { condition: 'replayed === true', becomes: 'false' },
      ],
      [
        'message during the first turn of a chat in a session of its own',
        'sessionOfTurn',
        { piece: "session === '' ? undefined : session", becomes: 'undefined' },
      ],
      [
        'session of a turn that ends while the sessions of chats are read not found',
        'ChatTurns.#current',
        { piece: 'before && (await sessionOfTurn(before))', becomes: 'undefined' },
      ],
      [
        'message of an ended session run again in the one that the chat is in',
        'ChatTurns.#choose',
        { piece: 'claimed ?? sessionId', becomes: 'sessionId' },
      ],
      [
        'message of a turn shown twice while its session is kept',
        'ChatTurns.notIn',
        { piece: '!hasAnswered(document, key)', becomes: 'true' },
      ],
      [
        'two first messages of a chat at once in a session each',
        'ChatTurns.#begin',
        { piece: 'this.running(chat)', becomes: 'undefined' },
      ],
      [
        'message that comes twice at once begins two turns',
        'ChatTurns.send',
        { piece: 'same?.broadcast ?? this', becomes: 'this' },
      ],
      [
        'anything that was loaded taken for the session of a chat',
        'ChatTurns.#load',
        { condition: "typeof session === 'string' && isSessionId(session)", becomes: 'true' },
      ],
      [
        'wrong context of authorize shown to a page',
        'ChatTurns.#begin',
        { condition: 'request.serverContext !== undefined', becomes: 'false' },
      ],
      [
        'session of a chat not kept',
        'ChatTurns.#keep',
        { piece: 'this.#sessions.save(chat, session)', becomes: 'Promise.resolve()' },
      ],
      [
        'turn and reply that wait for ever for the sessions of chats',
        'inTime',
        { piece: 'Promise.race([work, late])', becomes: 'work' },
      ],
    ],
  },
  {
    file: 'adapters/chat/options.ts',
    tests: ['adapters/ui-message/'],
    rows: [
      [
        'chat handler for a flow that is not registered',
        'checkFlow',
        { piece: '!knowsFlows(engine) ||', becomes: 'true ||' },
      ],
      [
        'former name of a flow refused by a chat handler',
        'checkFlow',
        { piece: 'registeredName(engine, flow) !== undefined', becomes: 'engine.getFlowNames().includes(flow)' },
      ],
    ],
  },
  {
    file: 'adapters/chat/failure-text.ts',
    tests: ['adapters/ui-message/', 'adapters/ag-ui/'],
    rows: [
      [
        'idempotency key named to a page',
        'failureText',
        { piece: "error.code === 'IDEMPOTENCY_MISMATCH' && isEnginesOwn", becomes: 'false' },
      ],
      [
        'text of the application for a message that was answered before replaced',
        'failureText',
        { piece: 'response.message === error.message', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'adapters/chat/stop-route.ts',
    tests: ['adapters/ui-message/'],
    rows: [
      [
        'form of another site may stop a turn',
        'stopRoute.stop',
        { statement: 'checkContentType(request)', becomes: '' },
      ],
    ],
  },
  {
    file: 'adapters/chat/serve-chat.ts',
    tests: ['adapters/ui-message/'],
    rows: [
      [
        'Response of authorize that a chat cannot send not reported as an error',
        'createChatHandler.serve',
        { piece: 'replyOfAuthorize(caller, headers, report)', becomes: 'withCommonHeaders(caller, headers)' },
      ],
      [
        'body of a chat nested as deep as it likes',
        'createContext',
        { piece: 'engine.limits?.maxJsonDepth ?? defaultJsonDepth', becomes: 'Infinity' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/reply/heartbeat.ts',
    tests: ['adapters/chat/'],
    rows: [['timer of a stream that is not read on', 'start', { condition: '!this.#isWaiting', becomes: 'false' }]],
  },
  {
    file: 'adapters/chat/turn-broadcast.ts',
    tests: ['adapters/ui-message/'],
    rows: [
      [
        'turn read on from where it is, and not from its beginning',
        'TurnBroadcast.read',
        { piece: 'let index = 0', becomes: 'let index = this.#events.length' },
      ],
    ],
  },
  {
    file: 'adapters/ui-message/reply-chunks.ts',
    tests: ['adapters/ui-message/'],
    rows: [
      ['resumed reply not marked', 'chunksOf', { condition: 'form.resumes', becomes: 'false' }],
      [
        'stopped turn shown as an error',
        'ReplyWriter.#end',
        { piece: "event.error.code === 'TURN_ABORTED'", becomes: 'false' },
      ],
      ['text of a failed turn not marked', 'ReplyWriter.#end', { condition: '!isStopped', becomes: 'false' }],
      ['taken back text not marked', 'ReplyWriter.takeBack', { statement: "type: 'data-reset'", becomes: '' }],
    ],
  },
  {
    file: 'adapters/ui-message/transcript.ts',
    tests: ['adapters/ui-message/'],
    rows: [
      [
        'message of the transcript with another photo answered as before',
        'turnOf',
        { piece: 'addressesOf(kept ?? []) === addressesOf(parts)', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'adapters/ui-message/handler.ts',
    tests: ['adapters/ui-message/'],
    rows: [
      [
        'message of the transcript run again',
        'UiMessageRoutes.send',
        { condition: 'isStoredId(message.id)', becomes: 'false' },
      ],
      [
        'transcript without asking whose session it is',
        'UiMessageRoutes.#load',
        { piece: '{ owner, ...requestId }', becomes: 'requestId' },
      ],
    ],
  },
  {
    file: 'adapters/ag-ui/run-events.ts',
    tests: ['adapters/ag-ui/', 'testing/contract/ui-message/ag-ui'],
    rows: [
      [
        'text that was taken back stays with the agent',
        'RunWriter.takeBack',
        { statement: "type: 'MESSAGES_SNAPSHOT'", becomes: '' },
      ],
      [
        'text of a failed run stays with the agent',
        'RunWriter.#end',
        { condition: "event.error.code !== 'TURN_ABORTED'", becomes: 'false' },
      ],
      ['session not in the state of the agent', 'RunWriter.#end', { condition: "session !== ''", becomes: 'false' }],
    ],
  },
]
