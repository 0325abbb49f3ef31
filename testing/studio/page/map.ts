/** The map of the flow: its steps and moves, with the path of this conversation. The layout is dagre's. */
import { Graph, layout } from '@dagrejs/dagre'
import type { VNode } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { LineView, MapMove } from '../api/types.js'
import { e, tag } from './element.js'

type Point = { readonly x: number; readonly y: number }
type Course = Point & { readonly points: readonly Point[] }
type Box = Point & { readonly width: number; readonly height: number }

/** The text is 14 px high, and never less than 12. */
const leastScale = 12.01 / 14
/** Above the frame that dagre gives a called flow. */
const captionHeight = 18
const widthOf = (text: string): number => text.length * 8.2
const short = (id: string): string => (id.length > 30 ? `${id.slice(0, 29)}…` : id)
// Dagre keeps its nodes in plain objects, which have a prototype.
const nodeOf = (id: string): string => `step ${id}`
const edgeOf = ({ from, to, kind }: MapMove) => ({ v: nodeOf(from), w: nodeOf(to), name: kind ?? 'go' })
const timesOf = (seen: number): string => (seen === 0 ? 'never seen' : seen === 1 ? 'seen once' : `seen ${seen} times`)
const verbs = { call: 'calls', return: 'returns to', go: 'to' }
const countOf = ({ seen, declared }: MapMove): string =>
  seen === 0 ? '' : declared === false ? `${seen}, not declared` : String(seen)

function graphOf({ steps, moves }: LineView['map'], rankdir: 'TB' | 'LR'): Graph {
  const graph = new Graph({ compound: true, multigraph: true })
  graph.setGraph({ rankdir, nodesep: 24, ranksep: 36, edgesep: 20, marginx: 12, marginy: 12 + captionHeight })
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
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && setRoom(entry.contentRect))
    observer.observe(scroller.current as HTMLElement)
    return () => observer.disconnect()
  }, [])
  const rankdir = room.width > room.height ? 'LR' : 'TB'
  const graph = useMemo(() => graphOf(line.map, rankdir), [line.map, rankdir])
  const { width, height } = graph.graph() as Box
  const scale = Math.max(leastScale, Math.min(room.width / width, room.height / height, 1.25))
  useEffect(() => {
    const { x, y } = (graph.node(nodeOf(line.step)) ?? { x: 0, y: 0 }) as Point
    scroller.current?.scrollTo(x * scale - room.width / 2, y * scale - room.height / 2)
  }, [line.step, room, graph])
  const head = e('p.note', 'solid: seen, with counts · dashed: declared · blue: in this conversation · thick: a call')
  const properties = { ref: scroller, 'aria-label': 'Drawing', tabIndex: 0 }
  const picture = tag('section.scroller', properties, pictureOf(graph, scale, line))
  return e('div.map', head, picture)
}

function pictureOf(graph: Graph, scale: number, { map, step, history }: LineView): VNode {
  const path = new Set(history.flatMap((turn) => turn.path.map((one) => one.step)))
  const { width, height } = graph.graph() as Box
  const size = { width: width * scale, height: height * scale, viewBox: `0 0 ${width} ${height}` }
  const groups = new Set(map.steps.flatMap(({ flow }) => flow ?? []))
  const steps = map.steps.map(({ id, kind, flow, seen }) => {
    const box = graph.node(nodeOf(id)) as Box
    const states = `${seen > 0 ? '.seen' : ''}${path.has(id) ? '.path' : ''}${id === step ? '.current' : ''}`
    const shape = rectangle(box, { model: 9, logic: 0, end: 17 }[kind])
    const name = tag('text', { x: box.x, y: box.y + 5 }, short(id))
    const text = `${id}: ${kind} step${flow ? ` of ${flow}` : ''}, ${timesOf(seen)}${id === step ? ', current' : ''}`
    return tag(`g.step${states}`, { role: 'img' }, e('title', text), shape, name)
  })
  const frames = Array.from(groups, (name) => {
    const { x, y, width, height } = graph.node(`flow ${name}`) as Box
    return { name, x, y: y - captionHeight / 2, width, height: height + captionHeight }
  })
  const flows = frames.map((frame) => e('g.group', rectangle(frame, 8)))
  const captions = frames.map((one) =>
    tag('text.caption', { x: one.x - one.width / 2 + 10, y: one.y - one.height / 2 + 18 }, one.name),
  )
  const drawn = map.moves.filter((move) => graph.hasEdge(edgeOf(move)))
  const moves = drawn.map((move) => moveOf(move, graph.edge(edgeOf(move)) as Course))
  const label = { role: 'group', 'aria-label': 'Map of the flow' }
  return tag('svg', { ...label, ...size }, flows, moves, steps, captions)
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
  const how = `${move.declared === false ? ', not declared' : ''}${move.isOnPath ? ', taken here' : ''}`
  const text = `${move.from} ${verbs[move.kind ?? 'go']} ${move.to}: ${timesOf(move.seen)}${how}`
  return tag(`g.move.${states}`, { role: 'img' }, e('title', text), tag('path.line', { d }), arrow, count)
}
