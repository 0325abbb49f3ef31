// Mutations of what strangers and models can make an engine do: calls and results of tools, turns at once, what owners
// spend, names in events, configs and sessions that are too large.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const exposureMutations = [
  {
    file: 'src/engine/turn/steps/run-model-step.ts',
    tests: ['src/engine/flow-engine.tool-limits.'],
    rows: [
      [
        'any number of tool calls run',
        'countToolCalls',
        { piece: 'draft.askedToolCalls <= limits.maxToolCallsPerTurn', becomes: 'true' },
      ],
      [
        'tool calls counted for each answer anew',
        'countToolCalls',
        { piece: 'draft.askedToolCalls += calls', becomes: 'draft.askedToolCalls = calls' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/tools/run-tool.ts',
    tests: ['src/engine/flow-engine.tool-limits.'],
    rows: [
      [
        'text of a tool of any size given to the model',
        'textResult',
        { piece: 'isLarger(text, limits.maxToolResultBytes)', becomes: 'false' },
      ],
      [
        'value of a tool of any size given to the model',
        'resultOf',
        { piece: ', undefined, limits.maxToolResultBytes', becomes: '' },
      ],
      ['result that is too large fails the turn', 'resultOf', { condition: 'error.isTooLarge', becomes: 'false' }],
      [
        'message of a ToolError of any size',
        'validateAndExecute',
        {
          piece: 'textResult(control, call, thrown.message, true)',
          becomes: 'toolResult(call, thrown.message, true)',
        },
      ],
    ],
  },
  {
    file: 'src/util/json.ts',
    tests: ['src/util/json.', 'src/engine/flow-engine.unknown-names.'],
    rows: [
      ['bytes of a copy not counted', 'count', { body: '' }],
      ['keys of a copy not counted', 'copyObject', { piece: 'count(walk, 4, key)', becomes: 'count(walk, 4)' }],
      ['key of a client shown whole', 'refusal', { piece: 'shownName(key)', becomes: 'key' }],
    ],
  },
  {
    file: 'src/engine/input/check-input.ts',
    tests: ['src/engine/flow-engine.limits-of-input.', 'src/engine/input/check-input.'],
    rows: [['config copied before it is counted', 'checkConfig', { piece: ', limits.maxConfigBytes', becomes: '' }]],
  },
  {
    file: 'src/errors/shown-name.ts',
    tests: ['src/util/shown-name.', 'src/engine/flow-engine.unknown-names.'],
    rows: [
      ['name shown whole', 'shownName', { piece: 'name.length > maxLength', becomes: 'false' }],
      ['line breaks of a name shown', 'shownName', { piece: '\\p{C}', becomes: '\\0' }],
    ],
  },
  {
    file: 'src/errors/engine-errors.ts',
    tests: ['src/engine/flow-engine.unknown-names.'],
    rows: [
      [
        'name of an unknown flow echoed as it came',
        'FlowNotFoundError',
        { piece: 'shownName(options.flowName)', becomes: 'options.flowName' },
      ],
    ],
  },
  {
    file: 'src/engine/core/registered-name.ts',
    tests: ['src/engine/flow-engine.unknown-names.'],
    rows: [
      [
        'name of an unknown flow in events',
        'registeredName',
        { piece: "flows.get(current) === undefined ? '' : current", becomes: 'current' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: ['src/engine/flow-engine.unknown-names.'],
    rows: [
      [
        'flow that was registered while the turn waited not found',
        'runTurn',
        { condition: "control.flowName === ''", becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/execute-turn.ts',
    tests: ['src/engine/flow-engine.admission.', 'src/engine/flow-engine.unknown-names.'],
    rows: [
      ['any number of turns at once', 'runInOrder', { condition: '!admission.enter(control)', becomes: 'false' }],
      [
        'closed engine that says it is busy',
        'runInOrder',
        { piece: '!session.closing && !admission.enter(control)', becomes: '!admission.enter(control)' },
      ],
      ['place of a turn kept for ever', 'executeTurn', { statement: 'engine.admission.leave(control)', becomes: '' }],
      [
        'turn that a busy engine refuses not reported',
        'runInOrder',
        { statement: "control.report('turn:rejected', { code: 'ENGINE_BUSY' })", becomes: '' },
      ],
      [
        'name of a hidden flow logged where the input is refused',
        'refusal',
        { piece: '{ flowName, hideFlow }', becomes: '{ flowName, hideFlow: undefined }' },
      ],
      [
        'name of an unknown flow logged',
        'refusal',
        { piece: 'registeredName(engine, { flowName, hideFlow })', becomes: 'flowName' },
      ],
    ],
  },
  {
    file: 'src/engine/lock/admission.ts',
    tests: ['src/engine/flow-engine.admission.'],
    rows: [
      ['place of a dropped turn kept for ever', '#dropLost', { body: '' }],
      [
        'place of a turn taken while it runs',
        '#dropLost',
        { piece: 'now - since < longestTurnMs(this.#limits)', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/engine/core/session-state.ts',
    tests: ['src/engine/flow-engine.admission.'],
    rows: [['busy engine asks its store', 'notAsked', { piece: "'ENGINE_BUSY',", becomes: '' }]],
  },
  {
    file: 'src/engine/budgets/owner-budgets.ts',
    tests: ['src/engine/model-call/owner-budgets.'],
    rows: [
      ['budget of an owner not checked', '#check', { piece: 'spent[amount] < value', becomes: 'true' }],
      ['window of an owner that never ends', '#windowAt', { piece: '&& time < window.endsAt', becomes: '' }],
      ['owners remembered without a bound', '#add', { condition: 'this.#windows.size <= maxOwners', becomes: 'true' }],
      ['owner that spends forgotten first', '#add', { statement: 'this.#windows.delete(owner)', becomes: '' }],
    ],
  },
  {
    file: 'src/engine/model-call/attempts.ts',
    tests: ['src/engine/model-call/owner-budgets.'],
    rows: [
      ['calls under way not counted for the owner', 'ask', { statement: 'countCall', becomes: '' }],
      [
        'late answer of a cancelled turn costs its owner nothing',
        'attemptModel',
        {
          piece: 'usage = countForOwner(draft, resolved, response) control.check()',
          becomes: 'control.check(); usage = countForOwner(draft, resolved, response)',
        },
      ],
    ],
  },
  {
    file: 'src/model/model-budget.ts',
    tests: ['src/engine/model-call/owner-budgets.'],
    rows: [
      [
        'cost of an owner without prices',
        'checkPrices',
        { piece: '[turn, session, owner]', becomes: '[turn, session]' },
      ],
    ],
  },
  {
    file: 'src/stores/memory/heap-bytes.ts',
    tests: ['src/stores/memory/heap-bytes.'],
    rows: [['bytes of wide texts counted once', 'perJsonByte', { piece: '2', becomes: '1.3' }]],
  },
]
