import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const program = "#!/bin/sh\necho 1.2.3\n";
const digest = createHash("sha256").update(program).digest("hex");

/** A clean home, and a web server with the files of a release. */
async function place(sum = digest) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), "millrace-install-")));
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    response.writeHead(path.startsWith("/release/millrace-") ? 200 : 404);
    response.end(path.endsWith(".sha256") ? `${sum}  ${path.slice(9, -7)}\n` : program);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    rmSync(home, { recursive: true, force: true });
  });
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { home, download: `${address}/release`, elsewhere: `${address}/nothing` };
}

const run = (file: string, args: readonly string[], home: string, download?: string) =>
  new Promise<{ readonly code: unknown; readonly said: string }>((resolve) => {
    const env = { PATH: process.env["PATH"], HOME: home, MILLRACE_DOWNLOAD: download };
    execFile(file, args, { env }, (error, stdout, stderr) =>
      resolve({ code: error?.code ?? 0, said: stdout + stderr }),
    );
  });
const install = (home: string, download?: string) =>
  run("sh", [join(import.meta.dirname, "install.sh")], home, download);

const hasShell = process.platform !== "win32";

test.runIf(hasShell)(
  "install.sh puts the program below the home, and says how to call and remove it; twice is as once",
  async () => {
    const { home, download } = await place();
    const bin = join(home, ".local/bin");
    for (let round = 0; round < 2; round++) {
      const { code, said } = await install(home, download);
      expect(code).toBe(0);
      expect(said).toContain(`Installed ${bin}/millrace.\n`);
      expect(said).toContain(`export PATH="${bin}:$PATH"`);
      expect(said).toContain(`rm ${bin}/millrace`);
    }
    expect(readdirSync(bin)).toEqual(["millrace"]);
    const record = JSON.parse(readFileSync(join(home, ".millrace/release.json"), "utf8")) as unknown;
    expect(record).toEqual({ from: download }); // `millrace update` asks there
    expect(await run(join(bin, "millrace"), ["--version"], home)).toEqual({ code: 0, said: "1.2.3\n" });
  },
);

test.runIf(hasShell)(
  "install.sh leaves nothing of a file with another checksum, or that is not there, and says so",
  async () => {
    const { home, download, elsewhere } = await place("0".repeat(64));
    expect(await install(home, download)).toMatchObject({ code: 65, said: expect.stringContaining("checksum") });
    expect(await install(home, elsewhere)).toMatchObject({
      code: 69,
      said: expect.stringContaining("cannot be fetched"),
    });
    expect(await install(home)).toMatchObject({ code: 64, said: expect.stringContaining("No release") });
    expect(readdirSync(join(home, ".local/bin"))).toEqual([]);
  },
);
