/** How much of a flow was reached, in numbers, and whether it is enough. */
import { invalidInput } from '../../src/util/options.js'
import { shownValue } from '../../src/util/shown-value.js'
import type { FlowCoverageOfFlow, FlowCoverageReport } from './coverage-report.js'

/**
 * The least that conversations must reach of each flow, in percent: 0, or above 1 and up to 100. Whatever is absent may
 * be 0.
 */
export interface CoverageThresholds {
  /** The percentage of steps, end steps included. */
  readonly steps?: number
  /** The percentage of tools with a successful call. */
  readonly tools?: number
  /** The percentage of the transitions declared by a `static next`. */
  readonly transitions?: number
}

/** What can have a threshold. */
export const measures = ['steps', 'tools', 'transitions'] as const

/** How many of all were reached. */
export interface Share {
  readonly reached: number
  readonly all: number
}

/** The shares of one flow. */
export function sharesOf({ steps, tools, transitions }: FlowCoverageOfFlow): Record<(typeof measures)[number], Share> {
  const declared = transitions.filter((transition) => transition.declared === true)
  return {
    steps: share(steps, ({ seen }) => seen > 0),
    tools: share(tools, ({ succeeded }) => succeeded > 0),
    transitions: share(declared, ({ seen }) => seen > 0),
  }
}

/** In whole percent, rounded down, so that 100 means all. Nothing of nothing is all. */
export function percentOf({ reached, all }: Share): number {
  return all === 0 ? 100 : Math.floor((100 * reached) / all)
}

/** What is below its threshold, a line for each flow and measure. */
export function belowThresholds({ flows }: FlowCoverageReport, thresholds: CoverageThresholds): string[] {
  return flows.flatMap((flow) => {
    const shares = sharesOf(flow)
    const below = measures.flatMap((measure) => {
      const threshold = thresholds[measure] ?? 0
      const { reached, all } = shares[measure]
      if (measure === 'transitions' && threshold > 0 && flow.steps.every(({ next }) => next === undefined)) {
        return [`${flow.flow}: no step has a static next, and the threshold of transitions is ${threshold} %`]
      }
      if (all === 0 || (100 * reached) / all >= threshold) return []
      const percent = percentOf(shares[measure])
      return [`${flow.flow}: ${reached} of ${all} ${measure} (${percent} %), and the threshold is ${threshold} %`]
    })
    // A share of unknown tools would be meaningless.
    const unknown = (thresholds.tools ?? 0) > 0 ? flow.gaps.filter(({ kind }) => kind === 'unknown tools') : []
    return [...below, ...unknown.map(({ text }) => `${flow.flow}: ${text}`)]
  })
}

/**
 * @throws `InvalidInputError` for what is not an object or is empty, for a threshold that is not a percentage, and for
 * a name that has none.
 */
export function checkThresholds(thresholds: CoverageThresholds): void {
  if (typeof thresholds !== 'object' || thresholds === null) {
    throw invalidInput(
      `The coverage thresholds are ${shownValue(thresholds)}: expected an object, as in { steps: 90 }.`,
    )
  }
  for (const [name, threshold] of Object.entries(thresholds)) {
    if (!measures.some((measure) => measure === name)) {
      throw invalidInput(`A coverage threshold is called '${name}': expected one of ${measures.join(', ')}.`)
    }
    if (threshold !== undefined) checkThreshold(name, threshold)
  }
  if (measures.every((measure) => thresholds[measure] === undefined)) {
    throw invalidInput(
      `The coverage thresholds are empty, so they check nothing: expected one of ${measures.join(', ')}, as in { steps: 90 }.`,
    )
  }
}

function checkThreshold(name: string, threshold: unknown): void {
  if (!(typeof threshold === 'number' && threshold >= 0 && threshold <= 100)) {
    throw invalidInput(
      `The coverage threshold of ${name} is ${shownValue(threshold)}: expected a percentage from 0 to 100.`,
    )
  }
  // A fraction is meant.
  if (threshold > 0 && threshold <= 1) {
    const meant = Number((100 * threshold).toFixed(2))
    throw invalidInput(
      `The coverage threshold of ${name} is ${threshold}, which means ${threshold} %: expected 0, or a percentage above 1. Did you mean ${meant}?`,
    )
  }
}

function share<Item>(items: readonly Item[], isReached: (item: Item) => boolean): Share {
  return { reached: items.filter(isReached).length, all: items.length }
}
