// Mutations of the adapter to OpenTelemetry, and of the events that are there for those who run an application.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const otelMutations = [
  {
    file: 'adapters/otel/spans.ts',
    tests: ['adapters/otel/'],
    rows: [
      [
        'text of an error in a span by default',
        '#endTurn',
        { piece: 'this.#errorText ? error?.error.message : undefined', becomes: 'error?.error.message' },
      ],
      ['spans of a turn left open', '#endTurn', { piece: 'endAll(spansOf(open), code)', becomes: 'undefined' }],
      [
        'calls of a turn that had begun before left open',
        '#endTurn',
        { piece: 'open === undefined', becomes: 'open?.turn === undefined' },
      ],
      [
        'store outside of its turn',
        '#addStore',
        { piece: 'turnId === undefined ? undefined :', becomes: 'true ? undefined :' },
      ],
    ],
  },
  {
    file: 'adapters/otel/index.ts',
    tests: ['adapters/otel/'],
    rows: [
      ['texts in spans by default', 'instrumentEngine', { piece: 'content = false', becomes: 'content = true' }],
      [
        'spans although they are switched off',
        'instrumentEngine',
        { piece: 'tracerProvider !== false', becomes: 'true' },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/attempts.ts',
    tests: ['adapters/otel/'],
    rows: [
      [
        'unmasked texts of a model reported with a mask',
        'reportEnd',
        { piece: 'control.engine.mask === undefined && ', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/tools/run-tool.ts',
    tests: ['adapters/otel/'],
    rows: [
      [
        'code of a tool that failed not reported',
        'runTool',
        { piece: 'if (FlowError.isInstance(error)) code = error.code', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/session/store-access.ts',
    tests: ['src/engine/flow-engine.events-for-operators.'],
    rows: [
      [
        'failed operation of the store reported as a success',
        '#watched',
        { piece: 'report(error)', becomes: 'report()' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/execute-turn.ts',
    tests: ['src/engine/flow-engine.events-for-operators.'],
    rows: [
      [
        'refused turn not reported',
        'refusal',
        { condition: "control !== undefined && engine.events.hasListeners('turn:refused')", becomes: 'false' },
      ],
    ],
  },
]
