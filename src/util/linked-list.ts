/**
 * A doubly linked list whose nodes are the caller's own objects. Appending a node and removing any node take constant
 * time and create no garbage.
 */

/** The links that a node must have; the list sets them. A node can be in one list at most. */
export interface Linked<Node> {
  previous: Node | undefined
  next: Node | undefined
}

/** Nodes in the order in which they were added. */
export class LinkedList<Node extends Linked<Node>> {
  first: Node | undefined
  last: Node | undefined;

  /** Iterates from the first node to the last. The list must not change meanwhile. */
  *[Symbol.iterator](): Iterator<Node> {
    for (let node = this.first; node !== undefined; node = node.next) yield node
  }

  append(node: Node): void {
    node.previous = this.last
    if (this.last === undefined) this.first = node
    else this.last.next = node
    this.last = node
  }

  /** Removes a node. Returns `false`, and does nothing, if it is not in the list. */
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
