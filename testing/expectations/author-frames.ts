/**
 * Where in the author's code an error was made: the lines of its stack that are neither of this package, nor of another
 * one, nor of the runtime. What is shown of an error in a failure is put together here.
 */
import { show } from './expectation-error.js'

/** How many lines of a stack are shown. */
const mostFrames = 8
/** How many causes of causes are shown. */
const mostCauses = 4
/** `at run (/app/(chat)/flow.ts:3:1)`: folders may have parentheses. */
const namedFrame = /^\s*at (.*? \()((?:[\w-]+:|[\w.@-]*[/\\]).*:\d+:\d+)\)$/
/** `at /app/flow.ts:3:1`: code without a name. Of a module that cannot be read, only the line is known. */
const bareFrame = /^\s*at (async )?((?:[\w-]+:|[\w.@-]*[/\\]).*:\d+)$/
/** The stack of an error about such a module begins with its place, without `at`. */
const beginsWithPlace = /^(?=file:|\/|[A-Za-z]:[/\\])/

/** The lines of an error's stack in the author's code, innermost first. */
export function authorFrames(error: unknown): readonly string[] {
  const stack: unknown = error instanceof Error ? error.stack : undefined
  if (typeof stack !== 'string') return []
  const lines = stack.replace(beginsWithPlace, 'at ').split('\n')
  const frames = lines.flatMap((line) => {
    const [, before = '', location = ''] = line.includes('(eval at ')
      ? []
      : (namedFrame.exec(line) ?? bareFrame.exec(line) ?? [])
    const path = pathOf(location)
    if (path === '' || !isOfAuthor(path)) return []
    return [`at ${before}${path}${before.endsWith('(') ? ')' : ''}`]
  })
  return frames.slice(0, mostFrames)
}

/**
 * The text below the message of a failed turn: each cause, and where in the author's code it was thrown; of an event
 * that nobody takes, those that are taken.
 *
 * @param said - The message that is shown already.
 */
export function causesText(error: unknown, said: string): string {
  const lines: string[] = []
  let cause: unknown = (error as { readonly cause?: unknown } | undefined)?.cause
  // What the engine itself found wrong has no cause; the line at which flow code called the engine is in its own stack.
  if (cause === undefined) lines.push(...[...takenNow(error), ...framesOfFlow(error)].map((line) => `  ${line}`))
  for (let depth = 0; cause !== undefined && depth < mostCauses; depth++) {
    const isShown = depth === 0 && isSameText(cause instanceof Error ? cause.message : cause, said)
    if (!isShown) lines.push(`  cause: ${show(cause, 1000)}`)
    lines.push(...authorFrames(cause).map((frame) => `${isShown ? '  ' : '    '}${frame}`))
    cause = cause instanceof Error ? cause.cause : undefined
  }
  return lines.map((line) => `\n${line}`).join('')
}

/** What code of the author threw, in words: its name and text, its lines, and its causes. */
export function thrownText(error: unknown): string {
  if (!(error instanceof Error)) return show(error, 1000)
  return `${error.name}: ${error.message}${causesText({ cause: error }, error.message)}`
}

/** Whether two texts are equal, apart from the full stop that the engine adds. */
function isSameText(text: unknown, said: string): boolean {
  return typeof text === 'string' && text.replace(/\.$/, '') === said.replace(/\.$/, '')
}

/** The events that the session takes, if the error is that it does not take one. */
function takenNow(error: unknown): readonly string[] {
  const { code, details } = (error ?? {}) as { readonly code?: unknown; readonly details?: unknown }
  return code === 'EVENT_NOT_TAKEN' && details !== undefined ? [String(details)] : []
}

/**
 * The stack of an error that the engine made in a call from the flow; other errors of the engine have no line of the
 * flow.
 */
function framesOfFlow(error: unknown): readonly string[] {
  const code: unknown = (error as { readonly code?: unknown } | undefined)?.code
  return code === 'FLOW_ERROR' || code === 'TOOL_ERROR' ? authorFrames(error) : []
}

/** The folder of this package: `dist`, or the sources. Unknown in a bundle for a Worker. */
function packageRoot(): string | undefined {
  const url: string | undefined = import.meta.url
  return /^(.*)\/(?:dist\/.*|testing\/expectations\/[^/]+)$/.exec(pathOf(url ?? ''))?.[1]
}

function isOfAuthor(path: string): boolean {
  if (!path.includes('/') || /^(?:node|native|bun|ext|deno):/.test(path) || path.includes('/node_modules/'))
    return false
  const root = packageRoot()
  const inPackage = root !== undefined && path.startsWith(`${root}/`) ? path.slice(root.length) : ''
  // The tests of this package are written by authors of flows too.
  return !/^\/(?:bin|dist|src|adapters|testing)\//.test(inPackage) || /\.test\.|^\/testing\/contract\//.test(inPackage)
}

/** A stack path with forward slashes, on every system and runtime. */
function pathOf(location: string): string {
  const path = location.replace(/^file:\/\/(?:\/(?=[A-Za-z]:))?/, '')
  return (path === location ? path : decoded(path)).replaceAll('\\', '/')
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
