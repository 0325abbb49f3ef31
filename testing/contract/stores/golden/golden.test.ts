// WRITE_GOLDEN=1  writes the file of the layout that this release stores, if it is not there.
import { test } from 'vitest'
import { writeGolden } from './golden-session.js'

if (process.env.WRITE_GOLDEN === '1') test('writes the file that is not there', writeGolden)
