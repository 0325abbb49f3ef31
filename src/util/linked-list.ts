/**
 * A doubly linked list whose nodes are the caller's own objects: joining at the end and leaving from anywhere cost the
 * same however long it is, and leave nothing behind for the garbage collector. What is in line, and why, is not its
 * business.
 */

/** The links that a node must have; the list sets them. A node is in one list at most. */
export interface Linked<Node> {
  previous: Node | undefined
  next: Node | undefined
}

/** Nodes in the order in which they were added. */
export class LinkedList<Node extends Linked<Node>> {
  first: Node | undefined
  last: Node | undefined

  append(node: Node): void {
    node.previous = this.last
    if (this.last === undefined) this.first = node
    else this.last.next = node
    this.last = node
  }

  /** Takes a node out. Returns `false`, and does nothing, where it is in no list. */
  remove(node: Node): boolean {
    const { previous, next } = node
    if (previous === undefined && this.first !== node) return false
    if (previous === undefined) this.first = next
    else previous.next = next
    if (next === undefined) this.last = previous
    else next.previous = previous
    node.previous = undefined
    node.next = undefined
    return true
  }
}
