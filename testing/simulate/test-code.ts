/** A simulated conversation as the code of a test that repeats it. It only writes; nothing is run here. */
import { codeOf } from '../expectations/code-of.js'
import type { ScriptedReply } from '../scripted-model/scripted-model.js'
import type { PlannedFault } from './plan.js'
import type { PlayedAction } from './simulated-turn.js'

/** What a test needs besides the messages. */
export interface TestCodeOptions {
  /** The name of the flow class. */
  readonly flow: string
  /** The answers of the models, in order. */
  readonly script: readonly ScriptedReply[]
  /** The providers that the flow names. */
  readonly providers: readonly string[]
  /** The options of the simulation that a conversation has under the same names. */
  readonly given: readonly string[]
  /** Whether the store was wrapped. */
  readonly hasStore: boolean
  /** The failure at the end. */
  readonly broken: string
}

/** The lines of a test. */
export function testCode(actions: readonly PlayedAction[], options: TestCodeOptions): string {
  const { flow, script, hasStore } = options
  const given = [...(script.length === 0 ? [] : [`script: [${script.map(replyCode).join(', ')}]`]), ...options.given]
  const needsEngine = actions[0]?.kind !== 'say' || actions[0].faults.length > 0
  return [
    ...(hasStore ? ['// The store was wrapped: give the conversation one like it, with createStore.'] : []),
    `const conversation = new Conversation(${flow}${given.length === 0 ? '' : `, { ${given.join(', ')} }`})`,
    ...(needsEngine ? ['await conversation.open()'] : []),
    ...actions.flatMap((action, index) => actionCode(action, index === actions.length - 1, options)),
    ...options.broken.split('\n').map((line) => `// ${line}`),
  ].join('\n')
}

function actionCode(action: PlayedAction, isLast: boolean, options: TestCodeOptions): string[] {
  if (action.kind === 'restart') return ['await conversation.restart()']
  if (action.kind !== 'together') {
    return [
      ...(action.kind === 'time' ? [] : action.faults.map(faultCode)),
      `await conversation.${callCode(action)}`,
      // The last turn is the one at fault.
      ...(action.code === undefined || isLast ? [] : [`conversation.expectError('${action.code}')`]),
    ]
  }
  return togetherCode(action, options)
}

function callCode(action: Extract<PlayedAction, { kind: 'say' | 'event' | 'time' }>): string {
  if (action.kind === 'say') {
    const more = action.choice === undefined ? '' : `, { choice: ${codeOf(action.choice)} }`
    return `say(${codeOf(action.said)}${more})`
  }
  if (action.kind === 'time') return `advance(${action.ms})`
  return `sendEvent(${[action.name, action.payload]
    .filter((part) => part !== undefined)
    .map(codeOf)
    .join(', ')})`
}

function faultCode({ operation, effect, times }: PlannedFault): string {
  if (effect === 'rival-write') return 'conversation.store.rivalWrites()'
  if (effect === 'rival-delete') return 'conversation.store.rivalDeletes()'
  const fields = [...(effect === 'fail-after' ? ['after: true'] : []), ...(times === 1 ? [] : [`times: ${times}`])]
  return `conversation.store.failNext('${operation}'${fields.length === 0 ? '' : `, { ${fields.join(', ')} }`})`
}

function togetherCode(
  { said, elsewhere, delays }: Extract<PlayedAction, { kind: 'together' }>,
  { flow, providers, given }: TestCodeOptions,
): string[] {
  const late = delays.flatMap((ms, index) => {
    if (ms === 0) return []
    const nth = index % 2 === 0 ? '' : ', { nth: 2 }'
    return [`conversation.store.delayNext('${index < 2 ? 'load' : 'save'}', ${ms}${nth})`]
  })
  const models = providers.map((provider) => `{ provider: ${codeOf(provider)}, resolve: () => conversation.model }`)
  const fields = [
    given.includes('tools') ? `flows: [conversation.tools.replaceIn(${flow})]` : `flows: [${flow}]`,
    'sessionStore: conversation.store',
    'clock: conversation.clock',
    // A conversation waits half of the maximum between two attempts.
    ...(models.length === 0 ? [] : [`providers: [${models.join(', ')}]`, 'random: () => 0.5']),
    ...given.filter((name) => ['services', 'limits', 'onTurnError'].includes(name)),
  ]
  const input = ['', ...given.filter((name) => ['config', 'owner'].includes(name))].join(', ')
  const engines = ['conversation.engine', elsewhere ? 'elsewhere' : 'conversation.engine']
  return [
    ...(elsewhere ? [`const elsewhere = new FlowEngine({ ${fields.join(', ')} })`] : []),
    ...late,
    'await conversation.clock.runUntil(',
    '  Promise.all([',
    ...said.map((text, index) => {
      return `    ${engines[index]}.execute({ flowName: ${flow}.id, userMessage: ${codeOf(text)}, sessionId: conversation.sessionId${input} }),`
    }),
    '  ]),',
    ')',
  ]
}

function replyCode(reply: ScriptedReply): string {
  return reply instanceof Error ? `new Error(${codeOf(reply.message)})` : codeOf(reply)
}
