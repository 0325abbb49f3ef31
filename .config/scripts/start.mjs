/**
 * Runs an example that talks: the server if none is named. `npm start` builds them before.
 *
 *     npm start                        the server
 *     npm start quickstart             the first flow, in the terminal
 *     npm start desk                   the support desk, in the terminal
 *     npm start replay [folder]        stored sessions, said again to the flow
 */
import { fileURLToPath } from 'node:url'

const examples = {
  server: 'server/main.js',
  quickstart: 'quickstart/quickstart.js',
  desk: 'terminal/desk.js',
  replay: 'replay/replay.js',
}

const [name = 'server', ...words] = process.argv.slice(2)
if (!Object.hasOwn(examples, name)) {
  console.error(`There is no example '${name}'. They are ${Object.keys(examples).join(', ')}.`)
  process.exit(1)
}
const url = new URL(`../../examples/dist/${examples[name]}`, import.meta.url)
process.argv = [process.execPath, fileURLToPath(url), ...words]
await import(url.href)
