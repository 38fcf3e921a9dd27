import { spawn, spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { openLinuxHost } from "../linux/host.ts";
import { apiKey, installed, LinuxWorld, newTokenFlags, token } from "../linux-world.fake.ts";

const extension = "resources/app/extensions/windsurf/bin/language_server_linux_x64";
const onLinux = process.platform === "linux";
/** Making a network needs a right that not every user has. */
const makesNetworks = onLinux && spawnSync("unshare", ["-n", "true"]).status === 0;

interface Layout {
  readonly program: string;
  /** Where the state database is, below the home. */
  readonly data: string;
  /** The variables that the launcher of that packaging sets; `~` is the home. */
  readonly variables: Readonly<Record<string, string>>;
}

const layouts: Readonly<Record<string, Layout>> = {
  "a package": { program: installed, data: ".config/Windsurf", variables: { HOME: "~" } },
  "an unpacked archive": {
    program: `/home/me/apps/Windsurf/${extension}`,
    data: ".config/Windsurf",
    variables: { HOME: "~" },
  },
  "a Flatpak": {
    program: `/app/windsurf/${extension}`,
    data: ".var/app/com.codeium.windsurf/config/Windsurf",
    variables: {
      HOME: "~",
      XDG_CONFIG_HOME: "~/.var/app/com.codeium.windsurf/config",
      FLATPAK_ID: "com.codeium.windsurf",
    },
  },
  "a Flatpak that does not say so": {
    program: `/app/windsurf/${extension}`,
    data: ".var/app/com.codeium.windsurf/config/Windsurf",
    variables: { HOME: "~" },
  },
  "a Snap": {
    program: `/snap/windsurf/42/usr/share/windsurf/${extension}`,
    data: "snap/windsurf/42/.config/Windsurf",
    variables: { HOME: "~/snap/windsurf/42", SNAP: "/snap/windsurf/42", SNAP_REAL_HOME: "~" },
  },
  "a Snap that keeps the user's home": {
    program: `/snap/windsurf/42/usr/share/windsurf/${extension}`,
    data: "snap/windsurf/current/.config/Windsurf",
    variables: { HOME: "~" },
  },
  "an AppImage": {
    program: `/tmp/.mount_WindsuXk3fQ9/usr/share/windsurf/${extension}`,
    data: ".config/Windsurf",
    variables: { HOME: "~", APPIMAGE: "~/Windsurf.AppImage", APPDIR: "/tmp/.mount_WindsuXk3fQ9" },
  },
  "an AppImage with a home of its own": {
    program: `/tmp/.mount_WindsuXk3fQ9/usr/share/windsurf/${extension}`,
    data: "Windsurf.AppImage.home/.config/Windsurf",
    variables: { HOME: "~/Windsurf.AppImage.home" },
  },
  "a portable folder": {
    program: `/media/stick/Windsurf/${extension}`,
    data: "stick/data/user-data",
    variables: { HOME: "~", VSCODE_PORTABLE: "~/stick/data" },
  },
};

describe.runIf(onLinux)("an IDE that came as", () => {
  let world: LinuxWorld;
  beforeEach(() => {
    world = new LinuxWorld();
  });
  afterEach(() => world.close());

  it.each(Object.entries(layouts))(
    "%s is found with its account, by the new token passing and the old",
    async (_, layout) => {
      const { home } = world;
      await world.signIn(join(home, layout.data));
      const variables = Object.fromEntries(
        Object.entries(layout.variables).map(([name, value]) => [name, value.replace("~", home)]),
      );
      const { program } = layout;
      const [now, before] = await Promise.all([
        world.start({ program, flags: newTokenFlags, environment: { ...variables, WINDSURF_CSRF_TOKEN: token } }),
        world.start({ program, flags: ["--ide_name", "windsurf", "--csrf_token", token], environment: variables }),
      ]);
      const { ides } = await world.look({ homes: [home] });
      expect(new Set(ides.map(({ pid }) => pid))).toEqual(new Set([now.pid, before.pid]));
      expect(ides.map(({ identity }) => identity.apiKey.reveal())).toEqual([apiKey, apiKey]);
    },
  );

  it("a remote server is found, and told that its account is elsewhere", async () => {
    const program = join(world.home, ".windsurf-server/bin/0123abcd/extensions/windsurf/bin/language_server_linux_arm");
    await world.start({
      program,
      flags: ["--run_child", "--random_port"],
      environment: { HOME: world.home, WINDSURF_CSRF_TOKEN: token },
    });
    const { ides, trace } = await world.look();
    expect(ides[0]).toMatchObject({ variant: "windsurf", signedIn: false, isRemote: true });
    expect(trace.some(({ why }) => why.includes("no file of this IDE holds one"))).toBe(true);
  });

  it.runIf(makesNetworks)(
    "something in a container is seen, and left alone because its loopback is another one",
    async () => {
      const script = fileURLToPath(new URL("../fixtures/stand-in-process.mjs", import.meta.url));
      const own = `--workspace_id=${randomUUID()}`; // other tests start stand-ins of the same name meanwhile
      const inside = `const {spawn}=require("node:child_process");spawn(process.execPath,${JSON.stringify([script, ...newTokenFlags, own])},{argv0:${JSON.stringify(installed)},stdio:"inherit"}).on("exit",()=>process.exit());process.stdout.write("")`;
      const shell = spawn("unshare", ["-n", process.execPath, "-e", inside], {
        env: { HOME: world.home, WINDSURF_CSRF_TOKEN: token, STAND_IN: "{}", PATH: process.env["PATH"] },
        stdio: ["pipe", "pipe", "inherit"],
      });
      try {
        await once(shell.stdout, "data"); // it listens, on a loopback that is down
        const list = await world.host.listProcesses(({ args }) => args.includes(own), AbortSignal.timeout(100_000));
        const pids = list.ok
          ? list.value.processes.filter(({ command }) => command.program === installed).map(({ pid }) => pid)
          : [];
        expect(pids).toHaveLength(1);
        const { ides, trace } = await world.look({}, world.host, () => pids);
        expect(ides).toEqual([]);
        expect(trace).toContainEqual(
          expect.objectContaining({ rule: "owner", why: "devin: runs in a container with its own network" }),
        );
      } finally {
        shell.stdin.end(); // the stand-in ends with its input
        await once(shell, "exit");
      }
    },
  );

  it("nothing, in WSL, in a container or in a sandbox, is explained by where Millrace runs", async () => {
    const [proc, root] = [join(world.home, "proc"), join(world.home, "root")];
    await mkdir(join(proc, "sys/kernel"), { recursive: true });
    await mkdir(join(root, "run"), { recursive: true });
    await writeFile(join(proc, "stat"), "btime 1760000000\n");
    await writeFile(join(proc, "sys/kernel/osrelease"), "5.15.153.1-microsoft-standard-WSL2\n");
    await writeFile(join(root, "run/.containerenv"), "engine=podman\n");
    await writeFile(join(root, ".flatpak-info"), "[Application]\n");
    const host = openLinuxHost({
      home: world.home,
      uid: world.uid,
      clock: systemClock,
      procRoot: proc,
      fileRoot: root,
    });
    const { ides, trace } = await world.look({}, host);
    expect(ides).toEqual([]);
    const why = trace.filter(({ subject }) => subject === "this system").map((entry) => `${entry.rule}: ${entry.why}`);
    expect(why).toEqual([
      expect.stringMatching(
        /^wsl: .*run Millrace in Windows, or set MILLRACE_IDE_ENDPOINT and MILLRACE_IDE_TOKEN_FILE$/,
      ),
      expect.stringMatching(/^container: .*run Millrace outside/),
      expect.stringMatching(/^flatpak: .*Run Millrace outside/),
    ]);
  });
});
