/** The map of the flow: its steps and moves, with the path of this conversation. The layout is dagre's. */
import { Graph, layout } from '@dagrejs/dagre'
import type { VNode } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { LineView, MapMove, MapStep } from '../api/types.js'
import { button, e, row, tag } from './element.js'

type Point = { readonly x: number; readonly y: number }
type Course = Point & { readonly points: readonly Point[] }
type Box = Point & { readonly width: number; readonly height: number }

/** The text is 14 px high, and never less than 12. */
const leastScale = 12.01 / 14
const widthOf = (text: string): number => text.length * 8.2
const short = (id: string): string => (id.length > 30 ? `${id.slice(0, 29)}…` : id)
// Dagre keeps its nodes in plain objects, which have names of their own.
const nodeOf = (id: string): string => `step ${id}`
const edgeOf = ({ from, to, kind }: MapMove) => ({ v: nodeOf(from), w: nodeOf(to), name: kind ?? 'go' })
const countOf = ({ seen, declared }: MapMove): string =>
  seen === 0 ? '' : declared === false ? `${seen}, not declared` : String(seen)

function graphOf({ steps, moves }: LineView['map'], rankdir: 'TB' | 'LR'): Graph {
  const graph = new Graph({ compound: true, multigraph: true })
  graph.setGraph({ rankdir, nodesep: 24, ranksep: 36, edgesep: 20, marginx: 12, marginy: 12 })
  for (const { id, flow } of steps) {
    graph.setNode(nodeOf(id), { width: widthOf(short(id)) + 32, height: 34 })
    if (flow === undefined) continue
    graph.setNode(`flow ${flow}`, { name: flow })
    graph.setParent(nodeOf(id), `flow ${flow}`)
  }
  for (const move of moves.filter(({ from, to }) => graph.hasNode(nodeOf(from)) && graph.hasNode(nodeOf(to)))) {
    graph.setEdge(edgeOf(move), { width: widthOf(countOf(move)), height: 18, labelpos: 'c' })
  }
  layout(graph)
  return graph
}

export function FlowMap({ line }: { line: LineView }): VNode {
  const scroller = useRef<HTMLElement>(null)
  const [room, setRoom] = useState({ width: 1, height: 1 })
  const [zoom, setZoom] = useState(0)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && setRoom(entry.contentRect))
    observer.observe(scroller.current as HTMLElement)
    return () => observer.disconnect()
  }, [])
  const rankdir = room.width > room.height ? 'LR' : 'TB'
  const graph = useMemo(() => graphOf(line.map, rankdir), [line.map, rankdir])
  const { width, height } = graph.graph() as Box
  const scale = Math.max(leastScale, zoom || Math.min(room.width / width, room.height / height, 1.25))
  useEffect(() => {
    const { x, y } = (graph.node(nodeOf(line.step)) ?? { x: 0, y: 0 }) as Point
    scroller.current?.scrollTo(x * scale - room.width / 2, y * scale - room.height / 2)
  }, [line.step, scale, graph])
  const zoomTo = (label: string, sign: string, next: number): VNode =>
    button(sign, () => setZoom(next), { 'aria-label': label })
  const zooms = [zoomTo('Smaller', '−', scale / 1.25), zoomTo('Larger', '+', scale * 1.25), zoomTo('Fit', 'Fit', 0)]
  const head = row(zooms, e('span.note', 'solid: seen, with counts · dashed: declared'))
  const properties = { ref: scroller, 'aria-label': 'Drawing', tabIndex: 0 }
  const picture = tag('section.scroller', properties, pictureOf(graph, scale, line))
  return e('div.map', head, picture, e('ul.hidden', ...textOf(line).map((text) => e('li', text))))
}

function pictureOf(graph: Graph, scale: number, { map, step, history }: LineView): VNode {
  const path = new Set(history.flatMap((turn) => turn.path.map((one) => one.step)))
  const { width, height } = graph.graph() as Box
  const size = { width: width * scale, height: height * scale, viewBox: `0 0 ${width} ${height}` }
  const groups = new Set(map.steps.flatMap(({ flow }) => flow ?? []))
  const steps = map.steps.map(({ id, kind, seen }) => {
    const box = graph.node(nodeOf(id)) as Box
    const states = `${seen > 0 ? '.seen' : ''}${path.has(id) ? '.path' : ''}${id === step ? '.current' : ''}`
    const shape = rectangle(box, { model: 9, logic: 0, end: 17 }[kind])
    return e(
      `g.step${states}`,
      e('title', `${id} (${kind})`),
      shape,
      tag('text', { x: box.x, y: box.y + 5 }, short(id)),
    )
  })
  const flows = Array.from(groups, (name) => {
    const box = graph.node(`flow ${name}`) as Box
    const corner = { x: box.x - box.width / 2 + 10, y: box.y - box.height / 2 + 18 }
    return e('g.group', rectangle(box, 8), tag('text', corner, name))
  })
  const drawn = map.moves.filter((move) => graph.hasEdge(edgeOf(move)))
  const moves = drawn.map((move) => moveOf(move, graph.edge(edgeOf(move)) as Course))
  return tag('svg', { role: 'img', 'aria-label': 'Map of the flow; a list follows', ...size }, flows, moves, steps)
}

function rectangle({ x, y, width, height }: Box, rx: number): VNode {
  return tag('rect', { x: x - width / 2, y: y - height / 2, width, height, rx })
}

/** A move as a curve through the middles between its points, with an arrow and its count. */
function moveOf(move: MapMove, { x, y, points }: Course): VNode {
  const [from, to] = points.slice(-2) as [Point, Point]
  const curves = points.slice(1, -1).map((point, index) => {
    const next = points[index + 2] ?? to
    return `Q${point.x} ${point.y} ${(point.x + next.x) / 2} ${(point.y + next.y) / 2}`
  })
  const d = `M${points[0]?.x} ${points[0]?.y}${curves.join('')}L${to.x} ${to.y}`
  const turned = (Math.atan2(to.y - from.y, to.x - from.x) * 180) / Math.PI
  const arrow = tag('path', { d: 'M0 0-9-4.5V4.5Z', transform: `translate(${to.x} ${to.y}) rotate(${turned})` })
  // Dagre gives a place only to a label that has a width.
  const count = move.seen > 0 && tag(`text.declared-${move.declared}`, { x, y: y + 5 }, countOf(move))
  const states = `${move.kind ?? 'go'}${move.seen > 0 ? '.seen' : ''}${move.isOnPath ? '.path' : ''}`
  return e(`g.move.${states}`, tag('path.line', { d }), arrow, count)
}

/** The map as sentences. */
function textOf({ map, step }: LineView): string[] {
  const verbs = { call: 'calls', return: 'returns to', go: 'to' }
  const stepText = ({ id, kind, flow, seen }: MapStep): string =>
    `${id}: ${kind} step${flow ? ` of ${flow}` : ''}, seen ${seen} times${id === step ? ', current' : ''}`
  const moveText = (move: MapMove): string =>
    `${move.from} ${verbs[move.kind ?? 'go']} ${move.to}: ${move.seen > 0 ? `seen ${countOf(move)}` : 'declared'}` +
    (move.isOnPath ? ', taken here' : '')
  return [...map.steps.map(stepText), ...map.moves.map(moveText)]
}
