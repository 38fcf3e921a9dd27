import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { fakeGateway, fakeKey } from "../../gateway/gateway.fake.ts";
import { signInPath } from "../../gateway/routes/signed-in.fake.ts";
import { writeGatewayFile } from "../gateway-process/gateway-file.ts";
import { main } from "../main.ts";
import { runMain } from "../run-main.fake.ts";
import { fakeIo } from "../terminal/io.fake.ts";
import { dashboardCommand } from "./dashboard.ts";

const dashboard = (homeFolder: string, ...argv: readonly string[]) =>
  runMain(["dashboard", ...argv], [dashboardCommand], { homeFolder });

/** A home whose gateway file and key lead to a gateway of this process. */
async function homeWithGateway(): Promise<{ readonly home: string; readonly url: string }> {
  const home = temporaryFolder();
  const { gateway } = fakeGateway({ clock: systemClock });
  const listening = await gateway.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => listening.close());
  mkdirSync(join(home, ".millrace"), { mode: 0o700 });
  writeFileSync(join(home, ".millrace", "key"), `${fakeKey}\n`, { mode: 0o600 });
  const address = { url: listening.url, pid: process.pid, instance: "instance-test", version: "0", startedAtMs: 0 };
  writeGatewayFile(join(home, ".millrace", "gateway.json"), address);
  return { home, url: listening.url };
}

describe("millrace dashboard", () => {
  it("prints a link of the running gateway that signs in once", async () => {
    const { home, url } = await homeWithGateway();
    const { code, stdout, stderr } = await dashboard(home);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/#\/sign-in\/[\w-]{43}\n$/);
    expect(stdout.startsWith(`${url}/`)).toBe(true);
    expect(stderr).toContain("works once, within 2 minutes");
    const use = () => fetch(signInPath(stdout.trim()), { method: "POST" });
    expect((await use()).status).toBe(200);
    expect((await use()).status).toBe(403);
  });

  it("leads to the turns that failed", async () => {
    const { home } = await homeWithGateway();
    expect((await dashboard(home, "--failed")).stdout).toMatch(/#\/sign-in\/[\w-]{43}\?status=failed\n$/);
  });

  it.runIf(process.platform === "linux")(
    "starts the browser with a file that only its user can read, and the link is in no process's arguments",
    async () => {
      const { home } = await homeWithGateway();
      const [bin, seen] = [join(home, "bin"), join(home, "seen")];
      mkdirSync(bin);
      const script = `#!/bin/sh\nprintf '%s\\n' "$0" "$@" > '${seen}.new' && mv '${seen}.new' '${seen}'\n`;
      writeFileSync(join(bin, "xdg-open"), script, { mode: 0o755 });
      const io = fakeIo({ homeFolder: home, env: { PATH: `${bin}:${process.env["PATH"]}` } });
      const onTerminal = { ...io, stdout: Object.assign(io.stdout, { isTTY: true }) };
      expect(await main(["dashboard"], onTerminal, [dashboardCommand])).toBe(0);
      await expect.poll(() => existsSync(seen)).toBe(true);
      const argv = readFileSync(seen, "utf8");
      const file = join(home, ".millrace", "dashboard.html");
      expect(argv).toContain(pathToFileURL(file).href);
      expect(argv).not.toContain("sign-in");
      const [, link = ""] = /content="0;url=([^"]*)"/.exec(readFileSync(file, "utf8")) ?? [];
      expect(io.written.stdout()).toContain(link);
      expect(link).toContain("/#/sign-in/");
      expect([statSync(file).mode & 0o777, statSync(join(home, ".millrace")).mode & 0o777]).toEqual([0o600, 0o700]);
    },
  );

  it("prints JSON", async () => {
    const { home } = await homeWithGateway();
    expect(JSON.parse((await dashboard(home, "--json")).stdout)).toEqual({
      url: expect.stringContaining("/#/sign-in/"),
      expires_in_seconds: 120,
    });
  });

  it("exits 69 and says how to start a gateway where none runs", async () => {
    const home = temporaryFolder();
    expect(await dashboard(home)).toMatchObject({
      code: 69,
      stdout: "",
      stderr: expect.stringContaining("millrace serve"),
    });
  });
});
