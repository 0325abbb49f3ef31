/** A folder of stored sessions as one regression test: each is replayed, and what differs is one report. */
import type { FlowConstructor, SessionDocument } from '../../src/index.js'
import { checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { count, ExpectationError, list, show } from '../expectations/expectation-error.js'
import { isListOf, shownStep } from '../expectations/value-kinds.js'
import { wholeDocument, wholeRecording } from './file-parts.js'
import { readJsonFiles } from './read-folder.js'
import { type Recording, type RecordingOptions, type ReplayOptions, recordingOf, replay } from './recording.js'

/** The options of {@link replayAll}. */
export interface ReplayAllOptions {
  /** The flows, as they are now. A session of a flow that is not listed fails. */
  readonly flows: readonly FlowConstructor[]
  /**
   * The options of the replay of one session: its own services, its `serverContext`. It is called once for each
   * session. Default: none.
   */
  replayOptions?(recording: Recording, file: string): ReplayOptions
  /** For sessions that need more to be recorded, as `recordingOf` says when it refuses one. Default: none. */
  recordingOptions?(document: SessionDocument, file: string): RecordingOptions
}

const optionNames: OptionNames<ReplayAllOptions> = { flows: true, replayOptions: true, recordingOptions: true }

/** What {@link replayAll} replayed. */
export interface ReplaySummary {
  readonly sessions: number
  readonly turns: number
}

/**
 * Replays every session in a folder, one after the other, as `replay` does. Each `.json` file, in folders within it
 * too, is a session document, or a recording that `recordingOf` made. The files hold what people said: protect them as
 * the sessions.
 *
 * @param folder - A path, or a `file:` URL: `new URL('./sessions', import.meta.url)`.
 * @throws `ExpectationError` (rejects) with one report of all sessions that differ, or that cannot be replayed;
 * sessions with the same difference are listed together. So does a folder without a session, and what is not a folder.
 * `InvalidInputError` (rejects) for an option that is unknown, or of another kind. What the file system throws.
 * @example
 * ```ts
 * test('conversations of last week still go that way', async () => {
 *   await replayAll('sessions', { flows: [Onboarding], replayOptions: () => ({ services: createServices() }) })
 * })
 * ```
 */
export async function replayAll(folder: string | URL, options: ReplayAllOptions): Promise<ReplaySummary> {
  checkOptionNames('replayAll', options, optionNames)
  checkOptions(options)
  const files = await readJsonFiles(folder)
  if (files.length === 0) throw new ExpectationError(`There is no session in '${folder}': it has no .json file.`)
  const failures: { readonly file: string; readonly text: string }[] = []
  let turns = 0
  for (const { file, read } of files) {
    try {
      turns += await replayFile(file, await read(), options)
    } catch (error) {
      failures.push({ file, text: ExpectationError.isInstance(error) ? error.message : String(error) })
    }
  }
  if (failures.length === 0) return { sessions: files.length, turns }
  throw new ExpectationError(
    `Of ${count(files.length, 'session')} in '${folder}', ${failures.length} did not go as recorded.\n\n${reportOf(failures)}`,
  )
}

/** Checks what would else be reported as a difference of each session. */
function checkOptions(options: ReplayAllOptions): void {
  const { flows } = options
  if (!isListOf(flows, (flow) => typeof flow === 'function')) {
    throw invalidInput(`replayAll: flows must be a list of flows, such as [Order]; got ${shownStep(flows)}.`)
  }
  for (const name of ['replayOptions', 'recordingOptions'] as const) {
    const given: unknown = options[name]
    if (given === undefined || typeof given === 'function') continue
    throw invalidInput(
      `replayAll: ${name} must be a function that returns the options for a session; got ${show(given)}.`,
    )
  }
}

/** Replays the session of a file; the number of its turns. */
async function replayFile(file: string, text: string, options: ReplayAllOptions): Promise<number> {
  const recording = recordingIn(file, text, options)
  const flow = options.flows.find(({ id, aliases }) => id === recording.flow || aliases.includes(recording.flow))
  if (flow === undefined) {
    const known = list(options.flows.map(({ id }) => id))
    throw new ExpectationError(`The session is of flow '${recording.flow}', which is not in flows (${known}).`)
  }
  await replay(flow, recording, options.replayOptions?.(recording, file))
  return recording.turns.length
}

function recordingIn(file: string, text: string, { recordingOptions }: ReplayAllOptions): Recording {
  let value: Partial<SessionDocument & Recording> | null
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    throw new ExpectationError(`The file is not valid JSON: ${(error as Error).message}`)
  }
  if (Array.isArray(value?.history)) {
    const document = wholeDocument('The session document in the file', value)
    return recordingOf(document, recordingOptions?.(document, file))
  }
  if (Array.isArray(value?.turns) && typeof value.script === 'object')
    return wholeRecording('The recording in the file', value)
  throw new ExpectationError('The file has neither a session document nor a recording of one.')
}

/** The failures, those with the same difference together. */
function reportOf(failures: readonly { readonly file: string; readonly text: string }[]): string {
  const groups = new Map<string, { readonly text: string; readonly files: string[] }>()
  for (const { file, text } of failures) {
    const known = groups.get(differenceIn(text))
    if (known === undefined) groups.set(differenceIn(text), { text, files: [file] })
    else known.files.push(file)
  }
  const parts = [...groups.values()].map(({ text, files: [first, ...others] }) => {
    const alike =
      others.length === 0 ? '' : `\n\nThe same in ${count(others.length, 'other file')}: ${others.join(', ')}`
    return `${first}:\n${text}${alike}`
  })
  return parts.join('\n\n')
}

/** A failure without the names of its session and its turn, which differ even if the cause is the same. */
function differenceIn(text: string): string {
  return text
    .replace(/^Session '.*?'(?= (?:of flow|cannot be) )/, '')
    .replace(/ at turn \d+ of \d+\.$/m, '')
    .replaceAll(/^ {2}- #\d+ /gm, '  - ')
    .replace(/^ {2}User: .*$/m, '')
}
