// Mutations of `turnkeeper/node` and of what is said to those who begin.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const frameworkMutations = [
  {
    file: 'adapters/node/index.ts',
    tests: ['adapters/node/'],
    rows: [
      [
        'listener of Node takes the path that a mount has cut',
        'toNodeListener',
        { piece: "originalUrlOf(parsed) ?? url ?? '/'", becomes: "url ?? '/'" },
      ],
      [
        'listener of Node over an older server package',
        'toNodeListener',
        { condition: "!('upgradeWebSocket' in nodeServer)", becomes: 'false' },
      ],
      [
        'listener of Node leaves the whole path to later middleware',
        'toNodeListener',
        { condition: 'url !== undefined', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'adapters/node/parsed-body.ts',
    tests: ['adapters/node/'],
    rows: [
      [
        'body that a parser has read is lost',
        'withParsedBody',
        { condition: '!incoming.readableDidRead', becomes: 'true' },
      ],
      [
        'parsed body keeps the length that it had on the wire',
        'withParsedBody',
        { piece: 'headers.delete(name)', becomes: '' },
      ],
      [
        'parsed body of a GET is a bare 500',
        'withParsedBody',
        { piece: 'catch {', becomes: 'catch (error) {\n    throw error' },
      ],
    ],
  },
  {
    file: 'adapters/fetch/request/body.ts',
    tests: ['adapters/fetch/request/body.'],
    rows: [
      [
        'body with a length that a parser has read is only of another length',
        'createBodyReader',
        { condition: 'bytes.byteLength === 0', becomes: 'false' },
      ],
      [
        'body in chunks that a parser has read is only not JSON',
        'checkUnread',
        { piece: 'throw readBefore()', becomes: 'return' },
      ],
    ],
  },
  {
    file: 'adapters/hono/index.ts',
    tests: ['adapters/hono/'],
    rows: [
      [
        'Hono without the routes of a request is taken',
        'checkVersion',
        { piece: "'matchedRoutes' in HonoRequest.prototype", becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/tools/run-tool.ts',
    tests: ['src/engine/turn/run-tool.'],
    rows: [
      [
        'arguments for a tool without a schema are not mentioned',
        'validateAndExecute',
        { condition: 'tool.inputSchema === noArguments', becomes: 'false' },
      ],
    ],
  },
]
