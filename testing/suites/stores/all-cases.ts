/** Every case of the suite, in the order in which they are registered. */
import { ageCases } from './age-cases.js'
import { claimCases } from './claim-cases.js'
import { closeCases } from './close-cases.js'
import { copyCases } from './copy-cases.js'
import { createCases } from './create-cases.js'
import { cutCases } from './cut-cases.js'
import { deleteCases } from './delete-cases.js'
import { engineCases } from './engine-cases.js'
import { handleCases } from './handle-cases.js'
import { hintCases } from './hint-cases.js'
import { idCases } from './id-cases.js'
import { leaseCases } from './lease-cases.js'
import { listCases } from './list-cases.js'
import { listingCases } from './listing-cases.js'
import { memoryCases } from './memory-cases.js'
import { raceCases } from './race-cases.js'
import { saveCases } from './save-cases.js'
import { sizeCases } from './size-cases.js'
import type { SuiteCase } from './suite-case.js'
import { textCases } from './text-cases.js'
import { troubleCases } from './trouble-cases.js'
import { valueCases } from './value-cases.js'

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
  ...leaseCases,
  ...ageCases,
  ...listingCases,
  ...engineCases,
]
