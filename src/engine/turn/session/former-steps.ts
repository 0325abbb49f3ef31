/** Replaces former step IDs in a stored session, according to the `static aliases` of steps. */
import type { SessionDocument } from '../../../session/session-document.js'
import type { FlowSteps } from '../draft/flow-steps.js'

/** The document with every former step ID replaced by the current one. */
export function replaceFormerSteps(document: SessionDocument, { aliases }: FlowSteps): SessionDocument {
  if (aliases.size === 0) return document
  const { flow } = document
  const rename = <T>(record: Readonly<Record<string, T>>): Record<string, T> => {
    // If a record has both, the entry under the current ID wins.
    const former = Object.entries(record).filter(([key]) => aliases.has(key))
    const current = Object.entries(record).filter(([key]) => !aliases.has(key))
    return Object.fromEntries([
      ...former.map(([key, value]) => [aliases.get(key) as string, value] as const),
      ...current,
    ])
  }
  const { currentStep } = flow
  return {
    ...document,
    flow: {
      ...flow,
      currentStep: currentStep === null ? null : (aliases.get(currentStep) ?? currentStep),
      ...(flow.frames && {
        frames: flow.frames.map((one) => ({
          ...one,
          step: aliases.get(one.step) ?? one.step,
          ...(one.called !== undefined && { called: aliases.get(one.called) ?? one.called }),
        })),
      }),
      steps: rename(flow.steps),
      memory: rename(flow.memory),
    },
  }
}
