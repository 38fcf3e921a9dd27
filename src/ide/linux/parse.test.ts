import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as parse from "./parse.ts";

const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:A475 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 51234 1 0000000000000000 100 0 0 10 0
   1: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1099 1 0000000000000000 100 0 0 10 0
   2: 0100007F:A475 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000  1000        0 51999 1 0000000000000000 20 4 30 10 -1
`;
const table6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000001000000:A476 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 51235 1 0
   1: 0000000000000000FFFF00000100007F:A477 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 51236 1 0
   2: 00000000000000000000000000000000:A478 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 51237 1 0
   3: B80D01200000000000000000010000FE:A479 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 51238 1 0
`;

describe("/proc", () => {
  it("gives the listening sockets of both tables, and no connection", () => {
    expect(parse.parseTcpTable(table)).toEqual([
      { address: "127.0.0.1", port: 42_101, inode: "51234" },
      { address: "0.0.0.0", port: 22, inode: "1099" },
    ]);
    expect(parse.parseTcpTable(table6).map(({ address, port }) => `${address} ${port}`)).toEqual([
      "::1 42102",
      "127.0.0.1 42103",
      ":: 42104",
      "2001:db8:0:0:0:0:fe00:1 42105",
    ]);
  });

  it("sees that a stranger could answer on the same port", () => {
    const own = { address: "127.0.0.1", port: 42_101, inode: "1" };
    const inodes = new Set(["1"]);
    const shared = (other: parse.ListenRow) => parse.joinSockets([own, other], inodes).map((socket) => socket.shared);
    expect(shared({ address: "127.0.0.1", port: 42_101, inode: "2" })).toEqual([true]);
    expect(shared({ address: "0.0.0.0", port: 42_101, inode: "2" })).toEqual([true]);
    expect(shared({ address: "::1", port: 42_101, inode: "2" })).toEqual([false]);
    expect(shared({ address: "::", port: 42_101, inode: "2" })).toEqual([false]);
    expect(shared({ address: "127.0.0.1", port: 42_102, inode: "2" })).toEqual([false]);
  });

  it("reads a status line whose name holds brackets and blanks", () => {
    const fields = ["S", "7", ...Array.from({ length: 17 }, () => "0"), "123456", "0"].join(" ");
    expect(parse.parseStat(`42 (a) b (c)) ${fields}`)).toEqual({
      comm: "a) b (c)",
      state: "S",
      parentPid: 7,
      startTicks: 123_456,
    });
    expect(parse.startedAtMs(1_700_000_000, 123_456)).toBe(1_700_001_234_560);
  });

  it("takes the effective user", () => {
    expect(parse.parseUid("Name:\tx\nUid:\t1000\t0\t0\t0\nGid:\t5\t5\t5\t5\n")).toBe(0);
    expect(parse.parseUid("Uid:\tx\n")).toBeUndefined();
  });

  it("reads words and variables ended by NUL, the first of two equal names", () => {
    expect(parse.parseCmdline("/x/y\0--a\0\0b c\0")).toEqual({ program: "/x/y", args: ["--a", "", "b c"] });
    const variables = parse.parseEnviron("HOME=1\0=x\0junk\0APPDATA=a=b\nc\0HOME=2\0OTHER=x\0");
    expect([...variables]).toEqual([
      ["HOME", "1"],
      ["APPDATA", "a=b\nc"],
    ]);
  });

  it.each(["5.15.153.1-microsoft-standard-WSL2\n", "4.4.0-19041-Microsoft"])("knows WSL by %s", (release) => {
    expect(parse.isWsl(release)).toBe(true);
    expect(parse.isWsl("6.1.0-18-amd64")).toBe(false);
  });

  it("never crashes on random bytes, and never hangs on long ones", () => {
    const text = fc.uint8Array({ maxLength: 4096 }).map((bytes) => Buffer.from(bytes).toString("utf8"));
    const rows = fc.array(fc.stringMatching(/^[ 0-9A-F:a-f]{0,120}$/)).map((lines) => lines.join("\n"));
    fc.assert(
      fc.property(fc.oneof(text, rows), (input) => {
        parse.parseCmdline(input);
        parse.parseEnviron(input);
        parse.parseStat(input);
        parse.parseUid(input);
        parse.parseBootTime(input);
        parse.parseSocketLink(input);
        for (const { port, address } of parse.parseTcpTable(input)) {
          expect(port).toBeGreaterThan(0);
          expect(address).toMatch(/^[0-9a-f.:]+$/);
        }
      }),
    );
    parse.parseEnviron("=".repeat(1_000_000));
    parse.parseUid("Uid:\t".repeat(100_000));
  });
});
