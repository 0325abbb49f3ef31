// What a recording and a simulation take, and what they refuse.
import { Flow, FlowEngine, finish, LogicStep, type SessionDocument } from '../../src/index.js'
import { simulate } from '../simulate/simulate.js'
import { type Recording, recordingOf, replay } from './recording.js'

class Only extends LogicStep {
  override run() {
    return finish()
  }
}
class Single extends Flow {
  override steps() {
    return [Only]
  }
}

const engine = new FlowEngine({ flows: [Single] })
export const recording: Recording = recordingOf(await engine.getSession('s'), { ownReplies: [2] })
export const replayed: SessionDocument = await replay(Single, recording, { config: { tenant: 'north' } })
// @ts-expect-error a turn is a number
recordingOf(undefined, { ownReplies: ['2'] })
// @ts-expect-error a document is not a recording
await replay(Single, replayed)

await simulate(Single, {
  seeds: [1, 2],
  actors: [({ pick, turn }) => (turn === 1 ? 'Hello' : pick(['yes', 'no']))],
  invariants: { 'it ends': ({ runStatus }, transcript) => transcript.length === 0 || runStatus === 'completed' },
  mayFail: ['FLOW_ERROR'],
})
// @ts-expect-error an actor says a text
await simulate(Single, { actors: [() => 1] })
// @ts-expect-error no error has this code
await simulate(Single, { mayFail: ['FLOW_EROR'] })
