/** The application lies below https://shop.example/museum. */
export default {
  basePath: '/museum',
  // Not bundled: its entry points load dependencies on demand, such as the database client that you installed.
  serverExternalPackages: ['turnkeeper'],
}
