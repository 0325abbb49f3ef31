// What the tests of lines share: studios in a folder of their own, small flows, and waits for what a studio says.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect } from 'vitest'
import {
  Flow,
  type FlowConstructor,
  type FlowEvent,
  LogicStep,
  Step,
  type StepConstructor,
} from '../../../src/index.js'
import type { StudioLine } from '../../studio/line/line.js'
import { Studio, type StudioOptions } from '../../studio/studio.js'
import type { OnlyRun, OnlyStep } from '../engine-harness.js'

/** The studios of each test. */
export interface Studios {
  readonly folder: string
  /** Opens a studio of the folder, as another process does. */
  open(flow: FlowConstructor, setup?: StudioOptions['setup']): Studio
}

/** Gives each test of the file a folder, and closes its studios. */
export function useStudios(): Studios {
  let folder = ''
  const opened: Studio[] = []
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'studio-'))
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((studio) => studio.close()))
    rmSync(folder, { recursive: true })
  })
  return {
    get folder() {
      return folder
    },
    open(flow, setup = {}) {
      const studio = new Studio({ flows: [flow], setup, folder })
      opened.push(studio)
      return studio
    },
  }
}

/** A flow of one logic step. */
export function deskOf(run: OnlyRun, events: (step: OnlyStep) => readonly FlowEvent[] = () => []): FlowConstructor {
  class Desk extends LogicStep<Record<string, unknown>> {
    static override readonly id: string = 'Desk'
    override events(): readonly FlowEvent[] {
      return events(this)
    }
    override run(turn: Parameters<OnlyRun>[0]): ReturnType<OnlyRun> {
      return run(turn, this)
    }
  }
  return class extends Flow {
    static override readonly id: string = 'Shop'
    override steps() {
      return [Desk]
    }
  }
}

/** A flow of one model step, `Ask`. */
export class Talk extends Flow {
  static override readonly id: string = 'Talk'
  override model() {
    return { provider: 'any', name: 'small' }
  }
  override steps(): readonly StepConstructor[] {
    return [Ask]
  }
}

class Ask extends Step {
  static override readonly id = 'Ask'
}

/** Sends messages, each of which becomes a turn. Returns all replies of the line. */
export async function say(line: StudioLine, ...texts: string[]): Promise<readonly string[]> {
  for (const text of texts) expect(await line.send({ text })).toBeUndefined()
  return line.turns.map(({ reply }) => reply)
}

/** Waits until something is so. */
export function until(studio: Studio, isSo: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!isSo()) return
      stop()
      resolve()
    }
    const stop = studio.listen(look)
    look()
  })
}

/** Waits until the line asks whether `name` may run. */
export function asked(studio: Studio, line: StudioLine, name: string): Promise<void> {
  return until(studio, () => line.question?.name === name)
}
