// Turns that fail: what becomes of the session, who answers for it, which text goes out, and what a
// client learns of the session.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const failureMutations = [
  {
    file: 'src/engine/turn/commit/settle-turn-error.ts',
    tests: ['src/engine/flow-engine.rollback.'],
    rows: [
      [
        'onTurnError of a flow ignored',
        'goesOnAfter',
        { piece: 'engine.flows.get(flowName)?.onTurnError ?? engine.onTurnError', becomes: 'engine.onTurnError' },
      ],
      [
        'rollback over what a conflict left',
        'draftToStore',
        { piece: 'failure && leavesSessionUnchanged(failure)', becomes: 'false' },
      ],
      [
        'rollback stores what onRestore changed',
        'saveFailure',
        { piece: 'effects === undefined ? beforeTurn :', becomes: 'effects === undefined ? draft.base :' },
      ],
      [
        'rollback reported before it is stored',
        'settleTurnError',
        {
          statement: "control.report('turn:error', { code: error.code, error: maskedError(engine, error, failed) })",
          becomes:
            "control.report('turn:error', { code: error.code, error: maskedError(engine, error, failed) }); control.report('turn:rolled-back', { code: error.code })",
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/recover-turn.ts',
    tests: ['src/engine/flow-engine.on-error.'],
    rows: [
      ['onError answers over a draft that failed', 'recoverTurn', { piece: 'failed.startAgain()', becomes: 'failed' }],
      ['onError asked for what is not for the flow', 'isForFlow', { body: 'return error.code !== undefined' }],
      [
        'onError goes on after an abort',
        'recoverTurn',
        {
          piece:
            'const returned: unknown = await callFlowCode(control, () => flow.onError(error, turn))\ncontrol.check()',
          becomes: 'const returned: unknown = await callFlowCode(control, () => flow.onError(error, turn))',
        },
      ],
      [
        'context of a failed turn kept for onError',
        'recoverTurn',
        { piece: 'Flow.setContext(flow, draft.base.flow.context)', becomes: '' },
      ],
      [
        'error kept from onError',
        'recoverTurn',
        { piece: 'new TurnView(control, input, draft, error)', becomes: 'new TurnView(control, input, draft)' },
      ],
      [
        'streamed text of a failed turn counts',
        'recoverTurn',
        { piece: "control.stream?.reset('error')", becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: ['src/engine/flow-engine.on-error.'],
    rows: [
      [
        'onError asked twice in a turn',
        'recover',
        {
          piece: 'await recoverTurn(control, input, failed, thrown)',
          becomes:
            'await recoverTurn(control, input, failed, thrown).catch((again) => recoverTurn(control, input, failed, again))',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/draft/turn-draft.ts',
    tests: ['src/engine/flow-engine.on-error.'],
    rows: [
      [
        'late code of a failed turn changes the state of the answer',
        'startAgain',
        { piece: 'this.steps.renewed()', becomes: 'this.steps' },
      ],
      [
        'what was spent before onError forgotten',
        'startAgain',
        { piece: 'Object.assign(draft.usage, this.usage)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/steps/run-steps.ts',
    tests: ['src/engine/flow-engine.on-message.'],
    rows: [
      [
        'answer of onMessage in the memory of a model',
        'runSteps',
        {
          piece: 'draft.answer = { ...draft.answer, remembered: true }',
          becomes: 'draft.answer = { ...draft.answer }',
        },
      ],
      [
        'answer of a step to which onMessage went in no memory',
        'runSteps',
        { piece: "transition.fields.kind !== 'go' &&", becomes: '' },
      ],
      [
        'onMessage asked where the user sent nothing',
        'askOnMessage',
        { piece: "if (turn.message === '' && turn.attachments.length === 0) return undefined", becomes: '' },
      ],
      [
        'attachments without a text not shown to onMessage',
        'askOnMessage',
        { piece: '&& turn.attachments.length === 0', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/core/error-text.ts',
    tests: ['src/engine/flow-engine.error-text.'],
    rows: [
      [
        'texts of the engine about flow code sent to users',
        'isForUsers',
        { piece: '|| !isMadeByEngine(error)', becomes: '|| true' },
      ],
      [
        'texts of models and limits sent to users',
        'isForUsers',
        { piece: 'if (!codesForUsers.includes(error.code)) return false', becomes: '' },
      ],
      ['refused models taken for refused input', 'isForUsers', { piece: '&& turnId === undefined', becomes: '' }],
      ['hidden text not logged', 'userText', { piece: 'text !== error.message ||', becomes: '' }],
      [
        'promise of errorText that ends the process',
        'chooseText',
        { piece: 'Promise.resolve(text).catch(() => undefined)', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/core/foreign-session.ts',
    tests: ['src/engine/flow-engine.session-state.'],
    rows: [['newer session of another owner revealed', 'loadFor', { piece: 'error.owner === owner', becomes: 'true' }]],
  },
  {
    file: 'src/engine/core/session-state.ts',
    tests: ['src/engine/flow-engine.session-state.'],
    rows: [
      [
        "state of another owner's session revealed",
        'lookUpState',
        { piece: 'found.stored === undefined', becomes: 'found.stored === undefined && !found.isForeign' },
      ],
      ['closed engine asks its store', 'lookUpState', { piece: 'session.closing ||', becomes: '' }],
      ['full queue asks the store', 'stateUnseen', { piece: "=== 'maxQueuedTurnsPerSession'", becomes: "=== ''" }],
    ],
  },
]
