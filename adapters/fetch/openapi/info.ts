/** What an application says of its OpenAPI document. */

/** What the OpenAPI document says of the application. */
export interface OpenApiInfo {
  /**
   * The title of the document.
   *
   * @defaultValue `'Flows'`
   */
  readonly title?: string
  /**
   * The version of the application, of which clients see nothing else.
   *
   * @defaultValue `'1.0.0'`
   */
  readonly version?: string
  /**
   * The addresses that the paths are relative to, such as `https://api.shop.example`. Needed where the routes stand
   * behind a proxy that changes paths, or where the document is read from elsewhere.
   *
   * @defaultValue none: the server that the document came from
   */
  readonly servers?: readonly string[]
}
