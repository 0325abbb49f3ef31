/** The application lies below https://shop.example/museum. */
export default {
  basePath: '/museum',
  // Not bundled: its entry points load what they need when it is needed, such as the database that you have installed.
  serverExternalPackages: ['turnkeeper'],
}
