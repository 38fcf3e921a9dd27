import { expect, test } from "vitest";
import { main } from "../main.ts";
import { fakeIo } from "../terminal/io.fake.ts";

/** Nobody can make a folder below /sys, not even root. */
const unwritable = "/sys/millrace";

test.runIf(process.platform === "linux")(
  "a pause that cannot be written says so, and names the command that stops all prompts",
  async () => {
    const io = fakeIo({ homeFolder: unwritable });
    expect(await main(["pause"], { ...io, env: { MILLRACE_HOME: unwritable } })).toBe(73);
    expect(io.written.stderr()).toMatch(
      /^error: Nothing was paused: \/sys\/millrace cannot be written: .*\nhint: `millrace stop` stops the gateway/,
    );
  },
);

test.runIf(process.platform === "linux")(
  "a home that cannot be written is no bug of Millrace, and a key file that cannot be made is not blamed on its mode",
  async () => {
    for (const command of [["config", "set", "serve.port", "1"], ["keys"]]) {
      const io = fakeIo({ homeFolder: unwritable });
      expect(await main(command, { ...io, env: { MILLRACE_HOME: unwritable } })).toBe(73);
      expect(io.written.stderr()).toMatch(/cannot be written: you may not write.*\n.*`ls -ld \/sys` shows whose it is/);
      expect(io.written.stderr()).not.toMatch(/bug|chmod|    at /);
    }
  },
);
