// Mutations of the HTTP adapters: replies, statuses, bodies, and what pages of other origins may do.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const httpMutations = [
  {
    file: 'adapters/fetch/reply/envelope.ts',
    tests: ['adapters/fetch/reply/envelope.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'failure sent raw',
        'replyToRun',
        {
          piece: 'return envelope(asPlain(response), form.failureStatus, headers)',
          becomes: 'return new Response(response.message, { status: form.failureStatus, headers })',
        },
      ],
      ['session header missing', 'addSessionHeaders', { piece: 'headers[sessionHeader] = session', becomes: '' }],
      [
        'session header missing on failures',
        'replyToRun',
        {
          piece: 'addSessionHeaders(headers, response.session, form.dashed)',
          becomes: 'if (response.success) addSessionHeaders(headers, response.session, form.dashed)',
        },
      ],
      [
        'plain text sent raw',
        'replyToRun',
        { piece: 'response.contentType && response.contentType !== plainType', becomes: 'response.contentType' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/reply/raw.ts',
    tests: ['adapters/fetch/reply/envelope.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'base64 sent as text',
        'rawBody',
        { piece: "if (encoding !== 'base64') return message", becomes: 'return message' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/request/authorize.ts',
    tests: ['adapters/fetch/request/authorize.'],
    rows: [
      [
        'object that names nobody let in',
        'callerFrom',
        { piece: 'if (unknown !== undefined) throw', becomes: 'if (false) throw' },
      ],
      [
        'caller without a principal let in',
        'askAuthorize',
        { piece: '!requirePrincipal || caller.principal !== undefined', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/reply/statuses.ts',
    tests: ['adapters/fetch/reply/statuses.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'failure with another status than 400',
        'statusOf',
        { piece: "if (mode === 'contract') return 400", becomes: '' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/cors.ts',
    tests: ['adapters/fetch/cors.', 'adapters/fetch/options.'],
    rows: [
      [
        'any origin with credentials',
        'checkCors',
        { piece: 'if (options.credentials === true)', becomes: 'if (false)' },
      ],
      [
        'session header hidden from pages',
        'headersFor',
        { piece: "headers['Access-Control-Expose-Headers'] = exposedHeaders", becomes: '' },
      ],
      [
        'every origin allowed',
        'originHeaders',
        { piece: 'if (origin === null || !allows(origin))', becomes: 'if (origin === null)' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/request/body.ts',
    tests: ['adapters/fetch/request/body.'],
    rows: [
      ['body limit off for streams', 'readCounted', { piece: 'if (length > maxBodyBytes)', becomes: 'if (false)' }],
      [
        'body limit off for declared lengths',
        'createBodyReader',
        { piece: 'if (declared !== undefined && declared > maxBodyBytes)', becomes: 'if (false)' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/request/headers.ts',
    tests: ['adapters/fetch/request/headers.'],
    rows: [
      ['one of two session headers chosen', 'readSessionHeader', { piece: 'underscored !== dashed', becomes: 'false' }],
    ],
  },
  {
    file: 'adapters/fetch/request/headers.ts',
    tests: ['adapters/fetch/request/headers.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'form of a foreign site runs a turn',
        'checkContentType',
        { piece: "throw new Refusal('The request body must be sent as application/json.', 415)", becomes: 'return' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/reply/stream.ts',
    tests: ['adapters/fetch/reply/stream.'],
    rows: [
      [
        'streamed turn goes on after the client has gone',
        'cancel',
        { statement: 'await this.#source.events.return()', becomes: '' },
      ],
      ['pieces of a stream read ahead', 'createStreamBody', { piece: 'highWaterMark: 0', becomes: 'highWaterMark: 1' }],
    ],
  },
  {
    file: 'adapters/fetch/reply/refusal.ts',
    tests: ['adapters/fetch/reply/refusal.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'precise status without the option',
        'createRefusalReply',
        { piece: "statuses === 'precise' || isAboutRoute", becomes: 'true' },
      ],
      [
        'more of a body that is too long read than allowed',
        'drain',
        { piece: 'drained < maxDrainBytes', becomes: 'drained < 2 * maxDrainBytes' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/routes/run.ts',
    tests: ['adapters/fetch/handler.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'turn goes on after the client has gone',
        'inputOf',
        { statement: 'input.signal = request.signal', becomes: '' },
      ],
      ['caller of a request forgotten', 'inputOf', { statement: 'input.owner = principal', becomes: '' }],
    ],
  },
  {
    file: 'adapters/fetch/route-handler.ts',
    tests: ['adapters/fetch/wait-until.', 'adapters/hono/index.'],
    rows: [
      [
        'waitUntil of the runtime ignored',
        'createRouteHandler',
        { piece: 'waitUntilOf(runtime) ?? options.waitUntil', becomes: 'options.waitUntil' },
      ],
      [
        'waitUntil called without its runtime',
        'waitUntilOf',
        { statement: 'return (work) =>', becomes: "return context.waitUntil as FlowRoutesOptions['waitUntil']" },
      ],
    ],
  },
  {
    file: 'adapters/fetch/reply/outcome.ts',
    tests: ['adapters/fetch/reply/outcome.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'state of the session missing from replies',
        'addOutcomeHeaders',
        { statement: 'headers[stateHeader]', becomes: '' },
      ],
      ['code of a failure missing', 'addOutcomeHeaders', { piece: '!result.response.success', becomes: 'false' }],
      [
        'new session in place of another not told',
        'addOriginHeaders',
        { piece: 'restarted !== undefined', becomes: 'false' },
      ],
      [
        'made-up state of an object in front of the engine sent',
        'stateOf',
        { piece: 'states.has(result.sessionState)', becomes: 'true' },
      ],
      [
        'made-up code of an object in front of the engine sent',
        'codeOf',
        {
          piece: "typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code)",
          becomes: "typeof code === 'string'",
        },
      ],
    ],
  },
  {
    file: 'adapters/fetch/reply/event-stream.ts',
    tests: ['adapters/fetch/reply/event-stream.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        "state missing from a stream's last event",
        'outcomeOf',
        { piece: 'sessionState: stateOf(event),', becomes: '' },
      ],
      ["code missing from a stream's error", 'dataOf', { piece: 'code: codeOf(event.error)', becomes: '' }],
    ],
  },
  {
    file: 'adapters/fetch/request/headers.ts',
    tests: ['adapters/fetch/reply/outcome.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'refused request ends its session',
        'stateOfRequest',
        { piece: "isSessionId(sent) ? 'unknown' : 'none'", becomes: "'none'" },
      ],
    ],
  },
  {
    file: 'adapters/fetch/routes/end.ts',
    tests: ['adapters/fetch/reply/outcome.', 'testing/contract/http/fetch-handler.'],
    rows: [['code of a failed delete missing', 'endSession', { piece: '[codeHeader]: codeOf(error)', becomes: '' }]],
  },
  {
    file: 'adapters/fetch/routes/health.ts',
    tests: ['testing/contract/http/fetch-handler.'],
    rows: [
      [
        'health answers 200 while the engine is not ready',
        'answerHealth',
        { piece: 'ready.ready === false ? 503 : 200', becomes: '200' },
      ],
      [
        'a probe for live asks the store',
        'answerHealth',
        { piece: 'asksForLive(request.url) ? {} : ', becomes: 'asksForLive(request.url);' },
      ],
      [
        'a misspelt check taken for ready',
        'asksForLive',
        { piece: "(check !== 'live' && check !== 'ready')", becomes: 'false' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/route-handler.ts',
    tests: ['testing/contract/http/fetch-handler.'],
    rows: [['authorize called for a probe', 'serve', { condition: "route === 'health'", becomes: 'false' }]],
  },
  {
    file: 'adapters/fetch/handler.ts',
    tests: ['testing/contract/http/fetch-handler.'],
    rows: [
      [
        'health served without the option',
        'createFetchHandler',
        { condition: 'options.health === true', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'testing/contract/http/documented-chat.ts',
    tests: ['testing/contract/http/documented-chat.'],
    rows: [
      [
        'client throws its session away at a failure',
        'Chat.say',
        {
          piece: "['completed', 'aborted', 'none'].includes(state)",
          becomes: "response.headers.get('Chat-Completed') === 'true'",
        },
      ],
      [
        'client offers a new conversation in an outage of the store',
        'Chat.say',
        { piece: "state === 'running' && failure !== null", becomes: 'failure !== null' },
      ],
    ],
  },
  {
    file: 'examples/server/page/page.js',
    tests: ['testing/contract/browser/kept-conversation.'],
    rows: [
      [
        'page replaces its session by an empty one',
        'followSession',
        { piece: "hasEnded ? '' : session || kept.session", becomes: "hasEnded ? '' : session" },
      ],
      [
        'page offers a new conversation in an outage of the store',
        'settle',
        { piece: "success || outcome.sessionState !== 'running'", becomes: 'success' },
      ],
    ],
  },
  {
    file: 'examples/server/page/send-message.js',
    tests: ['examples/server/page/send-message.', 'testing/contract/browser/retries.'],
    rows: [
      ['page sends no key', 'attemptOf', { piece: "'Idempotency-Key': key,", becomes: '' }],
      [
        'page makes a key for each attempt',
        'attemptOf',
        { piece: "'Idempotency-Key': key,", becomes: "'Idempotency-Key': crypto.randomUUID()," },
      ],
      ['page does not say which event came last', 'attemptOf', { piece: "lastEventId === ''", becomes: 'true' }],
      ['page repeats what is refused', 'isToBeRepeated', { piece: ' && !refusals.includes(data.code)', becomes: '' }],
      ['page tries for ever', 'sendMessage', { piece: 'attempt < maxAttempts && ', becomes: '' }],
    ],
  },
  {
    file: 'examples/server/page/page.js',
    tests: ['testing/contract/browser/retries.'],
    rows: [
      [
        'page begins a second conversation in the first turn',
        'takeTurn',
        { piece: "message.session === undefined && kept.session === ''", becomes: 'false' },
      ],
      ['page forgets what has no outcome', 'keep', { piece: 'JSON.stringify(kept)', becomes: "'null'" }],
      ['Stop of the page only leaves', 'cancel', { piece: "session === ''", becomes: 'true' }],
    ],
  },
  {
    file: 'examples/terminal/talk.ts',
    tests: ['examples/terminal/talk.'],
    rows: [
      [
        'terminal throws its session away at a failure',
        'nextSession',
        { condition: "sessionState === 'aborted'", becomes: '!response.success' },
      ],
    ],
  },
  {
    file: 'testing/msw/scripted-service.ts',
    tests: ['testing/contract/msw/failures.'],
    rows: [
      [
        'script cannot say what a failure leaves',
        'ScriptedService.#fail',
        { piece: 'turn.sessionState ?? stateAfter(error)', becomes: 'stateAfter(error)' },
      ],
    ],
  },
]
