/**
 * All lines of a studio: it begins, forks and opens them, and keeps each in a file, so that a process that restarts
 * with changed code goes on with them.
 */
import { createRequire } from 'node:module'
import { relative, resolve } from 'node:path'
import type { FlowConstructor, JsonValue, SessionDocument } from '../../src/index.js'
import { checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import type { ConversationOptions } from '../conversation/conversation-options.js'
import { checkFlow } from '../expectations/check-flow.js'
import { wholeDocument } from '../recording/file-parts.js'
import type { StoredTurn, StudioUpdate } from './api/types.js'
import { refuseProduction, withoutSecrets } from './line/environment.js'
import { type StoredLine, StudioLine } from './line/line.js'
import { summaryOf, turnsOf, viewOf } from './line/line-view.js'
import { savedScenario } from './saved-scenario.js'
import { type FlowSource, savedTest } from './saved-test.js'
import { StudioFiles } from './studio-files.js'

/** The options of a studio. */
export interface StudioOptions {
  /** The flows, each with its own ID. */
  readonly flows: readonly FlowConstructor[]
  /**
   * The options of the engine of each conversation, as a `Conversation` and a set-up of scenarios have them: `script`,
   * `providers`, `services`, doubles in `tools`. Default: none, so that a model step fails.
   */
  readonly setup?: ConversationOptions & { readonly flow?: unknown; readonly given?: unknown }
  /** The folder for everything that the studio writes. Default `'turnkeeper-studio'`, in the current folder. */
  readonly folder?: string
  /** The module of the flows, for the tests that the studio writes. Default: none, so that it cannot save. */
  readonly source?: {
    readonly file: string
    /** The names under which it exports the flows, by the IDs of the flows. */
    readonly exportNames: Readonly<Record<string, string>>
    /** Whether it exports a set-up as `default`. */
    readonly hasSetup: boolean
  }
}

const optionNames: OptionNames<StudioOptions> = { flows: true, setup: true, folder: true, source: true }

/**
 * The lines of one folder.
 *
 * @internal
 */
export class Studio {
  readonly flows: readonly FlowConstructor[]
  /** Differs in each process. */
  readonly run: string = crypto.randomUUID()
  readonly #setup: ConversationOptions
  readonly #source: StudioOptions['source']
  readonly #files: StudioFiles
  readonly #lines = new Map<string, StudioLine>()
  readonly #listeners = new Set<(update: StudioUpdate) => void>()

  /**
   * @throws `InvalidInputError` with `NODE_ENV=production`, for an unknown option, and for what is not a list of flows
   * with different IDs.
   */
  constructor(options: StudioOptions) {
    refuseProduction()
    checkOptionNames('the studio', options, optionNames)
    const { flows, setup = {}, folder = 'turnkeeper-studio', source } = options
    if (!Array.isArray(flows) || flows.length === 0) throw invalidInput('The studio needs a list of one flow or more.')
    for (const flow of flows) checkFlow('the studio', flow)
    if (new Set(flows.map(({ id }) => id)).size < flows.length) throw invalidInput('Two flows have one ID.')
    const { flow: _flow, given: _given, ...rest } = setup
    this.flows = flows
    this.#setup = rest
    this.#source = source
    this.#files = new StudioFiles(resolve(folder))
    for (const stored of this.#files.read().toSorted((one, other) => one.madeAt - other.madeAt)) {
      // Others are of other modules.
      if (this.#flowOf(stored) !== undefined) this.#add(stored)
    }
  }

  get lines(): readonly StudioLine[] {
    return [...this.#lines.values()]
  }

  /** @throws `InvalidInputError` if there is none. */
  line(id: string): StudioLine {
    const line = this.#lines.get(id)
    if (line === undefined) throw invalidInput(`There is no line '${id}'.`)
    return line
  }

  /** Begins a conversation. */
  begin(flowId: string): StudioLine {
    const flow = this.flows.find(({ id }) => id === flowId)
    if (flow === undefined) throw invalidInput(`There is no flow '${flowId}'.`)
    const now = Date.now()
    return this.#create({ id: this.#files.freeId(flow.id), flow: flow.id, startedAt: now, now, madeAt: now, turns: [] })
  }

  /** Goes back to the end of a turn, in a new line: 0 is the beginning. */
  fork(line: StudioLine, turn: number): StudioLine {
    if (!Number.isInteger(turn) || turn < 0 || turn > line.turns.length) {
      throw invalidInput(`The line has ${line.turns.length} turns, and not ${turn}.`)
    }
    if (line.stored.isReadOnly) throw invalidInput('This session can only be read.')
    const status = line.turns[turn - 1]?.document?.runStatus ?? 'running'
    if (status !== 'running')
      throw invalidInput(`With turn ${turn} the conversation was ${status}. Go on from an earlier one.`)
    return this.#create(line.forked(turn, this.#files.freeId(line.stored.flow)))
  }

  /** Plays the turns from this one on again, in a new line, which goes on by itself. */
  replay(line: StudioLine, turn: number): StudioLine {
    refuseHidden(line.turns, turn, 'be played again')
    const fork = this.fork(line, turn - 1)
    void fork.play(line.turns.slice(turn - 1)).catch((error: unknown) => console.error(error))
    return fork
  }

  /** Opens a stored session to be read. It is not kept. */
  open(document: JsonValue): StudioLine {
    wholeDocument('The file', document as unknown as SessionDocument)
    const whole = document as unknown as SessionDocument
    const flow = whole.flow.name
    const now = Date.parse(whole.savedAt ?? whole.createdAt)
    const id = `${this.#files.freeId(`opened ${flow}`)}-${this.#lines.size}`
    const times = { startedAt: now, now, madeAt: Date.now() }
    const line = this.#add({ id, flow, isReadOnly: true, ...times, turns: turnsOf(whole) })
    try {
      viewOf(line, [line])
    } catch (error) {
      this.#lines.delete(id)
      throw invalidInput(`The session cannot be shown: ${(error as Error).message}`)
    }
    this.#tell(this.list)
    return line
  }

  /** Writes a line as a test or a scenario. Returns the paths of the files. */
  save(line: StudioLine, as: 'test' | 'scenario', title: string): readonly string[] {
    const { startedAt, flow: flowId, turns } = line.stored
    const source = this.#source
    if (source === undefined) throw invalidInput('The studio does not know the module of the flows, so it cannot save.')
    if (line.stored.isReadOnly || turns.length === 0) throw invalidInput('There is no turn to save.')
    refuseHidden(turns, 1, 'be saved')
    const specifier = relative(this.#files.folder, resolve(source.file)).replaceAll('\\', '/')
    const exportName = source.exportNames[flowId]
    const flowSource: FlowSource = {
      specifier: specifier.startsWith('.') ? specifier : `./${specifier}`,
      ...(exportName === undefined ? {} : { exportName }),
      hasSetup: source.hasSetup,
      doubles: Object.keys(this.#setup.tools ?? {}),
      runner: this.#runner(),
    }
    if (as !== 'test' && as !== 'scenario') throw invalidInput('Save it as a test, or as a scenario.')
    const make = as === 'test' ? savedTest : savedScenario
    return this.#files.save(title, (slug) => {
      const files = make({ title, slug, startedAt, turns, source: flowSource })
      if (withoutSecrets(files) === JSON.stringify(files)) return files
      throw invalidInput('The conversation has a secret of the environment, which must not get into a test.')
    })
  }

  /** Calls `listener` with each update. Returns a function that ends that. */
  listen(listener: (update: StudioUpdate) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The lines, as an update. */
  get list(): StudioUpdate {
    const flows = this.flows.map(({ id }) => id)
    return { type: 'lines', flows, lines: this.lines.map(summaryOf), run: this.run }
  }

  /** Cancels the turns under way. */
  stop(): void {
    for (const line of this.#lines.values()) void line.stop()
  }

  /** Ends the turns under way, and their engines. */
  async close(): Promise<void> {
    await Promise.all(this.lines.map((line) => line.close()))
  }

  /** Vitest, if the project of the folder has it. */
  #runner(): FlowSource['runner'] {
    try {
      createRequire(`${this.#files.folder}/`).resolve('vitest/package.json')
      return 'vitest'
    } catch {
      return 'node:test'
    }
  }

  #create(stored: StoredLine): StudioLine {
    this.#write(stored)
    const line = this.#add(stored)
    this.#tell(this.list)
    return line
  }

  #add(stored: StoredLine): StudioLine {
    const line = new StudioLine(stored, this.#flowOf(stored), this.#setup, {
      onChange: (changed, isStored) => {
        if (isStored) this.#write(changed.stored)
        this.#tell(isStored ? this.list : { type: 'changed', line: changed.id })
      },
      onPiece: (changed, type, text) => this.#tell({ type, line: changed.id, text }),
    })
    this.#lines.set(line.id, line)
    return line
  }

  /** What cannot be written goes on in memory. */
  #write(stored: StoredLine): void {
    try {
      this.#files.write(stored)
    } catch (error) {
      console.error(`The line ${stored.id} is not written. ${(error as Error).message}`)
    }
  }

  #flowOf({ flow }: StoredLine): FlowConstructor | undefined {
    return this.flows.find(({ id, aliases }) => id === flow || aliases.includes(flow))
  }

  #tell(update: StudioUpdate): void {
    for (const listener of this.#listeners) listener(update)
  }
}

/** What the flow has hidden is not known any more. */
function refuseHidden(turns: readonly StoredTurn[], from: number, what: string): void {
  const hidden = turns.findIndex(({ input }, index) => input.isHidden && index >= from - 1)
  if (hidden < 0) return
  throw invalidInput(`What the user sent in turn ${hidden + 1} was hidden or masked, so it cannot ${what}.`)
}
