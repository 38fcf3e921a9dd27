import { rmSync } from "node:fs";
import { startSimulator } from "../../simulator/index.ts";
import useTestBundle from "./bundle.ts";

/**
 * Beside the end-to-end tests runs an IDE that is no test's own, as on the machine of a contributor. A test sees only what it starts
 * itself, so this IDE is never called. If it is, the run fails.
 */
export default async function setup(): Promise<() => Promise<void>> {
  await useTestBundle();
  const ide = await startSimulator({ unmarked: true });
  return async () => {
    const { calls, refused } = await ide.report();
    await ide.stop();
    rmSync(ide.home, { recursive: true, force: true });
    const called = Object.entries({ ...calls, ...refused }).flatMap(([name, count]) => (count > 0 ? [name] : []));
    if (called.length > 0)
      throw new Error(
        `A test called an IDE that it did not start (${called.join(", ")}): give it MILLRACE_IDE_ONLY_HOME.`,
      );
  };
}
