/** A session that is larger than a row of its backend may be. */
import type { SessionDocument } from '../../../src/index.js'
import { newSession, withContext } from '../../suites/stores/bench/documents.js'

/** 3 MB in its state, and as much in its history. Some characters take two bytes. */
export function bigSession(): SessionDocument {
  const session = newSession(`big-${crypto.randomUUID()}`, { message: 'history \u00e9 '.repeat(280_000) })
  return withContext({ ...session, owner: 'of-big' }, { text: 'state \u00e9 '.repeat(350_000) })
}
