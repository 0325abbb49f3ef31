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
        { piece: 'missingPrincipal === undefined || caller.principal !== undefined', becomes: 'true' },
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
      [
        'precise status without the option',
        'statusOfRefusal',
        { piece: "mode === 'precise' || preciseStatus === 404", becomes: 'true' },
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
      [
        'attachments of a request forgotten',
        'inputOf',
        { piece: 'input.attachments = attachments', becomes: 'void attachments' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/request/body.ts',
    tests: ['adapters/fetch/request/body.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'attachments that are not a list passed to the engine',
        'readRunBody',
        { condition: '!Array.isArray(attachments)', becomes: 'false' },
      ],
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
    ],
  },
  {
    file: 'adapters/fetch/request/wait-until.ts',
    tests: ['adapters/fetch/wait-until.', 'adapters/hono/index.'],
    rows: [
      [
        'waitUntil called without its runtime',
        'waitUntilOf',
        { statement: 'return (work) =>', becomes: 'return runtime.waitUntil as WaitUntil' },
      ],
      ['error of waitUntil lost', 'keepAlive', { statement: 'report(error)', becomes: '' }],
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
    file: 'adapters/fetch/routes/served-routes.ts',
    tests: ['testing/contract/http/fetch-handler.'],
    rows: [
      [
        'health served without the option',
        'servedRoutes',
        { piece: 'Boolean(options[option])', becomes: "option === 'health' || Boolean(options[option])" },
      ],
      [
        'OpenAPI document served without the option',
        'servedRoutes',
        { piece: 'Boolean(options[option])', becomes: "option === 'openApi' || Boolean(options[option])" },
      ],
    ],
  },
  {
    file: 'adapters/fetch/routes/openapi.ts',
    tests: ['testing/contract/http/fetch-handler.', 'adapters/fetch/openapi/'],
    rows: [
      [
        'OpenAPI document at another path than that of the client',
        'sendDocument',
        { piece: "path.slice(0, path.lastIndexOf('/')) || '/'", becomes: "'/ai'" },
      ],
      [
        'HEAD of the OpenAPI document has a body',
        'sendDocument',
        {
          piece: "request.method === 'HEAD' ? new Response(null, { headers: reply.headers }) : reply",
          becomes: 'reply',
        },
      ],
    ],
  },
  {
    file: 'adapters/openapi/operations.ts',
    tests: ['testing/contract/openapi/replies.', 'adapters/fetch/openapi/'],
    rows: [
      [
        'OpenAPI: statuses of the contract in place of the precise ones',
        'failuresOf',
        { piece: "mode === 'precise' ? preciseStatuses[code] : 400", becomes: '400' },
      ],
      [
        'OpenAPI: status of a full queue missing',
        'failuresOf',
        { piece: "code === 'LIMIT_EXCEEDED'", becomes: 'false' },
      ],
      [
        'OpenAPI: status of a wrong method missing',
        'failuresOf',
        { piece: '[...refusals, 404, 405, 500]', becomes: '[...refusals, 404, 500]' },
      ],
      [
        'OpenAPI: headers of the application missing',
        'formHeaders',
        { piece: '...Object.keys(rawHeaders).filter((name) => rawHeaders[name] !== null),', becomes: '' },
      ],
      [
        'OpenAPI: header of a new session that answers missing',
        'turnHeaders',
        { piece: ', restartedHeader', becomes: '' },
      ],
      [
        'OpenAPI: Retry-After missing',
        'headersAt',
        { piece: "isPassing(status) ? ['Retry-After'] : []", becomes: '[]' },
      ],
      [
        'OpenAPI: preflight says what pages can read',
        'createPreflight',
        { piece: "name !== 'Access-Control-Expose-Headers'", becomes: 'true' },
      ],
    ],
  },
  {
    file: 'adapters/openapi/document.ts',
    tests: ['testing/contract/openapi/replies.', 'adapters/fetch/openapi/'],
    rows: [
      [
        'OpenAPI: preflight where no other origin may call',
        'createDocument',
        { condition: 'options.cors !== undefined', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'adapters/openapi/schemas.ts',
    tests: ['testing/contract/openapi/replies.', 'adapters/fetch/openapi/'],
    rows: [
      [
        'OpenAPI: field of a stored turn missing',
        'schemas',
        { piece: "at: { type: 'string', format: 'date-time' },", becomes: '' },
      ],
      [
        'OpenAPI: code of a streamed failure missing',
        'events',
        { piece: "code: schemaOf('ErrorCode'), ", becomes: '' },
      ],
      [
        'OpenAPI: events that name steps and tools, which are not sent',
        'createSchemas',
        { piece: 'details ||', becomes: 'true ||' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/routes/session.ts',
    tests: ['testing/contract/http/fetch-handler.'],
    rows: [
      ["another owner's conversation shown", 'loadOwn', { piece: '{ ...owner, requestId }', becomes: '{ requestId }' }],
      [
        'conversation of a flow shown that the caller may not run',
        'loadOwn',
        { condition: 'mayRun === undefined', becomes: 'true' },
      ],
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
