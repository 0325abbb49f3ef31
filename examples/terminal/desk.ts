/**
 * The support desk in a terminal, on the local model or, with `DESK_MODEL`, on a provider's:
 *
 *     npm start desk
 *     DESK_MODEL=openai:gpt-5-mini OPENAI_API_KEY=... npm start desk
 *
 * Ctrl-C stops the answer under way; at the prompt it ends the program.
 */
import { createInterface } from 'node:readline'
import { createApplication } from '../server/application.js'
import { talk } from './talk.js'

const engine = await createApplication()
const reader = createInterface({ input: process.stdin, terminal: false })
let stopAnswer: (() => void) | undefined
process.on('SIGINT', () => (stopAnswer === undefined ? reader.close() : stopAnswer()))
console.log('Fern & Kettle, the support desk. Ask about an order (FK-1042, FK-1057, FK-1063), a parcel or a return.')
await talk(engine, 'SupportDesk', {
  lines: reader,
  write: (text) => process.stdout.write(text),
  whileAnswering: (stop) => {
    stopAnswer = stop
  },
})
reader.close()
await engine.close()
