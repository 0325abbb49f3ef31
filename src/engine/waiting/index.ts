/** All that is loaded with the first event or timer of an engine. */
export { runToCommit } from '../turn/events/run-to-commit.js'
export { scheduleOverdue, scheduleWake } from '../turn/events/schedule-wake.js'
export { takeEvent } from '../turn/events/take-event.js'
export { sendEvent } from './send-event.js'
export { wake } from './wake.js'
export { wakeByTimer } from './wake-by-timer.js'
