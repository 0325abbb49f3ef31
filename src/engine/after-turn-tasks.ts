/** What turns leave behind: work that goes on after its turn's reply, beside the next turns. */
export class AfterTurnTasks {
  readonly #underWay = new Set<Promise<void>>()

  /**
   * Begins a task.
   *
   * @returns A promise that resolves when the task has settled, whatever became of it.
   */
  begin(task: () => Promise<void>): Promise<void> {
    const end = (): void => {
      this.#underWay.delete(work)
    }
    const work: Promise<void> = task().then(end, end)
    this.#underWay.add(work)
    return work
  }

  /** Resolves when the tasks that are under way have settled. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay)
  }
}
