/**
 * Memory that a stored conversation of 20 turns keeps, against F2, which keeps it as one JSON text.
 */
import { createF2 } from './floors.mjs'
import { bench, heapInUse } from './harness.mjs'
import { createTurnkeeper } from './turnkeeper.mjs'
import { converse } from './work.mjs'

bench({
  url: import.meta.url,
  title: 'heap: KiB kept for one session of 20 turns',
  async once() {
    const figures = {}
    for (const sessions of [300, 3000]) {
      const ours = await kept(createTurnkeeper(), sessions)
      const f2 = await kept(createF2(false), sessions)
      Object.assign(figures, { [`ours${sessions}`]: ours, [`f2of${sessions}`]: f2, [`ratio${sessions}`]: ours / f2 })
    }
    return figures
  },
  rows: [300, 3000].flatMap((sessions) => [
    { label: `${sessions} sessions: Turnkeeper`, figure: `ours${sessions}`, unit: 'KiB' },
    { label: `${sessions} sessions: F2`, figure: `f2of${sessions}`, unit: 'KiB' },
    { label: `${sessions} sessions: Turnkeeper over F2`, figure: `ratio${sessions}`, unit: 'x', target: 2 },
  ]),
})

async function kept(system, sessions) {
  // First the code itself: what is compiled and cached once is no session's.
  await converse(system, 100)
  const before = await heapInUse()
  await converse(system, sessions)
  const bytes = (await heapInUse()) - before
  // The system must live until here, or there is nothing left to measure.
  system.start()
  return bytes / 1024 / sessions
}
