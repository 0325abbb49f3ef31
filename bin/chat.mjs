// `turnkeeper chat`: a conversation with a flow in the terminal.
import process from 'node:process'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { Studio, chat as talk } from 'turnkeeper/studio'
import { loadFlows } from './load-flows.mjs'
import { moduleIn } from './load-module.mjs'

export const usage = `Usage: turnkeeper chat <flows module> [--flow <ID>] [--folder <folder>]

Talks with a flow that the module exports. /help lists the commands. --flow names one of several flows. The folder is that of the studio: turnkeeper-studio by default.`

export async function chat(argv) {
  const { positionals, values } = parseArgs({
    args: argv,
    allowPositionals: true,
    options: { flow: { type: 'string' }, folder: { type: 'string' } },
  })
  const module = moduleIn(positionals)
  const { flows, setup, source } = await loadFlows(module)
  const flow = values.flow ?? flows[0].id
  if (!flows.some(({ id }) => id === flow))
    throw new Error(`There is no flow '${flow}': name one of ${flows.map(({ id }) => id).join(', ')}.`)
  if (values.flow === undefined && flows.length > 1)
    throw new Error(`Name one of the flows with --flow: ${flows.map(({ id }) => id).join(', ')}.`)
  const studio = new Studio({ flows, setup, source, ...(values.folder === undefined ? {} : { folder: values.folder }) })
  const [input, output] = [process.stdin, process.stdout]
  // Only a terminal that gets the output shows what is typed.
  const lines = createInterface({ input, output, terminal: input.isTTY === true && output.isTTY === true })
  lines.on('SIGINT', () => (studio.lines.some((line) => line.isBusy) ? studio.stop() : lines.close()))
  try {
    await talk(studio, flow, { lines, write: (text) => output.write(text) })
  } finally {
    lines.close()
    await studio.close()
  }
  return 0
}
