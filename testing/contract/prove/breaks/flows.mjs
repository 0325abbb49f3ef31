// Breaks of what flows are made of: their registration, context, memory, transitions, tools and models.

/** @type {import('../apply-break.mjs').BreakGroups} */
export const flowBreaks = [
  {
    file: 'src/flow/flow-registry.ts',
    tests: ['src/flow/flow-registry.', 'src/engine/flow-engine.registration.'],
    rows: [
      [
        'registration of a batch not atomic',
        'const batch = new Map<string, Registered<Keeper>>()',
        'const batch = this.#flows',
      ],
      ['map key not compared with the ID', 'if (name !== undefined && name !== id)', 'if (false)'],
      ['one name twice in a batch', 'if (this.#flows.has(id) || batch.has(id))', 'if (this.#flows.has(id))'],
      ['registered name taken over', 'if (this.#flows.has(id) || batch.has(id))', 'if (batch.has(id))'],
      ['blank ID accepted', "typeof id !== 'string' || id.trim() === ''", "typeof id !== 'string'"],
    ],
  },
  {
    file: 'src/flow/conversation-memory.ts',
    tests: ['src/flow/conversation-memory.', 'src/engine/turn/run-model-step.memory.'],
    rows: [['user message appended twice', 'if (heard.includes(text)) return', '']],
  },
  {
    file: 'src/flow/transition.ts',
    tests: ['src/flow/transition.'],
    rows: [
      ['base64 not checked', 'if (isBase64(reply)) return', 'return'],
      ['content type not checked', '|| !isContentType(contentType)', ''],
    ],
  },
  {
    file: 'src/model/model-selection.ts',
    tests: ['src/model/model-selection.'],
    rows: [['credentials stored with model parameters', '.filter(([key]) => !isCredentialName(key))', '']],
  },
  {
    file: 'src/model/model-registry.ts',
    tests: ['src/model/model-registry.'],
    rows: [
      [
        'provider replaced without being told to',
        'if (replace || !this.#providers.has(provider.provider))',
        'if (true)',
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-tool.ts',
    tests: ['src/engine/turn/run-tool.'],
    rows: [
      ['tool arguments not validated', 'if (validated.issues !== undefined)', 'if (false)'],
      ['tool timeout off', 'limits.toolTimeoutMs, () => {', 'limits.toolTimeoutMs, () => {\nreturn'],
    ],
  },
  {
    file: 'src/engine/turn/run-model-step.ts',
    tests: ['src/engine/turn/run-model-step.', 'src/engine/turn/run-tool.'],
    rows: [
      [
        'tool call left without a result',
        "draft.memory.append(namespace, message('tool', [skipped], turn.number))",
        '',
      ],
    ],
  },
  {
    file: 'src/engine/turn/run-steps.ts',
    tests: ['src/engine/turn/run-steps.'],
    rows: [
      ['completed never told', 'completed: steps.require(stepId) instanceof EndStep', 'completed: false'],
      [
        'content type kept after a move',
        'draft.contentType = fields?.contentType',
        'draft.contentType = fields?.contentType ?? draft.contentType',
      ],
    ],
  },
]
