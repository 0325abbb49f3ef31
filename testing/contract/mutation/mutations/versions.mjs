// Mutations of what happens to stored sessions when their flow changes: migrate, onRestore, outdated,
// stateSchema, former names.

const versionTests = ['src/engine/flow-engine.versions.']
const schemaTests = ['src/engine/flow-engine.state-schema.']

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const versionMutations = [
  {
    file: 'src/engine/turn/session/restore-session.ts',
    tests: versionTests,
    rows: [
      [
        'session of a newer version shown to hooks',
        'restoreSession',
        { statement: 'loaded.flow.version > flowClass.version', becomes: '' },
      ],
      [
        'session of an older version never migrated',
        'restoreSession',
        { piece: 'document = await migrate(control, flowClass, loaded, document)', becomes: '' },
      ],
      [
        'migrated session migrated again in each turn',
        'migrate',
        { piece: 'version: flowClass.version', becomes: 'version: loaded.flow.version' },
      ],
      [
        'null of migrate ignored',
        'migrate',
        { piece: 'return migrated && {', becomes: 'return (migrated ?? document) && {' },
      ],
      [
        'hook of a new release ends the sessions of older ones',
        'callHook',
        { piece: 'if (control.draft !== undefined) throw ofFlowCode(control, cause)', becomes: 'throw cause' },
      ],
      [
        'sessions of older versions aborted by onRestore',
        'restoreSession',
        { piece: 'if (!isOlder) control.draft', becomes: 'control.draft' },
      ],
      [
        'stored document handed to migrate',
        'callHook',
        { piece: 'const copy = copyDocument(document)', becomes: 'const copy = document' },
      ],
      [
        'version that migrate has forgotten stored as migrated',
        'callHook',
        { piece: "if (hook === 'onRestore') return", becomes: 'return' },
      ],
      ...['revision', 'owner', 'createdAt', 'receipts', 'effects'].map(
        (name) =>
          /** @type {const} */ ([
            `${name} changed by a hook`,
            'checkReturned',
            {
              piece: 'if (document[name] === loaded[name]',
              becomes: `if (name === '${name}' || document[name] === loaded[name]`,
            },
          ]),
      ),
      ['id changed by a hook', 'checkReturned', { condition: 'returned.id !== id', becomes: 'false' }],
      [
        'name of the flow changed by a hook',
        'checkReturned',
        { condition: 'document.flow.name !== loaded.flow.name', becomes: 'false' },
      ],
      [
        'outdated session restarted against the flow',
        'isOutdated',
        { piece: '(flowClass.outdated ?? ofEngine)', becomes: '(ofEngine ?? flowClass.outdated)' },
      ],
      [
        'session made newer by a hook taken for outdated',
        'isOutdated',
        { piece: 'version < flowClass.version && ', becomes: '' },
      ],
      ['version not checked', 'isOutdated', { body: 'return false' }],
    ],
  },
  {
    file: 'src/engine/turn/session/restore-session.ts',
    tests: ['src/engine/turn/load-session.', ...schemaTests],
    rows: [
      [
        'current step checked before its alias is replaced',
        'restoreSession',
        {
          piece: 'document = replaceFormerSteps(document, steps)',
          becomes: 'checkCurrentStep(document, steps)\ndocument = replaceFormerSteps(document, steps)',
        },
      ],
      [
        'stateSchema not asked',
        'restoreSession',
        { piece: 'return steps.stateSchemas === undefined ? document :', becomes: 'return true ? document :' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/session/parse-states.ts',
    tests: schemaTests,
    rows: [
      [
        'stateSchema asked about a step never entered',
        'parseStates',
        { statement: 'if (stored === undefined) continue', becomes: 'if (stored === undefined) throw new Error()' },
      ],
      [
        'output of stateSchema ignored',
        'parseStates',
        { piece: 'storableState(returned, stepId', becomes: 'storableState(stored.state, stepId' },
      ],
      [
        'stored state handed to stateSchema',
        'validate',
        { piece: "copyJson(state, 'state', Number.POSITIVE_INFINITY)", becomes: 'state' },
      ],
      ['state that does not fit passed on', 'validate', { condition: '!Array.isArray(issues)', becomes: 'true' }],
      [
        'error of stateSchema taken for one of the flow',
        'validate',
        {
          piece: `throw refuse(\`the stateSchema of step '\${stepId}' failed\`, cause)`,
          becomes: 'throw cause',
        },
      ],
      [
        'what somebody said told in the refusal of a state',
        'validate',
        { piece: `\${fieldsOf(issues)}`, becomes: `\${issueText(issues)}` },
      ],
    ],
  },
  {
    file: 'src/engine/core/foreign-session.ts',
    tests: versionTests,
    rows: [
      [
        "status of another owner's session told",
        'loadFor',
        {
          piece: 'storedOwner !== owner',
          becomes: "(storedOwner !== owner && Object(stored).runStatus === 'running')",
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/session/find-session.ts',
    tests: versionTests,
    rows: [
      ['restart not noted', 'noteRestart', { piece: 'control.restarted = reason', becomes: '' }],
      ['restart that the flow wants refused', 'noteRestart', { piece: '&& !isOfFlow', becomes: '' }],
    ],
  },
  {
    file: 'src/engine/turn/run-turn.ts',
    tests: versionTests,
    rows: [
      [
        'restart reported where no new session is stored',
        'withRestarted',
        { piece: '|| result.response.session !== sessionId', becomes: '' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/draft/turn-draft.ts',
    tests: versionTests,
    rows: [
      [
        'migrated session stored by a turn that failed',
        'TurnDraft.beforeTurn',
        { piece: ': toCurrentLayout(this.loaded)', becomes: ': this.base' },
      ],
    ],
  },
  {
    file: 'src/engine/core/registered-name.ts',
    tests: versionTests,
    rows: [
      [
        'former name of a flow not found',
        'registeredName',
        { piece: 'flows.currentName(flowName)', becomes: 'flowName' },
      ],
    ],
  },
  {
    file: 'src/flow/flow-registry.ts',
    tests: ['src/flow/flow-registry.'],
    rows: [
      [
        'static properties of a flow not checked',
        'register',
        { piece: `checkFlowStatics(\`Flow '\${id}'\`, flow)`, becomes: '' },
      ],
      ['ID that is not a text accepted', 'idOf', { piece: "typeof id !== 'string' ||", becomes: '' }],
      [
        'former name of two flows',
        '#withAliases',
        { piece: 'if (other === undefined || other === id) return', becomes: 'return' },
      ],
      [
        'former names of a refused batch kept',
        '#withAliases',
        { piece: 'new Map(this.#formerNames)', becomes: 'this.#formerNames as Map<string, string>' },
      ],
    ],
  },
  {
    file: 'src/flow/check-statics.ts',
    tests: ['src/flow/flow-registry.', 'src/engine/turn/collect-steps.'],
    rows: [
      [
        'version that is not a whole number',
        'checkFlowStatics',
        { piece: '!Number.isSafeInteger(version)', becomes: "typeof version !== 'number'" },
      ],
      [
        'outdated of any value accepted',
        'checkFlowStatics',
        { piece: "outdated !== undefined && outdated !== 'refuse' && outdated !== 'restart'", becomes: 'false' },
      ],
      [
        'onTurnError of any value accepted',
        'checkFlowStatics',
        {
          piece: "onTurnError !== undefined && onTurnError !== 'abort' && onTurnError !== 'rollback'",
          becomes: 'false',
        },
      ],
      [
        'migrate that is not a function',
        'checkFlowStatics',
        { piece: "migrate !== undefined && typeof migrate !== 'function'", becomes: 'false' },
      ],
      ['text taken for a list of aliases', 'checkAliases', { statement: '!Array.isArray(aliases)', becomes: '' }],
    ],
  },
]
