/** Every case of the suite, in the order in which they are registered. */

import type { SuiteCase } from './bench/suite-case.js'
import { cutCases } from './contents/cut-cases.js'
import { hintCases } from './contents/hint-cases.js'
import { idCases } from './contents/id-cases.js'
import { listCases } from './contents/list-cases.js'
import { memoryCases } from './contents/memory-cases.js'
import { sizeCases } from './contents/size-cases.js'
import { textCases } from './contents/text-cases.js'
import { valueCases } from './contents/value-cases.js'
import { closeCases } from './operations/close-cases.js'
import { copyCases } from './operations/copy-cases.js'
import { createCases } from './operations/create-cases.js'
import { deleteCases } from './operations/delete-cases.js'
import { engineCases } from './operations/engine-cases.js'
import { handleCases } from './operations/handle-cases.js'
import { raceCases } from './operations/race-cases.js'
import { saveCases } from './operations/save-cases.js'
import { troubleCases } from './operations/trouble-cases.js'
import { ageCases } from './optional/age-cases.js'
import { claimCases } from './optional/claim-cases.js'
import { deletedCases } from './optional/deleted-cases.js'
import { leaseCases } from './optional/lease-cases.js'
import { listingCases } from './optional/listing-cases.js'
import { summaryCases } from './optional/summary-cases.js'

/** Names are unique. */
export const allCases: readonly SuiteCase[] = [
  ...createCases,
  ...saveCases,
  ...deleteCases,
  ...raceCases,
  ...copyCases,
  ...handleCases,
  ...hintCases,
  ...cutCases,
  ...listCases,
  ...memoryCases,
  ...sizeCases,
  ...textCases,
  ...valueCases,
  ...idCases,
  ...closeCases,
  ...troubleCases,
  ...claimCases,
  ...deletedCases,
  ...leaseCases,
  ...ageCases,
  ...listingCases,
  ...summaryCases,
  ...engineCases,
]
