import { describe, startControlServer } from "./control-server.ts";
import type { SimulatorOptions } from "./options.ts";
import { type Simulator, startSimulator } from "./start.ts";

/** The start-up report of `millrace simulate`, once everything listens. */
export interface SimulateReady {
  readonly simulator: Simulator;
  /** For `--json`: paths, ports, pid; no secrets. */
  readonly description: ReturnType<typeof describe> & { readonly controlUrl: string };
}

/**
 * Runs a simulator with its control API until the signal aborts, then stops both.
 *
 * @param onReady called once when it listens. @throws the errors of `startSimulator`; an error of the control port (`EADDRINUSE`) as
 * Node gives it.
 */
export async function runSimulate(
  options: SimulatorOptions,
  controlPort: number,
  onReady: (ready: SimulateReady) => void,
  signal: AbortSignal,
): Promise<void> {
  await using simulator = await startSimulator(options);
  const control = await startControlServer(simulator, controlPort);
  try {
    onReady({
      simulator,
      description: { ...describe(simulator), controlUrl: `http://127.0.0.1:${control.port}/` },
    });
    if (!signal.aborted) {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    }
  } finally {
    await control.close();
  }
}
