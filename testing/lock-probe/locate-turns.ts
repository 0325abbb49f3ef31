/** Where in their flows the turns of an engine are, for reports of requests that wait. */
import type { EngineEventMap, FlowEngine } from '../../src/index.js'
import type { LockRequests } from './lock-requests.js'

/** Notes the places of turns from now on. */
export function locateTurns(engine: FlowEngine, requests: LockRequests, now: () => number): void {
  const isIn = ({ turnId, flowName }: EngineEventMap['session:started'], ...places: readonly string[]): void => {
    requests.locate(turnId, flowName, places, now())
  }
  engine.on('turn:queued', (event) => isIn(event))
  engine.on('turn:start', (event) => isIn(event))
  for (const name of ['step:enter', 'step:resume', 'model:end', 'tool:end'] as const) {
    engine.on(name, (event) => isIn(event, `step '${event.step}'`))
  }
  engine.on('model:start', (event) => isIn(event, `step '${event.step}'`, `a call of model '${event.model}'`))
  engine.on('tool:start', (event) => isIn(event, `step '${event.step}'`, `tool '${event.tool}'`))
}
