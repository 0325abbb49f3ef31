/** The IDs of the steps and flows of the simulation, and how a flow finds them by name. */
import { tree } from './flows.js'

const steps = new Set<string>()
const flows = new Set<string>([''])

/** `Pin` of `Address/Region/Zone/Pin`. */
export function nameOf(id: string): string {
  return id.split('/').at(-1) as string
}

/** The flow that lists a step or a flow; `''` for the session's flow. */
export function outerOf(id: string): string {
  return id.split('/').slice(0, -1).join('/')
}

/** A step or a flow of a flow. */
export function childOf(flow: string, name: string): string {
  return flow === '' ? name : `${flow}/${name}`
}

/** The flows that have a step, the inside one first. */
export function flowsOf(step: string): string[] {
  return around(outerOf(step))
}

/** A flow, and those around it. */
export function around(flow: string): string[] {
  return flow === '' ? [''] : [flow, ...around(outerOf(flow))]
}

export function isFlow(id: string): boolean {
  return flows.has(id)
}

/** The step in which a call of a step or a flow begins. */
export function firstOf(id: string): string {
  return isFlow(id) ? childOf(id, tree[nameOf(id)]?.[0] as string) : id
}

/** A step or a flow by its name, as a flow sees it. @throws if there is none */
export function find(name: string, flow: string): string {
  const found = around(flow)
    .map((one) => childOf(one, name))
    .find((id) => steps.has(id) || flows.has(id))
  if (found === undefined) throw new Error(`There is no ${name}.`)
  return found
}

function list(flow: string, name: string): void {
  steps.add(childOf(flow, 'End'))
  for (const one of tree[name] as readonly string[]) {
    const id = childOf(flow, one)
    if (!(one in tree)) steps.add(id)
    else {
      flows.add(id)
      list(id, one)
    }
  }
}
list('', 'Shop')
