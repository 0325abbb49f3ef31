/** Work that outlives a turn: it continues after the reply, beside the next turns. */
export class AfterTurnTasks {
  readonly #underWay = new Set<Promise<void>>()

  /**
   * Begins a task.
   *
   * @returns a promise that resolves when the task has settled, even if it failed
   */
  begin(task: () => Promise<void>): Promise<void> {
    const end = (): void => {
      this.#underWay.delete(work)
    }
    const work: Promise<void> = task().then(end, end)
    this.#underWay.add(work)
    return work
  }

  /** Resolves when all running tasks have settled. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay)
  }
}
