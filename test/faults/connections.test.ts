import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Dial, dialsOfRecord, dialsOfTrace, foreign } from "../connections/dials.ts";
import { hasNetworks, ownNetwork } from "../connections/own-network.ts";
import { mayTrace } from "../power/trace.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { patienceMs } from "../support/world.ts";

const root = join(import.meta.dirname, "..");

/** Runs the session, and answers every address that the gateways and commands in it dialled, and where they may. */
function dialled(by: "strace" | "preload", under: readonly string[]) {
  const folder = temporaryFolder();
  const script = join(root, "connections/session.ts");
  const own = [script, "--by", by, "--folder", folder];
  const [program, ...before] = under;
  const args = program === undefined ? own : [...before, process.execPath, ...own];
  const { stdout, stderr, status } = spawnSync(program ?? process.execPath, args, {
    encoding: "utf8",
    timeout: 4 * patienceMs,
    maxBuffer: 2 ** 28,
  });
  if (status !== 0) throw new Error(`the session ended with ${status}: ${stderr}`);
  const { ports, text } = JSON.parse(stdout.slice(stdout.lastIndexOf("\n{") + 1)) as {
    readonly ports: readonly number[];
    readonly text: string;
  };
  return { ports: new Set(ports), dials: by === "strace" ? dialsOfTrace(text) : dialsOfRecord(text) };
}

const named = (dials: readonly Dial[]) => [...new Set(dials.map(({ kind, what }) => `${kind} ${what}`))];

test.skipIf(!mayTrace)(
  "all that the gateway and its children dial, by the system's own account, are loopback ports of the IDE (needs strace)",
  ({ annotate }) => {
    if (!hasNetworks) {
      void annotate("This machine allows no network namespace: the session shares the machine's network.", "warning");
      process.stderr.write(
        "connections: no network namespace can be had here; dials are traced on the machine's own network\n",
      );
    }
    const { ports, dials } = dialled("strace", hasNetworks ? ownNetwork : []);
    expect(named(foreign(dials, ports))).toEqual([]);
    expect(dials.filter(({ kind }) => kind === "tcp").length).toBeGreaterThan(10); // it was watched
  },
);

test("all that the gateway dials, by Node's own account, are loopback ports of the IDE", () => {
  if (!mayTrace)
    process.stderr.write("connections: system calls cannot be traced here; what is not Node's own does not show\n");
  const { ports, dials } = dialled("preload", hasNetworks ? ownNetwork : []);
  expect(named(foreign(dials, ports))).toEqual([]);
  expect(dials.filter(({ kind }) => kind === "tcp").length).toBeGreaterThan(10); // it was watched
});

test("a dial that leads elsewhere is seen, also one that fails", () => {
  const trace = [
    '7 connect(20, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.7")}, 16) = -1 ENETUNREACH',
    '7 connect(21, {sa_family=AF_INET6, sin6_port=htons(80), sin6_flowinfo=htonl(0), inet_pton(AF_INET6, "2001:db8::1", &sin6_addr), sin6_scope_id=0}, 28) = 0',
    '7 sendto(22, "x", 1, 0, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("127.0.0.53")}, 16) = 1',
    '7 connect(23, {sa_family=AF_UNIX, sun_path="/run/systemd/resolve/io.systemd.Resolve"}, 110) = 0',
    '7 connect(24, {sa_family=AF_INET, sin_port=htons(5), sin_addr=inet_addr("127.0.0.1")}, 16) = 0',
    '7 connect(25, {sa_family=AF_INET, sin_port=htons(6), sin_addr=inet_addr("127.0.0.1")}, 16) = 0',
  ].join("\n");
  expect(named(foreign(dialsOfTrace(trace), new Set([5])))).toEqual([
    "tcp 192.0.2.7:443",
    "tcp 2001:db8::1:80",
    "tcp 127.0.0.53:53",
    "unix /run/systemd/resolve/io.systemd.Resolve",
    "tcp 127.0.0.1:6",
  ]);
  expect(named(foreign(dialsOfTrace(trace)))).toEqual([
    "tcp 192.0.2.7:443",
    "tcp 2001:db8::1:80",
    "tcp 127.0.0.53:53",
    "unix /run/systemd/resolve/io.systemd.Resolve",
  ]);
});
