// Waiting for something that only asking can tell, as of a server that other programs change.

/** Asks again and again until the answer is yes. A question that fails counts as no. */
export async function until(question: () => boolean | Promise<boolean>): Promise<void> {
  for (;;) {
    try {
      if (await question()) return
    } catch {
      // Not yet there to be asked.
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
