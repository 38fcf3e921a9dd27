import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { fakeIo } from "../../src/cli/terminal/io.fake.ts";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { mayMount, type SmallDisk, smallDisk } from "../support/small-disk.ts";
import { gateway, simulator } from "../support/world.ts";

const faults: Readonly<Record<string, readonly [(disk: SmallDisk) => void, RegExp]>> = {
  "a full disk": [(disk) => disk.fill(), /the disk is full/],
  "a read-only disk": [(disk) => disk.readOnly(true), /the disk (?:is|may be) read-only/],
};

/** Commands that write; each begins with a folder that is not there yet. */
const commands: Readonly<Record<string, readonly string[]>> = {
  "serve --background": ["serve", "--background", "--accept", "--port", "0"],
  serve: ["serve", "--accept", "--port", "0"],
  "init --yes": ["init", "--yes"],
  chat: ["chat", "--accept", "Hello"],
  "config set": ["config", "set", "serve.port", "0"],
  keys: ["keys"],
  "keys --new": ["keys", "--new"],
  "keys create": ["keys", "create", "ci"],
  "setup codex": ["setup", "codex", "--yes"],
  "service install": ["service", "install"],
  pause: ["pause"],
};

/** Mounting needs a right that not every user has: a reason to skip. */
describe.skipIf(!mayMount).each(Object.entries(faults))("on %s", (_, [damage, reason]) => {
  test.for(Object.entries(commands))("`%s` says why, and what to do", async ([, argv]) => {
    const disk = smallDisk(4);
    const home = temporaryHome();
    const ide = await simulator({ home });
    damage(disk);
    const stop = new AbortController();
    const env = {
      MILLRACE_HOME: join(disk.folder, "data"),
      XDG_CONFIG_HOME: join(disk.folder, "config"),
      CODEX_HOME: join(disk.folder, "codex"),
    };
    const io = fakeIo({ homeFolder: ide.home, env, signal: stop.signal });
    const code = await main(argv, io);
    const { stdout, stderr } = { stdout: io.written.stdout(), stderr: io.written.stderr() };
    expect([code, stderr]).not.toEqual([70, expect.anything()]);
    expect(stderr + stdout).not.toContain("bug in Millrace");
    expect(stderr).toMatch(reason);
    expect(stderr).toMatch(/^hint: .+/m);
    expect(code).toBe(73);
  });

  test("`restart` leaves the gateway that serves", async () => {
    const disk = smallDisk(32);
    const home = temporaryHome();
    await simulator({ home });
    const env = { MILLRACE_HOME: join(disk.folder, "data") };
    const served = await gateway({ home, env });
    if (reason.source.includes("read-only")) return; // a file system with open files cannot be mounted read-only
    damage(disk);
    const { code, stderr } = await millrace(["restart"], { home, env });
    expect([code, stderr]).toEqual([73, expect.stringMatching(reason)]);
    expect((await fetch(`${served.url}/health`)).status).toBe(200);
  });
});

test("`restart` with a wrong setting leaves the gateway that serves", async () => {
  const home = temporaryHome();
  await simulator({ home });
  const served = await gateway({ home });
  const { code, stderr } = await millrace(["restart"], { home, env: { MILLRACE_RETENTION: "1s" } });
  expect(code).toBe(64);
  expect(stderr).toContain('MILLRACE_RETENTION: "1s" is not a time of 1m to 365d');
  expect((await fetch(`${served.url}/health`)).status).toBe(200);
});

test.skipIf(!existsSync("/dev/full"))("output that nothing takes is an error", async () => {
  const { code, stderr } = await millrace(["help"], {
    home: temporaryHome(),
    under: ["/bin/sh", "-c", 'exec "$@" > /dev/full', "sh"],
  });
  expect([code, stderr]).toEqual([73, "error: The output cannot be written (ENOSPC).\n"]);
});
