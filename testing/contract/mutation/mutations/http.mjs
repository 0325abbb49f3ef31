// Mutations of the HTTP adapters: replies, statuses, bodies, and what pages of other origins may do.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const httpMutations = [
  {
    file: 'adapters/fetch/reply/reply.ts',
    tests: ['adapters/fetch/reply/reply.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'failure sent raw',
        'replyToRun',
        {
          piece: 'return envelope(asPlain(response), form.failureStatus, headers)',
          becomes: 'return new Response(response.message, { status: form.failureStatus, headers })',
        },
      ],
      ['session header missing', 'addSessionHeaders', { piece: 'headers[SESSION_HEADER] = session', becomes: '' }],
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
        { piece: 'response.contentType && response.contentType !== PLAIN', becomes: 'response.contentType' },
      ],
      [
        'base64 sent as text',
        'rawBody',
        { piece: "if (encoding !== 'base64') return message", becomes: 'return message' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/gather.ts',
    tests: ['adapters/fetch/gather.', 'adapters/fetch/handler.'],
    rows: [
      [
        'turns that go one by one',
        'letGo',
        { piece: 'waiting.splice(0, mostAtOnce)', becomes: 'waiting.splice(0, 1)' },
      ],
      [
        'turn that does not wait for what has arrived',
        'createGathering',
        { piece: 'askToBeLetGo(letGo)', becomes: 'letGo()' },
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
        { piece: "headers['Access-Control-Expose-Headers'] = EXPOSED_HEADERS", becomes: '' },
      ],
      [
        'every origin allowed',
        'originHeaders',
        { piece: 'if (origin === null || !allows(origin))', becomes: 'if (origin === null)' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/request/read-body.ts',
    tests: ['adapters/fetch/request/read-body.'],
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
    file: 'adapters/fetch/request/session-header.ts',
    tests: ['adapters/fetch/request/session-header.'],
    rows: [
      ['one of two session headers chosen', 'readSessionHeader', { piece: 'underscored !== dashed', becomes: 'false' }],
    ],
  },
  {
    file: 'adapters/fetch/request/read-run-body.ts',
    tests: ['adapters/fetch/request/read-run-body.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'form of a foreign site runs a turn',
        'checkContentType',
        { piece: "throw new Refusal('The request body must be sent as application/json.', 415)", becomes: 'return' },
      ],
    ],
  },
]
