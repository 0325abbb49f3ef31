// All breaks. To add one, add a row to the group of its file; `npm run prove -- <a word of its name>` tries it alone.
import { engineBreaks } from './engine.mjs'
import { flowBreaks } from './flows.mjs'
import { httpBreaks } from './http.mjs'
import { modelBreaks } from './models.mjs'
import { sessionBreaks } from './sessions.mjs'
import { storeBreaks } from './stores.mjs'

/** @type {readonly import('../apply-break.mjs').Break[]} */
export const breaks = [
  ...sessionBreaks,
  ...flowBreaks,
  ...modelBreaks,
  ...storeBreaks,
  ...engineBreaks,
  ...httpBreaks,
].flatMap(({ file, tests, rows }) => rows.map(([name, find, replace]) => ({ name, file, find, replace, tests })))
