// Mutations of what keeps the routes safe to expose: bodies, flows that a caller may not run, IDs of requests, headers.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const wireMutations = [
  {
    file: 'adapters/fetch/request/body.ts',
    tests: ['adapters/fetch/request/body.', 'adapters/fetch/request/arrived-body.'],
    rows: [
      [
        'body trusted for its declared length',
        'createBodyReader.readBytes',
        { piece: 'await readStream(request.body)', becomes: 'new Uint8Array(await request.arrayBuffer())' },
      ],
      [
        'body that may take for ever',
        'createBodyReader.readStream',
        { piece: 'bodyTimeoutMs === Number.POSITIVE_INFINITY', becomes: 'true' },
      ],
      ['timer of a body left behind', 'createBodyReader.readStream', { piece: 'clearTimeout(timer)', becomes: '{}' }],
      [
        'body read twice taken for an empty one',
        'createBodyReader.readBytes',
        { piece: 'request.bodyUsed', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/request/arrived-body.ts',
    tests: ['adapters/fetch/request/arrived-body.', 'testing/contract/http/sockets.'],
    rows: [
      [
        'body taken before it is there',
        'takeArrivedBody',
        { piece: ' || message.readableLength !== declared', becomes: '' },
      ],
      [
        'body taken from another reader',
        'takeArrivedBody',
        { piece: 'message?.readableFlowing !== null || message', becomes: 'message === null || message?' },
      ],
      [
        'body that has arrived read as a stream',
        'takeArrivedBody',
        { piece: 'if (bytes instanceof Uint8Array) return bytes', becomes: '' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/reply/refusal.ts',
    tests: ['adapters/fetch/reply/refusal.'],
    rows: [
      [
        'rest of a body waited for without end',
        'createDrainingBody',
        { piece: 'timer = setTimeout(cancelRest, maxDrainMs)', becomes: '{}' },
      ],
      [
        'reply kept open until the rest of a split body is cancelled',
        'drain',
        { statement: 'cancelRest()', becomes: 'await reader?.cancel()' },
      ],
    ],
  },
  {
    file: 'src/util/patterns.ts',
    tests: ['src/util/patterns.'],
    rows: [
      ['JSON pattern without its beginning', 'jsonMediaType', { piece: '/^application', becomes: '/application' }],
      ['JSON pattern without its end', 'jsonMediaType', { piece: ')$/i', becomes: ')/i' }],
    ],
  },
  {
    file: 'adapters/fetch/routes/run.ts',
    tests: ['adapters/fetch/authorize-flow.'],
    rows: [
      [
        'former name of a flow not asked for',
        'runTurn',
        {
          piece: 'if (flowName === undefined) return answer(context, routed, session, body, true)',
          becomes: 'if (flowName === undefined) return answer(context, routed, session, body)',
        },
      ],
      [
        'flow run that the caller may not run',
        'runTurn',
        { piece: 'await mayRun(caller?.principal, flowName, request)', becomes: 'true' },
      ],
      [
        'refused flow reported without its caller',
        'runTurn',
        { piece: 'caller?.principal === undefined', becomes: 'true' },
      ],
      ['refused flow not reported', 'runTurn', { piece: 'reportRefused({', becomes: 'void ({' }],
    ],
  },
  {
    file: 'adapters/fetch/routes/flows.ts',
    tests: ['adapters/fetch/authorize-flow.'],
    rows: [['list of all flows', 'listFlows', { piece: 'answers === undefined', becomes: 'true' }]],
  },
  {
    file: 'src/engine/core/registered-name.ts',
    tests: ['src/engine/flow-engine.request-id.', 'adapters/fetch/authorize-flow.'],
    rows: [['hidden flow run', 'registeredName', { piece: 'hideFlow === true ||', becomes: '' }]],
  },
  {
    file: 'src/engine/turn/execute-turn.ts',
    tests: ['src/engine/flow-engine.request-id.', 'adapters/fetch/authorize-flow.'],
    rows: [['hidden flow replayed', 'keyedName', { piece: 'hideFlow === true', becomes: 'false' }]],
  },
  {
    file: 'adapters/fetch/request/request-id.ts',
    tests: ['adapters/fetch/every-reply.'],
    rows: [['any text echoed as the ID of a request', 'requestIdOf', { piece: '&& isRequestId(sent)', becomes: '' }]],
  },
  {
    file: 'adapters/fetch/route-handler.ts',
    tests: ['adapters/fetch/every-reply.', 'adapters/fetch/authorize-flow.'],
    rows: [
      [
        'refusal by authorize not reported',
        'createRouteHandler.serve',
        { piece: "context.reportRefused({ requestId, route, reason: 'response', status: reply.status })", becomes: '' },
      ],
      [
        'reply of authorize without the headers',
        'createRouteHandler.serve',
        { piece: 'replyOfAuthorize(who, headers, report)', becomes: 'who' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/request/authorize.ts',
    tests: ['adapters/fetch/every-reply.', 'adapters/fetch/authorize-flow.'],
    rows: [
      [
        'reply of authorize that cannot be sent not reported as an error',
        'replyOfAuthorize',
        { piece: "new AuthorizationRefusal('error')", becomes: 'error' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/reply/common-headers.ts',
    tests: ['adapters/fetch/every-reply.'],
    rows: [['replies that caches keep', 'safeHeaders', { piece: "'Cache-Control': 'no-store',", becomes: '' }]],
  },
  {
    file: 'adapters/fetch/reply/stream.ts',
    tests: ['adapters/fetch/streaming.'],
    rows: [
      [
        'stream names steps and tools',
        'StreamBody.#isSent',
        { piece: 'this.#source.details || ', becomes: 'true || ' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/control/turn-control.ts',
    tests: ['src/engine/flow-engine.request-id.'],
    rows: [
      [
        'events without the ID of the request',
        'TurnControl.ids',
        { piece: '...(requestId === undefined ? {} : { requestId })', becomes: '' },
      ],
    ],
  },
]
