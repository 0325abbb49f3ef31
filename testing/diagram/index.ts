/**
 * `turnkeeper/diagram`: flows as a map of their steps, for a page or a committed file.
 *
 * @module turnkeeper/diagram
 */
export type { DiagramOfFlow, DiagramStep, DiagramTransition } from '../flow-coverage/mermaid.js'
export { type DiagramOptions, diagramOf, type FlowDiagram } from './diagram.js'
