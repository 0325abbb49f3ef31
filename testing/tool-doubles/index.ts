/** Doubles for the tools of a flow. */
export type { ToolDouble, ToolDoubleCall } from './tool-doubles.js'
export { ToolDoubles } from './tool-doubles.js'
