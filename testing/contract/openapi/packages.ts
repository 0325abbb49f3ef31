/// <reference types="node" />
/**
 * The packages of testing/contract/openapi/packages, which `npm ci --prefix` installs. `packages.mjs` in that folder
 * exports the parts that are used.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** What `packages.mjs` exports. */
export interface Packages {
  problemsOf(document: object): Promise<readonly unknown[]>
  createChecker(document: object): (pointer: string, value: unknown) => readonly unknown[]
}

/** The folder in which they are installed. */
export const modules: string = fileURLToPath(new URL('packages/node_modules', import.meta.url))

const isMissing = !existsSync(modules)

/** Whether tests are left out: on a laptop without the packages. If `CI` is set they must run, and fail. */
export const arePackagesMissing: boolean = process.env.CI === undefined && isMissing

/** The title if tests are left out. */
export const leftOut: string = arePackagesMissing
  ? ' (left out: npm ci --prefix testing/contract/openapi/packages has not run)'
  : ''

export function loadPackages(): Promise<Packages> {
  return import(new URL('packages/packages.mjs', import.meta.url).href) as Promise<Packages>
}
