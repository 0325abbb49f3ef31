// Mutations of scenario files, of the judge, of the coverage of flows, and of recordings.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const scenarioMutations = [
  {
    file: 'testing/scenarios/read-scenarios.ts',
    tests: ['testing/scenarios/read-scenarios.'],
    rows: [
      [
        'scenario takes an unknown line for a note',
        'DocumentReader.#addLine',
        { condition: 'line === undefined', becomes: 'line === null' },
      ],
      [
        'scenario file ignores its second set-up',
        'DocumentReader.#addSetup',
        { condition: 'this.#setup !== undefined', becomes: 'false' },
      ],
      ['scenario counts its lines from 0', 'linesOf', { piece: 'line: index + 1', becomes: 'line: index' }],
    ],
  },
  {
    file: 'testing/scenarios/run-scenario.ts',
    tests: ['testing/scenarios/run-scenario.'],
    rows: [
      [
        'scenario passes where a message fails unexpectedly',
        'runTurn',
        { condition: '!success && code === undefined', becomes: 'false' },
      ],
      [
        'scenario passes where no model was asked for an answer',
        'runTurn',
        { condition: 'left !== undefined', becomes: 'false' },
      ],
      [
        'scenario blames the message for a wrong name of a tool',
        'runTurn',
        { piece: 'model.wrong ?? turn', becomes: 'turn' },
      ],
      [
        'scenario passes where its end was not expected',
        'runScenario',
        { piece: 'await at(scenario.events.at(-1) ?? scenario, () => conversation.close())', becomes: '' },
      ],
    ],
  },
  {
    file: 'testing/scenarios/scenario-failure.ts',
    tests: ['testing/scenarios/run-scenario.'],
    rows: [
      [
        'scenario loses the line of a set-up that throws',
        'failureAt',
        { piece: 'causesText({ cause: problem }, text)', becomes: "''" },
      ],
    ],
  },
  {
    file: 'testing/scenarios/scenario-lines.ts',
    tests: ['testing/scenarios/scenario-lines.'],
    rows: [['scenario takes a path for a pattern', 'patternOf', { piece: '[^\\\\/]', becomes: '[^\\\\]' }]],
  },
  {
    file: 'testing/scenarios/scenario-lines.ts',
    tests: ['testing/scenarios/read-scenarios.'],
    rows: [
      [
        'scenario takes JSON that is not valid for a text',
        'expectedValueOf',
        { piece: '/^[{[]/.test(text)', becomes: 'false' },
      ],
      [
        'scenario waits for a code that does not exist',
        'readFailure',
        { piece: 'unknownCodeText(text) ??', becomes: '' },
      ],
    ],
  },
  {
    file: 'testing/flow-coverage/merge-reports.ts',
    tests: ['testing/flow-coverage/'],
    rows: [
      [
        'files that share a coverage count the turns of each other again',
        'lastReports',
        { piece: 'other.from.count > from.count', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/judge/judge.ts',
    tests: ['testing/judge/'],
    rows: [
      ['judge records what its model does not accept', 'Judge.#judge', { condition: '!holds', becomes: 'false' }],
      [
        'judge asks its model although it is not to record',
        'Judge.#judge',
        { condition: 'this.#options.record !== true', becomes: 'false' },
      ],
      [
        'judge shows the oldest of its outdated recordings',
        'Judge.#unrecorded',
        { piece: 'known.findLast(', becomes: 'known.find(' },
      ],
      [
        'judge whose model never answers leaves its call open',
        'Judge.#ask',
        { piece: 'stop.abort(error)', becomes: '' },
      ],
    ],
  },
  {
    file: 'testing/judge/judge-options.ts',
    tests: ['testing/judge/'],
    rows: [
      [
        'judge takes the address of a file that cannot be a path',
        'isPath',
        { piece: 'decodeURIComponent(value.pathname)', becomes: '' },
      ],
    ],
  },
  {
    file: 'testing/judge/recordings.ts',
    tests: ['testing/judge/'],
    rows: [
      [
        'recordings made at the same time overwrite each other',
        'Recordings.#take',
        { piece: "flag: 'wx'", becomes: "flag: 'w'" },
      ],
      ['judge takes a recording of another reply', 'isSame', { piece: '&& one.reply === other.reply', becomes: '' }],
    ],
  },
  {
    file: 'testing/flow-coverage/coverage-shares.ts',
    tests: ['testing/flow-coverage/'],
    rows: [
      [
        'coverage threshold that is null holds',
        'checkThreshold',
        { piece: "typeof threshold === 'number' &&", becomes: '' },
      ],
      [
        'coverage threshold that is a fraction holds for every flow',
        'checkThreshold',
        { condition: 'threshold <= 1', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/conversation/check-flow.ts',
    tests: ['testing/flow-coverage/'],
    rows: [
      [
        'coverage takes the class of a step for a flow',
        'checkFlow',
        { piece: "&& 'addContext' in Object(flow.prototype)", becomes: '' },
      ],
    ],
  },
  {
    file: 'testing/flow-coverage/step-paths.ts',
    tests: ['testing/flow-coverage/'],
    rows: [
      [
        'path guesses how to reach a step that was reached',
        'shortestWays',
        { piece: 'new Map(steps.flatMap(startAt)', becomes: 'new Map(steps.slice(0, 2).flatMap(startAt)' },
      ],
    ],
  },
  {
    file: 'testing/recording/whole-session.ts',
    tests: ['testing/recording/'],
    rows: [
      [
        'recording of a session without its last turns is made',
        'requireWholeHistory',
        { condition: 'turns !== history.length', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'testing/recording/file-parts.ts',
    tests: ['testing/recording/'],
    rows: [
      [
        'replay of a folder begins with messages that are not whole',
        'missingOfMessage',
        { piece: 'missing.length > 0 ? missing :', becomes: 'missing.length >= 0 ? missing :' },
      ],
    ],
  },
  {
    file: 'testing/recording/read-folder.ts',
    tests: ['testing/recording/'],
    rows: [
      ['replay of a folder follows a link back to it', 'filesIn', { condition: 'seen.has(real)', becomes: 'false' }],
    ],
  },
]
