/**
 * The packages that the core file of the build contains. An application does not install them, so that the bill of
 * materials and the audit read them here. By the name of the package: what our sources take of it, and the file of its
 * licence.
 */
export const bundled = {
  eventemitter3: { name: 'EventEmitter', licence: 'LICENSE' },
}
