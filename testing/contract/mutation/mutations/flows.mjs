// Mutations of what flows are made of: their registration, context, memory, transitions, tools and models.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const flowMutations = [
  {
    file: 'src/flow/conversation-memory.ts',
    tests: ['src/engine/turn/turn-view.memory.'],
    rows: [
      [
        'memory cleared under a call that is under way',
        'ConversationMemory.clear',
        { piece: 'keepsTurn ? messages.list.findIndex((one) => one.turn === turn) : -1', becomes: '-1' },
      ],
      [
        "user's message lost with the memory",
        'ConversationMemory.clear',
        { piece: 'if (!keepsTurn) userTexts.length = 0', becomes: '' },
      ],
      [
        'attachments of a cleared memory kept',
        'ConversationMemory.clear',
        { piece: 'this.#removeUnusedAttachments(turn)', becomes: '' },
      ],
      [
        'attachments of this turn, or of another memory, removed with a memory',
        '#removeUnusedAttachments',
        { piece: 'one.turn === turn || used.has(one.id)', becomes: 'used.has(one.id)' },
      ],
    ],
  },
  {
    file: 'src/engine/turn/steps/turn-view.ts',
    tests: ['src/engine/turn/turn-view.'],
    rows: [
      [
        'context added unchecked',
        'addContext',
        {
          piece: 'storableContext({ ...flow.context, ...value }, this.#control.engine.limits)',
          becomes: '{ ...flow.context, ...value } as JsonObject',
        },
      ],
      ['time of the machine in a turn', 'now', { piece: 'this.#control.engine.clock.now()', becomes: 'Date.now()' }],
    ],
  },
  {
    file: 'src/flow/flow-registry.ts',
    tests: ['src/flow/flow-registry.', 'src/engine/flow-engine.registration.'],
    rows: [
      [
        'registration of a batch not atomic',
        'register',
        { piece: 'const batch = new Map<string, RegisteredFlow>()', becomes: 'const batch = this.#flows' },
      ],
      [
        'map key not compared with the ID',
        'idOf',
        {
          piece: 'if (name !== undefined && name !== id)',
          becomes: 'if (false)',
        },
      ],
      [
        'one name twice in a batch',
        'register',
        {
          piece: 'if (this.#flows.has(id) || batch.has(id))',
          becomes: 'if (this.#flows.has(id))',
        },
      ],
      [
        'registered name replaced',
        'register',
        {
          piece: 'if (this.#flows.has(id) || batch.has(id))',
          becomes: 'if (batch.has(id))',
        },
      ],
      [
        'blank ID accepted',
        'idOf',
        {
          piece: "typeof id !== 'string' || id.trim() === ''",
          becomes: "typeof id !== 'string'",
        },
      ],
    ],
  },
  {
    file: 'src/flow/conversation-memory.ts',
    tests: ['src/flow/conversation-memory.', 'src/engine/turn/run-model-step.memory.'],
    rows: [
      [
        'user message appended twice',
        'appendUserMessage',
        {
          piece: 'if (userTexts.includes(text)) return',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/flow/transition.ts',
    tests: ['src/flow/transition.'],
    rows: [
      [
        'base64 not checked',
        'checkBase64',
        {
          piece: 'if (isBase64(reply)) return',
          becomes: 'return',
        },
      ],
      [
        'content type not checked',
        'withContentType',
        {
          piece: '|| !isContentType(contentType)',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/model/model-selection.ts',
    tests: ['src/model/model-selection.'],
    rows: [
      [
        'credentials stored with model parameters',
        'strip',
        {
          piece: '.filter(([key]) => !isCredentialName(key))',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/model/model-registry.ts',
    tests: ['src/model/model-registry.'],
    rows: [
      [
        'provider replaced without replace',
        'registerProviders',
        {
          piece: 'if (replace || !this.#providers.has(provider.provider))',
          becomes: 'if (true)',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/tools/run-tool.ts',
    tests: ['src/engine/turn/run-tool.'],
    rows: [
      [
        'tool arguments not validated',
        'validateAndExecute',
        {
          piece: 'if (validated.issues !== undefined)',
          becomes: 'if (false)',
        },
      ],
      [
        'tool timeout off',
        'withinTime',
        {
          piece: 'timeoutMs, expire',
          becomes: 'Number.POSITIVE_INFINITY, expire',
        },
      ],
      [
        'time limit of a tool or step ignored',
        'timeLimitOf',
        {
          piece: 'if (own === undefined)',
          becomes: 'if (true)',
        },
      ],
      [
        'unknown tool not reported',
        'runTool',
        {
          piece: "control.emit('tool:unknown', { step: draft.stepId, tool: call.toolName, toolCallId })",
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/tools/run-tool.ts',
    tests: ['src/engine/model-call/answer-parts.'],
    rows: [
      [
        'unreadable arguments given to a tool',
        'validateAndExecute',
        {
          piece: 'if (call.invalidInput !== undefined)',
          becomes: 'if (false)',
        },
      ],
    ],
  },
  {
    file: 'src/flow/tool.ts',
    tests: ['src/flow/tool.'],
    rows: [
      ['unknown option of a tool accepted', 'tool', { condition: 'unknown !== undefined', becomes: 'false' }],
      ['parallel of a tool not checked', 'tool', { condition: "typeof parallel !== 'boolean'", becomes: 'false' }],
    ],
  },
  {
    file: 'src/engine/turn/tools/run-tools.ts',
    tests: ['src/engine/turn/run-tools.'],
    rows: [
      [
        'tools run together that do not allow it',
        'runTools',
        {
          piece: '.every(',
          becomes: '.some(',
        },
      ],
      [
        'last move of calls that run together',
        'runTogether',
        {
          piece: 'transition ??= outcome.transition',
          becomes: 'transition = outcome.transition ?? transition',
        },
      ],
      [
        'calls that run together not aborted by a failure',
        'runTogether',
        {
          piece: 'failure.abort(error)',
          becomes: 'void error',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/tools/run-tools.ts',
    tests: ['src/engine/turn/run-model-step.', 'src/engine/turn/run-tool.'],
    rows: [
      [
        'tool call left without a result',
        'runInOrder',
        {
          piece: "draft.memory.append(namespace, message('tool', [skipped], turn.number))",
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/draft/turn-draft.ts',
    tests: ['src/engine/turn/run-steps.'],
    rows: [
      [
        'completed never told',
        'TurnDraft.completed',
        {
          piece: 'this.steps.get(this.currentStep) instanceof EndStep',
          becomes: 'false',
        },
      ],
      [
        'content type kept after a move',
        'TurnDraft.enter',
        {
          piece: 'undefined : fields?.contentType',
          becomes: 'undefined : (fields?.contentType ?? this.stepContentType)',
        },
      ],
    ],
  },
]
