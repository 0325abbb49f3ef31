// All mutations. To add one, add a row to the group of its file;
// `npm run mutate -- <a word of its name>` tries it alone.
import { aiSdkMutations } from './ai-sdk.mjs'
import { boundMutations } from './bounds.mjs'
import { busyMutations } from './busy.mjs'
import { chatMutations } from './chats.mjs'
import { clientMutations } from './client.mjs'
import { cloudflareMutations } from './cloudflare.mjs'
import { driverMutations } from './drivers.mjs'
import { effectMutations } from './effects.mjs'
import { engineMutations } from './engine.mjs'
import { exposureMutations } from './exposure.mjs'
import { failureMutations } from './failures.mjs'
import { flowMutations } from './flows.mjs'
import { frameworkMutations } from './frameworks.mjs'
import { harnessMutations } from './harness.mjs'
import { httpMutations } from './http.mjs'
import { keyMutations } from './keys.mjs'
import { listingMutations } from './listings.mjs'
import { listMutations } from './lists.mjs'
import { lockMutations } from './locks.mjs'
import { modelMutations } from './models.mjs'
import { otelMutations } from './otel.mjs'
import { scenarioMutations } from './scenarios.mjs'
import { sessionMutations } from './sessions.mjs'
import { storeMutations } from './stores.mjs'
import { strangerMutations } from './strangers.mjs'
import { streamOfKeyMutations } from './streams-of-keys.mjs'
import { supplyMutations } from './supply.mjs'
import { timeMutations } from './time.mjs'
import { turnMutations } from './turns.mjs'
import { versionMutations } from './versions.mjs'
import { wireMutations } from './wire.mjs'

/** @type {readonly import('../apply-mutation.mjs').Mutation[]} */
export const mutations = [
  ...sessionMutations,
  ...lockMutations,
  ...strangerMutations,
  ...busyMutations,
  ...listMutations,
  ...listingMutations,
  ...boundMutations,
  ...flowMutations,
  ...modelMutations,
  ...aiSdkMutations,
  ...otelMutations,
  ...storeMutations,
  ...driverMutations,
  ...cloudflareMutations,
  ...engineMutations,
  ...timeMutations,
  ...turnMutations,
  ...versionMutations,
  ...keyMutations,
  ...effectMutations,
  ...supplyMutations,
  ...failureMutations,
  ...httpMutations,
  ...frameworkMutations,
  ...clientMutations,
  ...chatMutations,
  ...wireMutations,
  ...scenarioMutations,
  ...streamOfKeyMutations,
  ...harnessMutations,
  ...exposureMutations,
].flatMap(({ file, tests, rows }) => rows.map(([name, symbol, edit]) => ({ name, file, symbol, edit, tests })))
