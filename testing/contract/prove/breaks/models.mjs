// Breaks of the calls of models: attempts, models that stand in, breakers, budgets, forms of answers, and recovery.

/** @type {import('../apply-break.mjs').BreakGroups} */
export const modelBreaks = [
  {
    file: 'src/engine/model-call/call-model.ts',
    tests: [
      'src/engine/turn/run-model-step.test',
      'src/engine/flow-engine.limits.',
      'src/engine/model-call/call-model.retry.',
    ],
    rows: [
      [
        'endless loop of model calls',
        'if (run.modelCalls >= limits.maxModelCallsPerTurn)',
        'if (run.modelCalls >= 200)',
      ],
      [
        'attempts without end',
        'if (attempt >= modelRetry.maxAttempts) return undefined',
        'if (attempt >= 50) return undefined',
      ],
      [
        'every attempt a call of its own',
        'run.draft.usage.modelCalls++',
        'run.draft.usage.modelCalls++\nrun.modelCalls++',
      ],
      ['attempt after the deadline of the turn', 'now + delayMs >= scope.deadlineAt ||', ''],
      [
        'delay that outlives its turn',
        'scope.pending = setDeadline(scope.parts.clock, delayMs, () => {\nscope.pending = undefined',
        'setDeadline(scope.parts.clock, delayMs, () => {',
      ],
      ['delay with no random part', 'Math.floor(random() * longest)', 'longest'],
    ],
  },
  {
    file: 'src/model/model-failure.ts',
    tests: ['src/model/model-failure.', 'src/engine/model-call/call-model.retry.'],
    rows: [
      ['400 tried again', 'return status === 408 ||', 'return status === 400 || status === 408 ||'],
      ['Retry-After ignored', 'retryAfterMs: isRetryable ? retryAfterOf(error, now) : 0', 'retryAfterMs: 0'],
      ['circle of causes walked for ever', 'depth < maxCauses &&', 'depth < 1e9 &&'],
    ],
  },
  {
    file: 'src/engine/model-call/call-model.ts',
    tests: [
      'src/engine/model-call/call-model.fallback.',
      'src/engine/model-call/call-model.circuit.',
      'src/engine/model-call/call-model.budgets.',
    ],
    rows: [
      ['refusal answered by another model', "failure.code !== 'MODEL_ERROR' ||", ''],
      ['budget checked after the attempt', 'run.budget?.check(draft.usage, startedAt)', ''],
      ['cost forgotten', 'spent.cost = (spent.cost ?? 0) + costOf(usage, prices)', 'spent.cost = 0'],
      [
        'cost of a failed attempt forgotten',
        'if (usage === noUsage) usage = count(draft, resolved, thrown as ModelFailure)',
        '',
      ],
      ['waited for a breaker that is open', '|| breaker.isOpenAt(now + delayMs)', ''],
    ],
  },
  {
    file: 'src/model/circuit-breaker.ts',
    tests: ['src/model/circuit-breaker.', 'src/engine/model-call/call-model.circuit.'],
    rows: [
      ['breaker that never closes', 'this.#failures = 0\n    this.#openUntil = undefined', ''],
      ['breaker that never opens', 'this.#openUntil = now + this.#resetTimeoutMs\n    return !wasOpen', 'return false'],
      [
        'all calls let through at once to try a provider',
        'this.#openUntil = now + this.#resetTimeoutMs\n    return 0',
        'return 0',
      ],
    ],
  },
  {
    file: 'src/engine/model-call/budget-check.ts',
    tests: ['src/engine/model-call/call-model.budgets.'],
    rows: [
      ['budget that holds one call too late', 'spent[amount] >= value', 'spent[amount] > value'],
      ['time of failed turns forgotten', '(this.#before.wallTimeMs ?? 0) + now - this.#startedAt', '0'],
    ],
  },
  {
    file: 'src/engine/turn/run-model-step.ts',
    tests: ['src/engine/turn/run-model-step.output.', 'src/engine/turn/run-model-step.recovery.'],
    rows: [
      ['answers repaired without end', 'if (repairs++ >= step.maxRepairs)', 'if (repairs++ >= 1000)'],
      ['hook of the flow skipped', 'for (const asked of [step, flow])', 'for (const asked of [step])'],
      [
        'hook asked for failures of tools',
        'const transition = await runCalls(run, calls, tools, namespace, stepId)',
        'const transition = await runCalls(run, calls, tools, namespace, stepId).catch((error) => recover(run, step, stepId, error))',
      ],
    ],
  },
]
