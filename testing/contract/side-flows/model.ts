/** What a turn does to a session, and its reply: as plainly as possible. */
import { hours, quiet, takers, ticks } from './flows.js'
import { childOf, find, flowsOf, isFlow, nameOf, outerOf } from './names.js'
import { type ModelFrame, type ModelSession, ModelStack } from './stack.js'

export interface ModelTurn {
  readonly script: string
  readonly now: number
  /** In the turn of an event. A timer is the one of an open call. */
  readonly event?: { readonly name: string; readonly from: 'user' | 'server' | 'timer'; readonly at?: number }
}

/** Who decides: a step, or a flow if there is none; and which open call it is. */
interface Source {
  readonly step?: string
  readonly flow: string
  readonly at: number
}

/** What a transition says. */
interface Fields {
  readonly lead?: string
  readonly type?: string | undefined
  readonly answer?: string | undefined
}

/** One turn over a copy of a session. */
export class ModelRun {
  readonly #stack: ModelStack
  readonly #turn: ModelTurn
  #script: string[]
  #answer: string | undefined
  #type: string | undefined
  #lead = ''
  #returned = ''

  constructor(before: ModelSession | undefined, turn: ModelTurn) {
    this.#stack = new ModelStack(before, turn.now)
    this.#turn = turn
    this.#script = turn.script.split('; ')
  }

  /** The session after the turn. */
  get session(): ModelSession {
    return this.#stack.session
  }

  /**
   * @returns the reply; `undefined` if no open call takes the event
   * @throws if the turn fails
   */
  play(): { readonly text: string; readonly type: string } | undefined {
    const { event, now } = this.#turn
    if (event === undefined) this.#begin()
    else if (!this.#take(event)) return undefined
    while (this.#answer === undefined || (this.#isAtEnd && this.#stack.last > 0)) this.#run()
    if (this.#lead !== '' && this.#reply.type !== 'text/plain') throw new Error('A lead needs plain text.')
    if (event === undefined) this.session.spokenAt = now
    if (event === undefined || event.from === 'user') this.#stack.endSilence()
    return this.#reply
  }

  get #reply(): { readonly text: string; readonly type: string } {
    const type = this.#type ?? this.#stack.top.type ?? 'text/plain'
    return { text: joined(this.#lead, this.#answer ?? ''), type }
  }

  get #isAtEnd(): boolean {
    return nameOf(this.#stack.top.step) === 'End'
  }

  #begin(): void {
    const { top } = this.#stack
    const isMeant = (flow: string): boolean => this.#script[0]?.startsWith(`@${nameOf(flow) || 'Shop'} `) === true
    for (const flow of flowsOf(top.step)) {
      if (isMeant(flow) && this.#decide({ flow, at: this.#stack.placeOf(flow) })) return
    }
    if (top.entry === 0) this.#enter(top.step)
  }

  #run(): void {
    const { step } = this.#stack.top
    if (this.#isAtEnd && this.#stack.last > 0) this.#endCall()
    else if (this.#isAtEnd) this.#answer = ''
    else if (!this.#decide({ step, flow: outerOf(step), at: this.#stack.last })) {
      this.#answer = `${step} ${this.session.states.get(step) ?? 0} ${this.#returned || ' '}`
    }
  }

  /** The innermost open call takes the event. */
  #take({ name, from, at: only }: NonNullable<ModelTurn['event']>): boolean {
    const places = [...this.#stack.frames.keys()].filter((at) => only === undefined || only === at).reverse()
    for (const at of places) {
      const found = this.#takenAt(at, name, from)
      if (found === undefined) continue
      this.#stack.frames[at]?.timers.delete(name)
      this.#script = found.script === '' ? [] : found.script.split('; ')
      if (!this.#decide(found.source)) this.#say({ answer: '', type: 'text/plain' })
      return true
    }
    return false
  }

  /** The step takes it, or else the flow that begins there. */
  #takenAt(at: number, name: string, from: string): { readonly script: string; readonly source: Source } | undefined {
    const { step, called = '', entry } = this.#stack.frames[at] as ModelFrame
    // A session that has not begun takes no event.
    if (entry === 0 && this.#stack.last === 0) return undefined
    const ofStep = entry === 0 ? undefined : scriptOf(nameOf(step), name, from, this.#turn.script)
    if (ofStep !== undefined) return { script: ofStep, source: { step, flow: outerOf(step), at } }
    const flow = at === 0 ? '' : called
    const script = isFlow(flow) ? scriptOf(nameOf(flow) || 'Shop', name, from, this.#turn.script) : undefined
    return script === undefined ? undefined : { script, source: { flow, at } }
  }

  /** Does commands up to a transition. @returns whether there was one */
  #decide(source: Source): boolean {
    const { step } = source
    for (let command = this.#script.shift(); command !== undefined; command = this.#script.shift()) {
      const [verb = '', word = ''] = command.replace(/^(!|@\w+) ?/, '').split(' ')
      if (verb !== 'set' && verb !== 'timer') {
        this.#follow(verb, word, fieldsOf(command), source)
        return true
      }
      if (step === undefined) continue
      if (verb === 'timer') this.#stack.setTimer(source.at, hours(word))
      else this.session.states.set(step, (this.session.states.get(step) ?? 0) + 1)
    }
    return false
  }

  #follow(verb: string, word: string, fields: Fields, source: Source): void {
    if (verb === 'fail') throw new Error('fail')
    else if (verb === 'say') this.#say({ answer: word })
    else if (verb === 'silent') this.#say({ answer: '', type: 'text/plain' })
    else if (verb === 'finish') this.#finish(source, word || undefined)
    else if (verb === 'call') this.#call(find(word, source.flow), fields)
    else if (verb === 'back') this.#back(source.at, word, fields)
    else this.#go(find(word, source.flow), source.at, fields)
  }

  #say({ lead = '', type, answer }: Fields): void {
    if (answer !== undefined) [this.#answer, this.#type] = [answer, type]
    this.#lead = joined(this.#lead, lead)
  }

  #call(called: string, fields: Fields): void {
    this.#stack.push(called)
    this.#say(fields)
    this.#enter(this.#stack.top.step, fields.type)
  }

  #back(at: number, value: string, fields: Fields): void {
    if (at === 0) throw new Error('It was not called.')
    this.#stack.dropAbove(at)
    this.#return(value, fields)
  }

  #return(value: string, fields: Fields): void {
    const { step, called = step } = this.#stack.frames.pop() as ModelFrame
    this.#say(fields)
    const { top } = this.#stack
    if (top.entry === 0) this.#enter(top.step, undefined, `${called} ${value}`)
    else this.#returned = `${called} ${value}`
  }

  /** A called flow has come to its end. */
  #endCall(): void {
    const { text, type } = this.#reply
    if (type !== 'text/plain') throw new Error('Its text becomes a part of another reply.')
    ;[this.#lead, this.#answer] = [text, undefined]
    this.#return('', {})
  }

  #go(to: string, place: number, fields: Fields): void {
    if (isFlow(to)) throw new Error('It is a flow.')
    const at = nameOf(to) === 'End' ? (this.#stack.calledAt(outerOf(to), place) ?? 0) : place
    const open = this.#stack.frames.findIndex(({ step }) => step === to)
    this.#replace(open === -1 ? at : Math.min(open, at), to, fields)
  }

  #finish({ flow, at }: Source, answer: string | undefined): void {
    const place = this.#stack.calledAt(flow, at)
    const ended = place === undefined ? '' : (this.#stack.frames[place]?.called as string)
    this.#replace(place ?? 0, childOf(ended, 'End'), { answer })
  }

  #replace(at: number, to: string, fields: Fields): void {
    this.#stack.dropAbove(at)
    this.#say(fields)
    this.#enter(to, fields.type)
  }

  #enter(step: string, type?: string, returned = ''): void {
    this.#stack.enter(step, type)
    this.#returned = returned
    const isAsked = !this.#isAtEnd && this.#script[0]?.startsWith('!')
    if (isAsked) this.#decide({ step, flow: outerOf(step), at: this.#stack.last })
  }
}

function fieldsOf(command: string): Fields {
  return {
    ...(command.includes('+lead') && { lead: 'L' }),
    ...(command.includes('+reply') && { answer: 'R' }),
    ...(command.includes('+md') && { type: 'text/markdown' }),
  }
}

/** What a step or a flow does for an event; `undefined` if it does not take it. */
function scriptOf(taker: string, event: string, from: string, payload: string): string | undefined {
  if (event === taker && takers.includes(taker)) return payload
  if (from === 'user') return undefined
  if (event === 'quiet') return taker === quiet.flow ? '' : undefined
  return event === 'tick' ? ticks[taker]?.script : undefined
}

function joined(lead: string, text: string): string {
  return lead === '' || text === '' ? lead + text : `${lead}\n\n${text}`
}
