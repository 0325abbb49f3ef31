/** The flows that clients with keys talk to. */
import type { StepConstructor } from '../../../src/index.js'
import { Listen, Talk } from '../storm/talk.js'

/** A step whose messages that are meant to fail do so most of the time, and not always. */
class ListenAtLast extends Listen {
  protected override fails(text: string): boolean {
    return super.fails(text) && Math.random() < 0.6
  }
}

/** A turn that fails leaves the session as it was, and a repeat runs again. In `Talk` a turn that fails aborts the session. */
export class RolledBackTalk extends Talk {
  static override readonly id: string = 'RolledBackTalk'
  static override readonly onTurnError: 'rollback' = 'rollback'
  override steps(): readonly StepConstructor[] {
    return [ListenAtLast]
  }
}
