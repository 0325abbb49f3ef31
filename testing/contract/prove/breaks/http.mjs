// Breaks of the HTTP adapters: replies, statuses, bodies, and what pages of other origins may do.

/** @type {import('../apply-break.mjs').BreakGroups} */
export const httpBreaks = [
  {
    file: 'adapters/fetch/reply/envelope.ts',
    tests: ['adapters/fetch/reply/envelope.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'failure sent raw',
        'return envelope(asPlain(response), form.failureStatus, headers)',
        'return new Response(response.message, { status: form.failureStatus, headers })',
      ],
      ['session header missing', 'headers[SESSION_HEADER] = session', ''],
      [
        'session header missing on failures',
        'addSessionHeaders(headers, response.session, form.dashed)',
        'if (response.success) addSessionHeaders(headers, response.session, form.dashed)',
      ],
      ['plain text sent raw', 'response.contentType && response.contentType !== PLAIN', 'response.contentType'],
    ],
  },
  {
    file: 'adapters/fetch/reply/raw.ts',
    tests: ['adapters/fetch/reply/envelope.', 'testing/contract/http/fetch-handler.'],
    rows: [['base64 sent as text', "if (encoding !== 'base64') return message", 'return message']],
  },
  {
    file: 'adapters/fetch/request/authorize.ts',
    tests: ['adapters/fetch/request/authorize.'],
    rows: [
      ['object that names nobody let in', 'if (unknown !== undefined) throw', 'if (false) throw'],
      ['caller without a principal let in', 'requirePrincipal && caller.principal === undefined', 'false'],
    ],
  },
  {
    file: 'adapters/fetch/reply/statuses.ts',
    tests: ['adapters/fetch/reply/statuses.', 'testing/contract/http/fetch-handler.'],
    rows: [['failure with another status than 400', "if (mode === 'contract') return 400", '']],
  },
  {
    file: 'adapters/fetch/cors.ts',
    tests: ['adapters/fetch/cors.', 'adapters/fetch/options.'],
    rows: [
      ['any origin with credentials', 'if (options.credentials === true)', 'if (false)'],
      ['session header hidden from pages', "headers['Access-Control-Expose-Headers'] = EXPOSED_HEADERS", ''],
      ['every origin allowed', 'if (origin === null || !allows(origin))', 'if (origin === null)'],
    ],
  },
  {
    file: 'adapters/fetch/request/body.ts',
    tests: ['adapters/fetch/request/body.'],
    rows: [
      ['body limit off for streams', 'if (length > maxBodyBytes)', 'if (false)'],
      ['body limit off for declared lengths', 'if (declared !== undefined && declared > maxBodyBytes)', 'if (false)'],
    ],
  },
  {
    file: 'adapters/fetch/request/headers.ts',
    tests: ['adapters/fetch/request/headers.'],
    rows: [['one of two session headers chosen', 'underscored !== dashed', 'false']],
  },
  {
    file: 'adapters/fetch/request/headers.ts',
    tests: ['adapters/fetch/request/headers.', 'testing/contract/http/fetch-handler.'],
    rows: [
      [
        'form of a foreign site runs a turn',
        "throw new Refusal('The request body must be sent as application/json.', 415)",
        'return',
      ],
    ],
  },
]
