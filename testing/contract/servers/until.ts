// Waiting for a condition that can only be polled, such as the state of a server.

/** Asks until the answer is yes. A question that fails counts as no. */
export async function until(question: () => boolean | Promise<boolean>): Promise<void> {
  for (;;) {
    try {
      if (await question()) return
    } catch {
      // Asked again.
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
