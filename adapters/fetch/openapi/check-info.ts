/** Checks what an application says of its OpenAPI document. */
import { checkOptionNames, invalidInput, type OptionNames } from '../../../src/util/options.js'
import type { OpenApiInfo } from './info.js'

/** Their names. */
export const infoNames: OptionNames<OpenApiInfo> = { title: true, version: true, servers: true }

/** @param path - leads to `info`, with a dot at its end. Default: it is the options. */
export function checkInfo(info: OpenApiInfo, caller: string, path = ''): void {
  for (const name of ['title', 'version'] as const) {
    const value: unknown = info[name]
    if (value === undefined || (typeof value === 'string' && value !== '')) continue
    throw invalidInput(`${caller}: ${path}${name} must be a string that is not empty.`)
  }
  const { servers } = info
  if (servers === undefined || (Array.isArray(servers) && servers.every(isAddress))) return
  throw invalidInput(`${caller}: ${path}servers must be a list of addresses, such as ['https://api.shop.example'].`)
}

function isAddress(server: unknown): boolean {
  return typeof server === 'string' && server !== ''
}

/** @throws `InvalidInputError` unless the option `openApi` is a boolean or an object as {@link OpenApiInfo}. */
export function checkOpenApi(openApi: unknown, caller: string): void {
  if (openApi === undefined || typeof openApi === 'boolean') return
  if (typeof openApi !== 'object' || openApi === null || Array.isArray(openApi)) {
    throw invalidInput(`${caller}: openApi must be true, false or an object.`)
  }
  checkOptionNames(caller, openApi, infoNames, 'openApi')
  checkInfo(openApi, caller, 'openApi.')
}
