// Every reply of the HTTP cases is as the OpenAPI document says: its path, method, status, code, headers and body.
import { describe, test } from 'vitest'
import { httpCases } from '../http/cases.js'
import { documentedServe } from './documented.js'
import { arePackagesMissing, leftOut, loadPackages } from './packages.js'

const createCheck = arePackagesMissing ? undefined : (await loadPackages()).createChecker

describe(`as the document says${arePackagesMissing ? `, but for the bodies${leftOut}` : ''}`, () => {
  httpCases(test, documentedServe(createCheck))
})
