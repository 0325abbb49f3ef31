/**
 * A flow around a single step under test. If the step moves to another one, the conversation moves to a step that does
 * nothing, and the flow records the ID of the intended step.
 */
import {
  type BaseStep,
  End,
  Flow,
  type FlowConstructor,
  LogicStep,
  type ModelSelection,
  reply,
  type SessionDocument,
  type StepConstructor,
  type Tool,
  type Transition,
} from '../../src/index.js'
import { whenMade } from '../flow-coverage/instrumented-flow.js'
import type { ToolDouble, ToolDoubleResult } from '../tool-doubles/tool-doubles.js'
import { withExecute } from '../tool-doubles/with-execute.js'

/** The functions that may return a transition. */
const hooks = ['onEnter', 'run', 'onReply', 'onModelError', 'onModelBlocked'] as const

/** Replaces every other step. */
class Elsewhere extends LogicStep {
  static override readonly id: string = 'Elsewhere'
  override run(): Transition {
    return reply('')
  }
}

/** A flow whose session does not leave its first step. */
export class FlowOfOneStep {
  readonly flow: FlowConstructor
  readonly #step: StepConstructor
  #next: string | undefined
  #returned: { readonly value?: unknown } | undefined

  /**
   * @param name - Of the flow, for error messages.
   * @param others - Steps whose states the step reads.
   */
  constructor(name: string, step: StepConstructor, others: readonly StepConstructor[]) {
    this.#step = step
    const watched = whenMade(step, (made) => this.#watch(made))
    const ids = new Set([step.id, Elsewhere.id])
    const known = others.filter(({ id }) => !ids.has(id))
    this.flow = class extends Flow {
      static override readonly id: string = name
      override model(): ModelSelection {
        return { provider: 'script', name: 'script' }
      }
      override steps(): readonly StepConstructor[] {
        return [watched, Elsewhere, ...known]
      }
    }
  }

  /** The ID of the step that the step moved to; `undefined` if it remained. */
  nextIn({ flow }: SessionDocument): string | undefined {
    if (this.#next !== undefined || this.#returned !== undefined) return this.#next
    return flow.currentStep === null || flow.currentStep === this.#step.id ? undefined : flow.currentStep
  }

  /** What the step gave back; `undefined` if it did not return with `back`. */
  get returned(): { readonly value?: unknown } | undefined {
    return this.#returned
  }

  /** The session as if the other step were part of the flow. The step that it returns to is not known. */
  documentOf(document: SessionDocument): SessionDocument {
    const next = this.#returned === undefined ? this.#next : this.#step.id
    if (next === undefined) return document
    const { flow, history } = document
    const named = (id: string): string => (id === Elsewhere.id ? next : id)
    const { [Elsewhere.id]: left, ...others } = flow.steps
    // A test may have given the other step a state; the state of the move is merged into it.
    const known = others[next]
    const moved = left === undefined ? {} : { [next]: { ...known, ...left, state: { ...known?.state, ...left.state } } }
    return {
      ...document,
      flow: {
        ...flow,
        currentStep: flow.currentStep === null ? null : named(flow.currentStep),
        steps: { ...others, ...moved },
        sequence: flow.sequence.map((entry) => ({ ...entry, step: named(entry.step) })),
        ...(flow.frames && { frames: flow.frames.map((frame) => ({ ...frame, step: named(frame.step) })) }),
      },
      history: history.map((entry) => ({ ...entry, step: named(entry.step) })),
    }
  }

  /** Wraps the doubles of tools too, so that the step does not leave through them. */
  watchDoubles(doubles: Readonly<Record<string, ToolDouble>>): Readonly<Record<string, ToolDouble>> {
    const watched = (result: ToolDoubleResult): ToolDoubleResult => {
      if (typeof result === 'function') return async (...args) => this.#redirected(await result(...args))
      return isTransition(result) ? () => this.#redirected(result) : result
    }
    return Object.fromEntries(
      Object.entries(doubles).map(([name, double]) => {
        return [name, (Array.isArray(double) ? double.map(watched) : watched(double as ToolDoubleResult)) as ToolDouble]
      }),
    )
  }

  #watch(made: BaseStep): void {
    const methods = made as unknown as Record<string, ((...args: readonly unknown[]) => unknown) | undefined>
    for (const hook of hooks) {
      const original = methods[hook]
      // An end step has only the hook onEnter.
      if (original === undefined) continue
      methods[hook] = async (...args) => this.#redirected(await original.apply(made, args as unknown[]))
    }
    const tools = methods.tools
    if (tools === undefined) return
    methods.tools = async (...args) => {
      const offered = await tools.apply(made, args as unknown[])
      // The engine refuses anything but a list.
      return Array.isArray(offered) ? offered.map((tool: Tool) => this.#watchedTool(tool)) : offered
    }
  }

  #watchedTool(tool: Tool): Tool {
    if (typeof tool?.execute !== 'function') return tool
    return withExecute(tool, async (args, turn, call) => this.#redirected(await tool.execute(args, turn, call)))
  }

  /** The same transition, but to the step that does nothing. Other results stay. */
  #redirected(returned: unknown): unknown {
    if (!isTransition(returned)) return returned
    const { kind, target, value } = returned.fields
    if (kind === 'back') {
      this.#returned = value === undefined ? {} : { value }
      return changed(returned, { kind: 'go', target: Elsewhere })
    }
    if (target === undefined) return returned
    const id = typeof target === 'string' ? target : target.id
    if (id === this.#step.id || id === End.id) return returned
    this.#next = id
    return changed(returned, { target: Elsewhere })
  }
}

/** The same transition with other fields. */
function changed(transition: Transition, more: Partial<Transition['fields']>): unknown {
  const fields = { ...transition.fields, ...more }
  return Object.create(Object.getPrototypeOf(transition), { fields: { value: fields, enumerable: true } })
}

function isTransition(value: unknown): value is Transition {
  return typeof value === 'object' && value !== null && Symbol.for('turnkeeper.Transition') in value
}
