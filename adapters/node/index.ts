/**
 * The entry point `turnkeeper/node`: a Fetch handler as a listener of Node's `http`, and so as middleware of frameworks
 * built on it. `@hono/node-server` converts messages to requests and responses to bytes. This module finds the full
 * path of a request below a mount, and its body if a body parser has already read it
 * (docs/decisions/deployments.md).
 *
 * @module turnkeeper/node
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import * as nodeServer from '@hono/node-server'
import { invalidInput } from '../../src/util/options.js'
import { withParsedBody } from './parsed-body.js'

/** A Fetch handler: the result of `createFetchHandler`, or another function like it. */
export type FetchHandler = (request: Request) => Response | Promise<Response>

/**
 * The result of {@link toNodeListener}. It answers every request, and never throws.
 *
 * @param frameworkRequest - The framework's request object, if the framework keeps `body` and `originalUrl` on a
 * separate object, as Fastify and Koa do. Anything but an object, such as the `next` of Express, is ignored.
 */
export type NodeListener = (request: IncomingMessage, response: ServerResponse, frameworkRequest?: unknown) => void

/**
 * A Fetch handler as a listener for `http.createServer`, and as middleware of Express, NestJS, Fastify and Koa.
 *
 * - If a body parser has read the body, what it put into `body` (or `rawBody`) is the body: bytes, a text, or an
 *   object.
 * - The path is the one that the client sent: if a mount has cut `url`, it comes from `originalUrl`. So `basePath` of
 *   the handler is the whole path, including the mount.
 * - If the client leaves, the signal of the request is aborted.
 *
 * @param handler - the handler of `createFetchHandler`
 * @throws `InvalidInputError` if `handler` is not a function, or `@hono/node-server` is older than version 2
 *
 * @example
 * ```ts
 * import express from 'express'
 * import { FlowEngine } from 'turnkeeper'
 * import { createFetchHandler } from 'turnkeeper/fetch'
 * import { toNodeListener } from 'turnkeeper/node'
 *
 * const engine = await FlowEngine.create({ flows: [Onboarding] })
 * express().use('/ai', toNodeListener(createFetchHandler(engine))).listen(3000)
 * ```
 */
export function toNodeListener(handler: FetchHandler): NodeListener {
  if (typeof handler !== 'function') {
    throw invalidInput(
      'toNodeListener: the first argument must be a function, such as createFetchHandler(engine) returns.',
    )
  }
  // It does not expose its version; this export exists since version 2. npm installs older versions beside the package
  // too.
  if (!('upgradeWebSocket' in nodeServer)) {
    throw invalidInput(
      'toNodeListener: turnkeeper/node needs @hono/node-server 2.1.6 or later: npm install @hono/node-server@2 hono@4.',
    )
  }
  return function listen(incoming, response, frameworkRequest) {
    const parsed = isObject(frameworkRequest) ? frameworkRequest : incoming
    // Leaves the globals `Request` and `Response` unchanged, because the application's other code uses them too.
    const listener = nodeServer.getRequestListener((request) => handler(withParsedBody(request, incoming, parsed)), {
      overrideGlobalObjects: false,
    })
    const { url } = incoming
    incoming.url = originalUrlOf(parsed) ?? url ?? '/'
    // The listener reads the URL at once; later middleware gets the original back.
    void listener(incoming, response)
    if (url !== undefined) incoming.url = url
  }
}

function originalUrlOf(request: object): string | undefined {
  const { originalUrl } = request as { readonly originalUrl?: unknown }
  return typeof originalUrl === 'string' ? originalUrl : undefined
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
