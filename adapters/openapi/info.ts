/** The application's part of its OpenAPI document, and the checks of it. */
import { invalidInput, type OptionNames } from '../../src/util/options.js'

/** The application's part of its OpenAPI document. */
export interface OpenApiInfo {
  /**
   * The title of the document.
   *
   * @defaultValue `'Flows'`
   */
  readonly title?: string
  /**
   * The version of the application. It appears only in this document.
   *
   * @defaultValue `'1.0.0'`
   */
  readonly version?: string
  /**
   * The base URLs of the paths, such as `https://api.shop.example`. Needed if a proxy changes paths, or if the document
   * is read from another server.
   *
   * @defaultValue none: the server that the document came from
   */
  readonly servers?: readonly string[]
}

/** Their names. */
export const infoNames: OptionNames<OpenApiInfo> = { title: true, version: true, servers: true }

/** @throws `InvalidInputError` that names the first wrong option. */
export function checkInfo(info: OpenApiInfo, caller: string): void {
  for (const name of ['title', 'version'] as const) {
    const value: unknown = info[name]
    if (value === undefined || (typeof value === 'string' && value !== '')) continue
    throw invalidInput(`${caller}: ${name} must be a string that is not empty.`)
  }
  const { servers } = info
  if (servers === undefined || (Array.isArray(servers) && servers.every(isAddress))) return
  throw invalidInput(`${caller}: servers must be a list of addresses, such as ['https://api.shop.example'].`)
}

function isAddress(server: unknown): boolean {
  return typeof server === 'string' && server !== ''
}
