// Mutations of what surrounds the steps of a turn: its input, its models, its deadlines, and how an engine closes.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const turnMutations = [
  {
    file: 'src/engine/turn/control/flow-code-failure.ts',
    tests: ['src/engine/flow-engine.nested.'],
    rows: [
      [
        'error of another session taken for that of the turn',
        'isOfAnotherTurn',
        { piece: 'return ownCode.test(thrown.code)', becomes: 'return false' },
      ],
      [
        "size of another session taken for the turn's",
        'isOfAnotherTurn',
        { piece: 'return ownLimits.includes((thrown as LimitExceededError).limit)', becomes: 'return false' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: ['src/engine/flow-engine.nested.'],
    rows: [
      [
        'error of another session thrown by a step',
        'runSession',
        { piece: 'draft, ofFlowCode(control, thrown)', becomes: 'draft, thrown' },
      ],
      [
        'error of another session thrown by init',
        'runFlow',
        { piece: 'throw ofFlowCode(control, thrown)', becomes: 'throw thrown' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/session/restore-session.ts',
    tests: ['src/engine/flow-engine.nested.'],
    rows: [
      [
        'error of another session thrown by onRestore',
        'callHook',
        { piece: 'throw ofFlowCode(control, cause)', becomes: 'throw cause' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/recover-turn.ts',
    tests: ['src/engine/flow-engine.nested.'],
    rows: [
      [
        'error of another session thrown by onError',
        'recoverTurn',
        { piece: 'callFlowCode(control, () => flow.onError(error, turn))', becomes: 'flow.onError(error, turn)' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/tools/run-tool.ts',
    tests: ['src/engine/flow-engine.nested.'],
    rows: [
      [
        'error of another session thrown by a tool',
        'asToolError',
        { piece: '&& !isOfAnotherTurn(control, thrown)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/attempts.ts',
    tests: ['src/engine/flow-engine.nested.'],
    rows: [
      [
        'error of another session thrown by a provider',
        'asModelError',
        { piece: '&& !isOfAnotherTurn(control, thrown)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/model-attempt.ts',
    tests: ['src/engine/flow-engine.stream', 'src/engine/flow-engine.session-bytes.'],
    rows: [
      [
        'endless answer taken for a failure of flow code',
        '#checkLength',
        { piece: 'this.#control.own(', becomes: '(' },
      ],
    ],
  },
  {
    file: 'src/engine/input/check-input.ts',
    tests: ['src/engine/input/check-input.', 'src/engine/flow-engine.context.'],
    rows: [
      [
        'input changed by its caller during the turn',
        'checkObject',
        {
          piece:
            'return deepFreeze(copyJson(value, name, limits.maxJsonDepth + outer, refuse, maxBytes)) as JsonObject',
          becomes: 'copyJson(value, name, limits.maxJsonDepth + outer, refuse, maxBytes)\nreturn value as JsonObject',
        },
      ],
      [
        'config of a client replaced by the server context',
        'checkTurnInput',
        { condition: 'Object.hasOwn(serverContext,', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/engine/input/check-attachments.ts',
    tests: ['src/engine/input/check-attachments.'],
    rows: [
      ['address with a password stored', 'addressPattern', { piece: '?#\\\\@]+(?:', becomes: '?#\\\\]+(?:' }],
      ['attachment that is not base64 accepted', 'optionalFields', { piece: '&& isBase64(value)', becomes: '' }],
    ],
  },
  {
    file: 'src/engine/turn/steps/run-steps.ts',
    tests: ['src/engine/turn/run-steps.'],
    rows: [
      [
        'step left without its onExit',
        'move',
        { piece: 'draft.steps.require(from).onExit(turn)', becomes: 'undefined' },
      ],
      [
        'reply that no model made unknown to the next model',
        'runToReply',
        { statement: 'remember(draft, turn)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/draft/collect-steps.ts',
    tests: ['src/engine/turn/collect-steps.'],
    rows: [
      [
        'two steps with one ID',
        'collectSteps',
        { piece: 'if (steps.has(id)) throw usedTwice(id, flowName)', becomes: '' },
      ],
      ['step with a reserved ID', 'checkStepId', { piece: "id === '__proto__' ||", becomes: '' }],
    ],
  },
  {
    file: 'src/engine/turn/steps/resolve-models.ts',
    tests: ['src/engine/turn/resolve-models.'],
    rows: [
      ['own model of a step ignored', 'resolveModels', { condition: 'choice !== undefined', becomes: 'false' }],
      [
        'step without a model found only when it runs',
        'resolveModels',
        { condition: 'steps.flowModels === undefined', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/config/deadlines.ts',
    tests: ['src/config/deadlines.'],
    rows: [
      [
        'only the first of several deadlines ends',
        '#expire',
        { piece: 'else this.#startTimer(first, Math.min(this.#ms, first.at - now))', becomes: '' },
      ],
      [
        'timer left behind by the last cancelled deadline',
        'DeadlineList.cancel',
        { piece: 'this.first === undefined', becomes: 'false' },
      ],
    ],
  },
  {
    file: 'src/engine/close-engine.ts',
    tests: ['src/engine/flow-engine.close'],
    rows: [
      [
        'turn not aborted by an engine that closes',
        'closeEngine',
        { statement: 'turn.abort(new EngineClosedError())', becomes: '{}' },
      ],
      [
        'store closed during a commit',
        'closeEngine',
        { statement: 'Promise.all(Array.from(turns, settled))', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/loop-monitor.ts',
    tests: ['src/engine/loop-monitor.'],
    rows: [
      ['timer of the loop monitor left behind', 'stop', { statement: 'this.#stopTimer?.()', becomes: '' }],
      [
        'loop watched where nobody listens',
        'watch',
        { piece: "|| !this.#events.hasListeners('loop:blocked')", becomes: '' },
      ],
    ],
  },
]
