import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { systemClock } from "../../../base/clock.ts";
import { spawnChild } from "./spawn-child.ts";

test.runIf(process.platform === "linux")(
  "an agent is the first of a process group of its own: a signal for it reaches all that it starts, and nobody else",
  async () => {
    const args = ["-c", "read -r _ _ _ _ group _ < /proc/$$/stat; echo $group; read _"];
    const child = await spawnChild({ command: "/bin/sh", args, cwd: tmpdir(), environment: {} }, systemClock);
    const group = new Promise<string>((resolve) => child.onText(resolve));
    expect(Number(await group)).toBe(child.pid);
    await child.end(30_000);
  },
);
