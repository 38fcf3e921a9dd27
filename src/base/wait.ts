/**
 * Waits for `resolve`, `reject` or the signal, and rejects with the signal's own reason. `begin` registers the wait before this
 * returns, and returns a function that removes the registration. It is not called if the signal has aborted already.
 */
export function waitFor<T>(
  signal: AbortSignal | undefined,
  begin: (resolve: (value: T) => void, reject: (error: unknown) => void) => () => unknown,
): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    let takeBack = (): unknown => undefined;
    const onAbort = () => {
      takeBack();
      reject(signal?.reason as Error);
    };
    signal?.addEventListener("abort", onAbort, { once: true });
    const over = () => signal?.removeEventListener("abort", onAbort);
    takeBack = begin(
      (value) => {
        over();
        resolve(value);
      },
      (error) => {
        over();
        reject(error);
      },
    );
  });
}
