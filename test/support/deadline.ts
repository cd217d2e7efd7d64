// Waits for events under a generous deadline, so that a test that would hang fails with a sentence instead.

const deadlineMs = 20_000

/** The promise's value, or an error that says what did not happen in time. */
export async function within<T>(what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`did not happen in time: ${what}`)), deadlineMs)
  })
  try {
    return await Promise.race([promise, expired])
  } finally {
    clearTimeout(timer)
  }
}

/** Resolves once `condition` holds; it is asked again after each turn of the event loop. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const endMs = performance.now() + deadlineMs
  while (!condition()) {
    if (performance.now() > endMs) throw new Error(`did not happen in time: ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
