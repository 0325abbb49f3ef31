// Mutations of the adapter to the AI SDK: prompts, answers, failures, and what must not leave the process.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const aiSdkMutations = [
  {
    file: 'adapters/ai-sdk/answer.ts',
    tests: ['adapters/ai-sdk/answer.'],
    rows: [
      [
        'unreadable arguments taken for none',
        'parseArguments',
        { piece: 'input: {}, invalidInput:', becomes: 'input: {}, ignored:' },
      ],
      ['refusal taken for an answer', 'responseOf', { piece: 'hasRefusal(result.response?.body)', becomes: 'false' }],
      [
        'cost of an answer that was interrupted forgotten',
        'responseOf',
        { piece: 'Object.assign(cutOffError(selection), { usage })', becomes: 'cutOffError(selection)' },
      ],
    ],
  },
  {
    file: 'adapters/ai-sdk/prompt.ts',
    tests: ['adapters/ai-sdk/prompt.'],
    rows: [
      ['result in a message of its own', 'addResults', { condition: "role === 'tool'", becomes: 'false' }],
      [
        'empty message sent',
        'addUserMessage',
        { piece: 'content.length > 0 ? content : [emptyMessage]', becomes: 'content' },
      ],
    ],
  },
  {
    file: 'adapters/ai-sdk/remove-secrets.ts',
    tests: ['adapters/ai-sdk/failure.'],
    rows: [
      [
        'credentials in the body of a failed call',
        'withoutCredentials',
        { piece: '!isCredentialName(key)', becomes: 'true' },
      ],
      ['credentials in a URL', 'cleanError', { piece: 'error[property] = cleanText(url)', becomes: 'return' }],
    ],
  },
]
