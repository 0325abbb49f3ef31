// The conversation in a terminal, from what is typed to what is shown: commands, questions, and texts that would be
// commands to the terminal itself.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { event, Flow, finish, go, LogicStep, reply, Step, ToolError, type Turn, tool } from '../../src/index.js'
import { choices } from '../../src/parts/index.js'
import { Studio } from './studio.js'
import { chat, type Terminal } from './terminal-chat.js'

const hour = 3_600_000
/** What effects ran, in order. */
let ran: string[] = []
let folder: string
const open: Studio[] = []

beforeEach(() => {
  ran = []
  folder = mkdtempSync(join(tmpdir(), 'chat-'))
})

afterEach(async () => {
  await Promise.all(open.splice(0).map((studio) => studio.close()))
  rmSync(folder, { recursive: true })
})

class Pay extends LogicStep<{ paid: number }> {
  static override readonly id = 'Pay'
  override initialState() {
    return { paid: 0 }
  }
  override events() {
    return [
      event({ name: 'remind', after: hour, execute: () => reply('Still there?') }),
      event({ name: 'warn', after: 2 * hour, execute: () => reply('Last call.') }),
      event({
        name: 'decision',
        input: z.object({ approved: z.boolean() }),
        execute: ({ approved }) => reply(`Decided: ${approved}`),
      }),
    ]
  }
  override async run(turn: Turn) {
    const charge = (name: string): Promise<number> => turn.once(name, () => ran.push(name))
    switch (turn.message) {
      case 'pay':
        return reply(`Paid ${await charge('charge')}`)
      case 'pay twice':
        return reply(`Paid ${await charge('first')}, ${await charge('second')}`)
      case 'pay both':
        return reply(`Paid ${await Promise.all([charge('first'), charge('second')])}`)
      case 'choose':
        return reply('When?').withParts([
          choices('day', [
            { value: 'now', label: 'Today' },
            { value: 'later', label: 'Later\u001B[2J' },
          ]),
        ])
      case 'fail':
        throw new Error('It broke.\u001B]0;title\u0007')
      case 'picture':
        return reply('AAAA').withContentType('image/png', { encoding: 'base64' })
      case 'bye':
        return finish('Bye.')
      default:
        return reply(`Heard ${turn.message}`)
    }
  }
}
class Till extends Flow {
  static override readonly id = 'Till'
  override steps() {
    return [Pay]
  }
}
class Ask extends Step<{ name?: string }> {
  static override readonly id = 'Ask'
  override prompt() {
    return 'Ask for the name.'
  }
  override model() {
    return { provider: 'any', name: 'small' }
  }
  override events() {
    return [event({ name: 'ping', execute: () => reply('Pong.') })]
  }
  override tools() {
    return [
      tool({ name: 'refund', description: 'Pays back.', execute: () => ({ done: ran.push('refund') }) }),
      tool({ name: 'next', description: 'Goes on.', execute: () => go(Pay) }),
      tool({ name: 'fails', description: 'Fails.', execute: () => Promise.reject(new ToolError('No.')) }),
    ]
  }
}
class Shop extends Flow {
  static override readonly id = 'Shop'
  override steps() {
    return [Ask, Pay]
  }
}

/** Says something and calls the tool that the user names; after it, says what it got. */
const script = ({ messages }: { messages: readonly { role: string; parts: readonly unknown[] }[] }) => {
  const last = messages.at(-1)
  const [{ text = '' }] = (last?.parts ?? []) as [{ text?: string }]
  if (last?.role !== 'user') return 'Done.'
  return ['refund', 'next', 'fails'].includes(text)
    ? { text: 'One moment.', toolCalls: [{ name: text }] }
    : `You said: ${text}`
}

/** A terminal whose user waits for each prompt. */
class FakeTerminal implements Terminal {
  written = ''
  readonly #typed: (string | undefined)[] = []
  #wake = (): void => undefined
  #prompted = (): void => undefined

  write(text: string): void {
    this.written += text
    if (text.endsWith('> ')) this.#prompted()
  }

  get lines(): AsyncIterable<string> {
    return this.#read()
  }

  /** Types a line, or ends the input. Returns what is shown until the next prompt. */
  async type(line: string | undefined): Promise<string> {
    const before = this.written.length
    const prompt = this.prompt()
    this.put(line)
    await prompt
    return this.written.slice(before)
  }

  put(line: string | undefined): void {
    this.#typed.push(line)
    this.#wake()
  }

  prompt(): Promise<void> {
    return new Promise((resolve) => {
      this.#prompted = resolve
    })
  }

  async *#read(): AsyncGenerator<string> {
    while (true) {
      if (this.#typed.length === 0) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
      }
      const line = this.#typed.shift()
      if (line === undefined) return
      yield line
    }
  }
}

interface Chatting {
  readonly terminal: FakeTerminal
  readonly studio: Studio
  /** Resolves when the command ends. */
  readonly ended: Promise<void>
  /** Types lines, one after the other. Returns what is shown after the last. */
  type(...lines: string[]): Promise<string>
}

function chatting(flow: 'Till' | 'Shop' = 'Till', reply: unknown = script): Chatting {
  const source = { file: join(folder, 'flows.js'), exportNames: { Till: 'Till', Shop: 'Shop' }, hasSetup: false }
  const studio = new Studio({ flows: [Till, Shop], setup: { script: reply as never }, folder, source })
  open.push(studio)
  const terminal = new FakeTerminal()
  const ended = chat(studio, flow, terminal)
  return {
    terminal,
    studio,
    ended,
    async type(...lines) {
      let shown = ''
      for (const line of lines) shown = await terminal.type(line)
      return shown
    },
  }
}

describe('a message', () => {
  test('gets its reply, and the prompt follows', async () => {
    const { terminal, type } = chatting()
    expect(terminal.written).toBe('Till. /help lists the commands.\n> ')
    expect(await type('Hello')).toBe('Heard Hello\n> ')
    expect(await type('choose')).toBe('When?\n- button: Today\n- button: Later[2J\n> ')
    expect(await type('picture')).toBe('[image/png]\n> ')
    expect(await type('bye')).toBe('Bye.\nThe conversation is completed.\n> ')
    expect(await type('Hello?')).toBe('This conversation is completed. Begin a new one, or go back a turn.\n> ')
  })

  test('shows the reply of a model as it comes, its tools, and what was taken back', async () => {
    const { terminal, type } = chatting('Shop')
    let pieces = 0
    const write = terminal.write.bind(terminal)
    terminal.write = (text) => {
      pieces++
      write(text)
    }
    expect(await type('Hello')).toBe('You said: Hello\n> ')
    expect(pieces).toBeGreaterThan(3)
    expect(await type('/event ping')).toBe('Pong.\n> ')
    expect(await type('refund')).toBe('One moment.\n(the model starts again)\n[refund]\nDone.\n> ')
    expect(await type('fails')).toBe('One moment.\n(the model starts again)\n[fails]\nDone.\n> ')
    expect(await type('next')).toBe('One moment.\n(the model starts again)\n[next]\nHeard next\n> ')
  })
})

describe('a failed turn', () => {
  test('shows the code, the reason and the line of the author, and can be taken back', async () => {
    const { type } = chatting()
    const shown = await type('Hello', 'fail')
    expect(shown).toMatch(/^FLOW_ERROR: .*It broke\.\]0;title\nat Pay\.run .*terminal-chat\.test\.ts:\d+:\d+\)\n/)
    expect(shown).toMatch(/\nThe conversation is aborted\.\n> $/)
    expect(await type('/back')).toBe('Back after turn 1: Heard Hello\n> ')
    expect(await type('Hm')).toBe('Heard Hm\n> ')
  })

  test('of a model has nothing of the reply that was under way on its line', async () => {
    const { type } = chatting('Shop', ({ messages }: { messages: readonly { role: string }[] }) => {
      if (messages.at(-1)?.role !== 'user') throw new Error('The model is gone.')
      return { text: 'One moment.', toolCalls: [{ name: 'refund' }] }
    })
    expect(await type('Hello')).toMatch(/\n\[refund\]\n[A-Z_]+: .*The model is gone\./s)
  })
})

describe('characters that are commands to a terminal', () => {
  const commands = '\u001B[2J\u0007\u009B31m\r\b\u202E'

  test.each([
    ['a message', `Hello${commands}`],
    ['a command', `/${commands}state`],
    ['the payload of an event', `/event decision {"approved":"${commands}"}`],
    ['the name of an event', `/event ${commands}`],
    ['a broken payload', `/event decision {${commands}`],
    ['a time', `/advance ${commands}`],
    ['a number', `/back ${commands}`],
    ['the name of a file', `/save ${commands}`],
  ])('are not shown: %s', async (_what, line) => {
    const { terminal, type } = chatting('Shop')
    await type('Hello', line, '/state', '/step', '/back')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(terminal.written).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202E]/)
    expect(terminal.written.length).toBeGreaterThan(100)
  })
})

describe('a command', () => {
  test('that does not exist says so, and nothing is sent', async () => {
    const { type, studio } = chatting()
    expect(await type('/states')).toBe('There is no command /states. /help lists them.\n> ')
    expect(await type('/constructor')).toBe('There is no command /constructor. /help lists them.\n> ')
    expect(await type('/help')).toMatch(/^\/state .*\n\/quit\n> $/s)
    expect(studio.lines[0]?.turns).toEqual([])
    expect(await type('/ or // is text')).toBe('Heard / or // is text\n> ')
  })

  test('/state shows the states of the steps and the context', async () => {
    const { type } = chatting()
    expect(await type('/state')).toBe('{\n  "context": {}\n}\n> ')
    expect(JSON.parse((await type('pay', '/state')).replace(/> $/, ''))).toEqual({ Pay: { paid: 0 }, context: {} })
  })

  test('/step shows the step, its events and timers, and the time', async () => {
    const { type, studio } = chatting()
    expect(await type('/step')).toMatch(/^No step yet\.\n {2}time .*Z\n> $/)
    const shown = await type('Hello', '/step')
    const at = (ms: number): string => new Date(Number(studio.lines[0]?.stored.now) + ms).toISOString()
    expect(shown).toMatch(/^Pay\n(?: {2}event \w+\n)* {2}event decision\n/)
    expect(shown).toContain(`
  timer remind: ${at(hour)}
  timer warn: ${at(2 * hour)}
  time ${at(0)}
> `)
  })

  test('/back goes back by turns, in a line of its own', async () => {
    const { type, studio } = chatting()
    expect(await type('/back')).toBe('There are 0 turns to go back.\n> ')
    expect(await type('0', '/back 2')).toBe('There is 1 turn to go back.\n> ')
    expect(await type('/back')).toBe('Back at the beginning.\n> ')
    expect(await type('1', '2', '3', '/back')).toBe('Back after turn 2: Heard 2\n> ')
    expect(await type('/back 2')).toBe('Back at the beginning.\n> ')
    expect(await type('4', '5', '/back 99')).toBe('There are 2 turns to go back.\n> ')
    expect(await type('/back soon')).toBe('There are 2 turns to go back.\n> ')
    expect(await type('/back 0')).toBe('There are 2 turns to go back.\n> ')
    expect(await type('6')).toBe('Heard 6\n> ')
    expect(studio.lines.map(({ turns }) => turns.length)).toEqual([1, 3, 2, 3])
  })

  test('/back shows the reply again with its buttons, and a picture as its type', async () => {
    const { type } = chatting()
    await type('choose', 'Hm')
    expect(await type('/back')).toBe('Back after turn 1: When?\n- button: Today\n- button: Later[2J\n> ')
    expect(await type('picture', 'Hm', '/back')).toBe('Back after turn 2: [image/png]\n> ')
  })

  test('/advance moves the time, and shows each turn that becomes due', async () => {
    const { type, studio } = chatting()
    expect(await type('/advance')).toBe('There is no timer.\n> ')
    await type('Hello')
    const now = Number(studio.lines[0]?.stored.now)
    const timeAfter = (ms: number): string => `It is ${new Date(now + ms).toISOString()}.\n> `
    expect(await type('/advance 30m')).toBe(timeAfter(hour / 2))
    expect(await type('/advance')).toBe(`Still there?\n${timeAfter(hour)}`)
    expect(studio.lines[0]?.stored.now).toBe(now + hour)
    expect(await type('/back', '/advance 1.5w')).toBe(`Still there?\nLast call.\n${timeAfter(1.5 * 168 * hour)}`)
    expect(studio.lines[1]?.stored.now).toBe(now + 1.5 * 168 * hour)
  })

  test.each(['soon', '2', 'h', '-2h', '2 hours'])('/advance %s is not a time', async (time) => {
    const { type, studio } = chatting()
    const now = studio.lines[0]?.stored.now
    expect(await type(`/advance ${time}`)).toBe(
      `'${time}' is not a time: write a number and s, m, h, d or w, as in /advance 2h\n> `,
    )
    expect(studio.lines[0]?.stored.now).toBe(now)
  })

  test('/advance does not go where there are no dates', async () => {
    const { type } = chatting()
    expect(await type('/advance 99999999999w')).toBe('The time moves by 0 milliseconds or more.\n> ')
    expect(await type('/step')).toContain('  time 20')
  })

  test('/event sends an event of the application; one that is not taken says why, and is no turn', async () => {
    const { type, studio } = chatting()
    expect(await type('/event')).toBe('There is no event to send.\n> ')
    await type('Hello')
    expect(await type('/event decision {"approved": true}')).toBe('Decided: true\n> ')
    expect(studio.lines[0]?.turns.at(-1)?.input).toMatchObject({ sender: 'application', event: { name: 'decision' } })
    expect(await type('/event decision {broken')).toMatch(/^The payload is not JSON: .+\n> $/)
    expect(await type('/event decision {"approved": 1}')).toMatch(/approved.*\n> $/s)
    expect(await type('/event other')).toBe("The event 'other' is not taken now. Events: decision\n> ")
    expect(await type('/event')).toBe('Events: decision\n> ')
    expect(await type('Hm')).toBe('Heard Hm\n> ')
    expect(studio.lines[0]?.turns).toHaveLength(3)
  })

  test('/save writes a test, or a scenario, under its name or that of the flow', async () => {
    const { type } = chatting()
    expect(await type('/save')).toBe('There is no turn to save.\n> ')
    await type('Hello')
    const saved = ['/save', '/save scenario', '/save Who pays?', '/save scenario Who waits?', '/save scenarios']
    for (const command of saved) {
      const paths = (await type(command)).split('\n').slice(0, -1)
      expect(paths.length).toBeGreaterThan(0)
      expect(paths.filter((path) => !existsSync(path))).toEqual([])
    }
    expect(readdirSync(folder).filter((name) => /(test\.mjs|\.scenario\.md)$/.test(name))).toEqual([
      'scenarios.test.mjs',
      'till.scenario.md',
      'till.test.mjs',
      'who-pays.test.mjs',
      'who-waits.scenario.md',
    ])
  })
})

describe('a question of a fork', () => {
  /** A fork at the beginning, in which nothing is recorded. */
  async function forked(flow: 'Till' | 'Shop' = 'Till'): Promise<Chatting> {
    const begun = chatting(flow)
    await begun.type('Hello', '/back')
    return begun
  }

  test('is answered by y', async () => {
    const { terminal, type } = await forked()
    expect(await type('pay')).toBe('Run charge for real? (y/n/all)\n> ')
    expect(ran).toEqual([])
    await type(' Y ')
    expect(ran).toEqual(['charge'])
    expect(await type('Hm', 'Hm')).toBe('Heard Hm\n> ')
    expect(terminal.written).toMatch(/\(y\/n\/all\)\n> Paid 1\n> Heard Hm\n> Heard Hm\n> $/)
  })

  test.each(['n', '', 'perhaps', '/state'])('is answered with no by %j', async (answer) => {
    const { type } = await forked()
    await type('pay')
    expect(await type(answer)).toMatch(/^TURN_ABORTED: .*You did not let charge run/s)
    expect(ran).toEqual([])
  })

  test('comes again in the same turn, unless all is the answer', async () => {
    const { type } = await forked()
    expect(await type('pay twice')).toBe('Run first for real? (y/n/all)\n> ')
    expect(await type('yes')).toBe('Run second for real? (y/n/all)\n> ')
    expect(await type('y')).toBe('Paid 1, 2\n> ')
    const { type: typeAgain } = await forked()
    expect(await typeAgain('pay')).toBe('Run charge for real? (y/n/all)\n> ')
    expect(await typeAgain('all')).toBe('Paid 3\n> ')
    expect(await typeAgain('pay twice')).toBe('Paid 4, 5\n> ')
  })

  test('waits for the answer to another one of the same time', async () => {
    const { type } = await forked()
    expect(await type('pay both')).toBe('Run first for real? (y/n/all)\n> ')
    expect(await type('y')).toBe('Run second for real? (y/n/all)\n> ')
    expect(await type('y')).toBe('Paid 1,2\n> ')
  })

  test('is not asked once another one of the same time has ended the turn', async () => {
    const { type } = await forked()
    await type('pay both')
    expect(await type('n')).toMatch(/^TURN_ABORTED: .*You did not let first run/s)
    expect(ran).toEqual([])
  })

  test('of a tool has its arguments, and the model goes on after a no', async () => {
    const { type } = await forked('Shop')
    expect(await type('refund')).toBe(
      'One moment.\n(the model starts again)\n[refund]\nRun refund {} for real? (y/n/all)\n> ',
    )
    expect(await type('n')).toBe('Done.\n> ')
    expect(await type('next', 'y')).toBe('Heard next\n> ')
    expect(await type('/back', 'next')).toContain(
      'Run next {} for real? It ran in the earlier line, and has to run again because it, or a tool beside it, changes the session. (y/n/all)\n> ',
    )
    expect(ran).toEqual([])
  })

  test('is a no if the input ends, and the command ends', async () => {
    const { terminal, type, ended, studio } = await forked()
    await type('pay')
    const { length } = terminal.written
    terminal.put(undefined)
    await ended
    await studio.close()
    expect([ran, terminal.written.slice(length)]).toEqual([[], '\n'])
  })

  test('ends with a turn that is stopped, and what came of it is shown', async () => {
    const { terminal, type, studio } = await forked()
    await type('pay')
    const { length } = terminal.written
    const prompt = terminal.prompt()
    studio.stop()
    await prompt
    expect(terminal.written.slice(length)).toMatch(/^\n.*\n> $/s)
    expect(ran).toEqual([])
  })
})

describe('the end', () => {
  test('is /quit, or that of the input', async () => {
    const quitting = chatting()
    await quitting.type('Hello')
    quitting.terminal.put(' /quit ')
    await quitting.ended
    const { terminal, ended, studio } = chatting()
    for (const line of ['1', '2', undefined]) terminal.put(line)
    await ended
    expect(terminal.written).toBe('Till. /help lists the commands.\n> Heard 1\n> Heard 2\n> \n')
    expect(studio.lines.at(-1)?.turns).toHaveLength(2)
  })

  test('of a turn that is stopped is shown, and the conversation goes on', async () => {
    let asked = (): void => undefined
    const asking = new Promise<void>((resolve) => {
      asked = resolve
    })
    let isFirst = true
    const { terminal, type, studio } = chatting('Shop', () => {
      asked()
      if (!isFirst) return 'Back again.'
      isFirst = false
      return new Promise(() => undefined)
    })
    const hanging = terminal.type('Hello')
    await asking
    studio.stop()
    expect(await hanging).toMatch(/\n> $/)
    expect(await type('Hello?')).toBe('Back again.\n> ')
  })
})
