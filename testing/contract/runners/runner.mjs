/* global Deno, test */
// `test` of the current runner. A test of yours imports it from its runner and needs nothing of this.
const ofRunner =
  typeof test === 'function' ? test : typeof Deno === 'object' ? Deno.test : (await import('node:test')).test

export { ofRunner as test }
