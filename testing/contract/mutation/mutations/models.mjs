// Mutations of the calls of models: attempts, models that stand in, breakers, budgets, forms of answers, and recovery.

/** @type {import('../apply-mutation.mjs').MutationGroups} */
export const modelMutations = [
  {
    file: 'src/engine/model-call/choose-model.ts',
    tests: [
      'src/engine/turn/run-model-step.test',
      'src/engine/flow-engine.limits.',
      'src/engine/model-call/attempts.retry.',
    ],
    rows: [
      [
        'endless loop of model calls',
        'chooseModel',
        {
          piece: 'if (draft.modelCalls >= limits.maxModelCallsPerTurn)',
          becomes: 'if (draft.modelCalls >= 200)',
        },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/empty-answer.ts',
    tests: ['src/engine/model-call/empty-answer.'],
    rows: [
      [
        'empty answer taken for a reply',
        'checkNotEmpty',
        {
          statement: 'throw new EmptyAnswer',
          becomes: '',
        },
      ],
      [
        'model not told why it is asked again',
        'askedAgain',
        {
          piece: '[...messages, reason]',
          becomes: '[...messages]',
        },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/answer-parts.ts',
    tests: ['src/engine/model-call/answer-parts.'],
    rows: [
      [
        'arguments that cannot be stored fail the turn',
        'inputOf',
        {
          statement: 'return unreadable(isTooDeep',
          becomes: 'throw error',
        },
      ],
      [
        'two calls with one ID',
        'CallIds.take',
        {
          piece: 'this.#used.add(id)',
          becomes: '',
        },
      ],
      [
        'call with the ID of an earlier turn',
        'idsIn',
        {
          statement: 'ids.add(part.toolCallId)',
          becomes: 'continue',
        },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/attempts.ts',
    tests: ['src/engine/model-call/empty-answer.'],
    rows: [
      [
        'empty answers asked for without end',
        'delayAfter',
        {
          piece: 'thrown instanceof EmptyAnswer && attempt < modelRetry.maxAttempts',
          becomes: 'thrown instanceof EmptyAnswer && attempt < 50',
        },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/attempts.ts',
    tests: [
      'src/engine/turn/run-model-step.test',
      'src/engine/flow-engine.limits.',
      'src/engine/model-call/attempts.retry.',
    ],
    rows: [
      [
        'attempts without end',
        'delayAfter',
        {
          piece: 'if (attempt >= modelRetry.maxAttempts) return undefined',
          becomes: 'if (attempt >= 50) return undefined',
        },
      ],
      [
        'every attempt a call of its own',
        'ask',
        {
          piece: 'draft.usage.modelCalls++',
          becomes: 'draft.usage.modelCalls++\ndraft.modelCalls++',
        },
      ],
      [
        'attempt after the deadline of the turn',
        'delayAfter',
        {
          piece: 'now + delayMs >= control.deadlineAt ||',
          becomes: '',
        },
      ],
      [
        'delay that outlives its turn',
        'pause',
        {
          piece: 'control.addPending(stopTimer)',
          becomes: '',
        },
      ],
      [
        'delay with no random part',
        'delayAfter',
        {
          piece: 'Math.floor(random() * longest)',
          becomes: 'longest',
        },
      ],
    ],
  },
  {
    file: 'src/model/model-failure.ts',
    tests: ['src/model/model-failure.', 'src/engine/model-call/attempts.retry.'],
    rows: [
      [
        '400 tried again',
        'isTransientStatus',
        {
          piece: 'status === 408 ||',
          becomes: 'status === 400 || status === 408 ||',
        },
      ],
      [
        'Retry-After ignored',
        'retryAdvice',
        {
          piece: 'isRetryable ? retryAfterOf(error, now) : 0',
          becomes: '0',
        },
      ],
      [
        'long chain of causes read to its end',
        'retryAdvice',
        {
          piece: 'depth < maxCauses',
          becomes: 'depth < 1000',
        },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/choose-model.ts',
    tests: [
      'src/engine/model-call/choose-model.',
      'src/engine/model-call/attempts.circuit.',
      'src/engine/model-call/attempts.budgets.',
    ],
    rows: [
      [
        'refusal answered by another model',
        'chooseModel',
        {
          piece: "|| error.code !== 'MODEL_ERROR'",
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/attempts.ts',
    tests: [
      'src/engine/model-call/choose-model.',
      'src/engine/model-call/attempts.circuit.',
      'src/engine/model-call/attempts.budgets.',
    ],
    rows: [
      [
        'budget checked after the attempt',
        'checkMayCall',
        {
          piece: 'draft.budget?.check(draft.usage)',
          becomes: '',
        },
      ],
      [
        'cost forgotten',
        'addUsage',
        {
          piece: 'spent.cost = (spent.cost ?? 0) + costOf(usage, prices)',
          becomes: 'spent.cost = 0',
        },
      ],
      [
        'cost of a failed attempt forgotten',
        'attemptModel',
        {
          piece: 'if (!isAdded) addUsage(draft, resolved, usage)',
          becomes: '',
        },
      ],
      [
        'waited for a breaker that is open',
        'delayAfter',
        {
          piece: '|| breaker.isOpenAt(now + delayMs)',
          becomes: '',
        },
      ],
    ],
  },
  {
    file: 'src/model/circuit-breaker.ts',
    tests: ['src/model/circuit-breaker.', 'src/engine/model-call/attempts.circuit.'],
    rows: [
      [
        'breaker that never closes',
        'succeeded',
        {
          piece: 'this.#failures = 0\n    this.#openUntil = undefined',
          becomes: '',
        },
      ],
      [
        'breaker that never opens',
        'failed',
        {
          piece: 'this.#openUntil = now + this.#resetTimeoutMs\n    return !wasOpen',
          becomes: 'return false',
        },
      ],
      [
        'all calls let through at once to try a provider',
        'waitFor',
        {
          piece: 'this.#openUntil = now + this.#resetTimeoutMs\n    return 0',
          becomes: 'return 0',
        },
      ],
    ],
  },
  {
    file: 'src/engine/budgets/budget-check.ts',
    tests: ['src/engine/model-call/attempts.budgets.'],
    rows: [
      [
        'budget that holds one call too late',
        'checkAmounts',
        {
          piece: 'spent[amount] >= value',
          becomes: 'spent[amount] > value',
        },
      ],
      [
        'time of failed turns forgotten',
        'keepTime',
        {
          piece: '(this.#before.wallTimeMs ?? 0) + elapsedMs(this.#clock, this.#startedAt)',
          becomes: '0',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/steps/run-model-step.ts',
    tests: ['src/engine/turn/run-model-step.output.', 'src/engine/turn/run-model-step.recovery.'],
    rows: [
      [
        'answers repaired without end',
        'takeAnswer',
        {
          piece: 'repairs < step.maxRepairs',
          becomes: 'repairs < 1000',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/steps/recover-from-model.ts',
    tests: ['src/engine/turn/run-model-step.output.', 'src/engine/turn/run-model-step.recovery.'],
    rows: [
      [
        'hook of the flow skipped',
        'recoverFromModel',
        {
          piece: 'for (const owner of [step, draft.flow])',
          becomes: 'for (const owner of [step])',
        },
      ],
    ],
  },
  {
    file: 'src/engine/turn/steps/run-model-step.ts',
    tests: ['src/engine/turn/run-model-step.output.', 'src/engine/turn/run-model-step.recovery.'],
    rows: [
      [
        'hook asked for failures of tools',
        'useAnswer',
        {
          piece: 'await runTools({ control, draft, turn, step, tools }, calls, namespace)',
          becomes:
            'await runTools({ control, draft, turn, step, tools }, calls, namespace).catch((error) => recoverFromModel(control, draft, turn, step, error))',
        },
      ],
    ],
  },
  {
    file: 'src/engine/model-call/model-attempt.ts',
    tests: ['src/engine/model-call/attempts.retry.'],
    rows: [
      [
        'time limit of a step for its model ignored',
        '#run',
        { piece: 'ownTimeoutMs ?? limits.modelTimeoutMs', becomes: 'limits.modelTimeoutMs' },
      ],
    ],
  },
]
