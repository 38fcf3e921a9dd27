import { readFileSync } from "node:fs";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../test/support/any-character.ts";
import { isMillraceError } from "../base/errors.ts";
import { apiKeyOfJson } from "./account/api-key.ts";
import { parseLsof, parsePs, parsePsEnvironment } from "./darwin/parse.ts";
import { discover } from "./discover/discover.ts";
import { noOverrides } from "./discover/overrides.ts";
import { FakeHost } from "./host/host.fake.ts";
import * as linux from "./linux/parse.ts";
import { classify, looksLikeServer } from "./process/classify.ts";
import { parseFlags, splitUnquoted, splitWindows } from "./process/command-line.ts";
import { parseTokenFile } from "./process/token-file.ts";
import { isLoopbackAddress } from "./process/verify-holder.ts";
import * as windows from "./windows/parse.ts";

const fixture = (name: string) => readFileSync(new URL(name, import.meta.url), "utf8");
const tcp = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:A475 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 51234 1 0000000000000000 100 0 0 10 0
`;
const tcp6 = `   0: 00000000000000000000000001000000:A476 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 51235 1 0
`;
const commandLine = "/opt/Windsurf - Next/bin/language_server_linux_x64\0--ide_name=windsurf\0--csrf_token\0abc\0";
const environ = "HOME=/home/me\0WINDSURF_CSRF_TOKEN=0f0e\0APPDATA=C:\\a\0";
const json =
  '{"Looked":3,"Processes":[{"ProcessId":1,"CommandLine":"\\"C:\\\\a b\\\\x.exe\\" --a b","CreationDate":"/Date(1706695331000)/","Mine":true}]}';

/** A well-formed input for each parser. */
const samples = [
  tcp,
  tcp6,
  commandLine,
  environ,
  json,
  '{"apiKey":"sk-ws-01-abcdefgh"}',
  "token\napi-key-of-someone\n",
  fixture("darwin/fixtures/ps.txt"),
  fixture("darwin/fixtures/ps-environment.txt"),
  fixture("darwin/fixtures/lsof.txt"),
  fixture("darwin/fixtures/lsof-fields.txt"),
  fixture("windows/fixtures/netstat-german.txt"),
  fixture("windows/fixtures/connections.json"),
  fixture("windows/fixtures/processes-bare-array.json"),
];

/** All parsers of what the system says; none may throw, and what they give must make sense. */
function parseEverything(text: string): void {
  const commands = [linux.parseCmdline(text), splitUnquoted(text), splitWindows(text)];
  for (const command of commands) {
    looksLikeServer(command);
    classify(command);
    parseFlags(command.args);
  }
  linux.parseEnviron(text);
  linux.parseStat(text);
  linux.parseUid(text);
  linux.parseBootTime(text);
  parsePs(text);
  parsePsEnvironment(text);
  apiKeyOfJson(text);
  const answer = windows.parsePowerShellJson(text);
  windows.parseProcesses(answer);
  windows.parseEnvironment(answer);
  const sockets = [
    ...linux.parseTcpTable(text),
    ...parseLsof(text),
    ...windows.parseNetstat(text),
    ...windows.parseConnections(answer),
  ];
  for (const { port, address } of sockets) {
    if (!(port > 0 && port < 65_536) || address === "") throw new Error(`${address}:${port} is no socket`);
  }
}

const noise = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 12 }),
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString("utf8")),
  fc.constantFrom("\0", "\n", "\r\n", '"', "=", " ", "--", ":", "[", "{", "\u2028", "999999999999999999999"),
);
/** A sample with noise put in, taken out or put over, at a few places. */
const damaged = fc
  .tuple(fc.constantFrom(...samples), fc.array(fc.tuple(fc.nat(4_000), fc.nat(40), noise), { maxLength: 4 }))
  .map(([sample, cuts]) =>
    cuts.reduce((text, [at, length, put]) => {
      const place = at % (text.length + 1);
      return text.slice(0, place) + put + text.slice(place + length);
    }, sample),
  );

describe("what the system says", () => {
  it("never crashes a parser, however it is damaged", () => {
    fc.assert(
      fc.property(fc.oneof(damaged, fc.string({ unit: anyCharacter, maxLength: 400 })), (text) => {
        expect(() => parseEverything(text)).not.toThrow();
      }),
      { numRuns: 300 },
    );
  });

  it.each(samples.map((sample) => [sample.trim().slice(0, 40), sample]))(
    "never takes long, however often it is repeated: %j",
    (_, sample) => {
      // A parser that goes back over what it read would take minutes for this, and the test would time out.
      const line = sample.replaceAll("\n", " ");
      for (const text of [line, sample])
        expect(() => parseEverything(text.repeat(Math.ceil(200_000 / text.length)))).not.toThrow();
    },
  );

  it("never makes a token file do anything but give a token or say what to write", () => {
    fc.assert(
      fc.property(damaged, (text) => {
        expect(tokenOf(text)).toMatch(/^(?:[\x21-\x7e]+|refused)$/);
      }),
    );
  });
});

/** The token that a file holds, or that it is refused as it should be. */
function tokenOf(text: string): string {
  try {
    return parseTokenFile(text, "/f").csrf.token.reveal();
  } catch (error) {
    if (isMillraceError(error) && error.code === "invalid_request") return "refused";
    throw error;
  }
}

const words = fc.oneof(
  noise,
  fc.constantFrom(
    "--ide_name",
    "windsurf",
    "windsurf-next",
    "--csrf_token",
    "--app_data_dir",
    "antigravity",
    "--codeium_dir",
  ),
  fc.constantFrom("../..", "--extension_server_port", "70000", "--windsurf_version", "--help", "--server_port=1"),
);
const fakeProcess = fc.record({
  program: fc.oneof(noise, fc.constantFrom("language_server_linux_x64", "/opt/Windsurf/bin/language_server", "agy")),
  args: fc.array(words, { maxLength: 8 }),
  environment: fc.option(fc.dictionary(fc.constantFrom("HOME", "WINDSURF_CSRF_TOKEN", "XDG_CONFIG_HOME"), noise), {
    nil: undefined,
  }),
  sockets: fc.array(
    fc.record({
      address: fc.oneof(noise, fc.constantFrom("127.0.0.1", "::1", "0.0.0.0")),
      port: fc.integer({ min: 1, max: 65_535 }),
      shared: fc.boolean(),
    }),
    { maxLength: 5 },
  ),
  owner: fc.constantFrom("self" as const, "other" as const, "unknown" as const),
});

describe("a machine on which nothing makes sense", () => {
  it("is looked through to the end; only loopback ports of this user's own processes are asked", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fakeProcess, { maxLength: 6 }), damaged, async (processes, stored) => {
        const host = new FakeHost();
        const mayAsk = new Set<number>();
        for (const [index, { program, args, environment, sockets, owner }] of processes.entries()) {
          const pid = index + 1;
          host.add({
            row: {
              pid,
              parentPid: pid,
              owner,
              startedAtMs: undefined,
              command: { program, args },
              zombie: false,
              elsewhere: undefined,
            },
            ...(environment === undefined ? {} : { environment }),
            listening: sockets,
          });
          for (const { address, port, shared } of sockets)
            if (owner === "self" && isLoopbackAddress(address) && !shared) mayAsk.add(port);
        }
        host.states.set("/home/me/.config/Windsurf/User/globalStorage/state.vscdb", { windsurfAuthStatus: stored });
        const asked: number[] = [];
        const { ides } = await discover(
          {
            host,
            probe: async ({ port }) => {
              asked.push(port);
              return port % 2 === 0
                ? { ok: true, protocol: "grpc", tls: false }
                : { ok: false, reason: "closed", why: "" };
            },
            overrides: noOverrides,
            lastGood: new Map(),
          },
          new AbortController().signal,
        );
        expect(asked.filter((port) => !mayAsk.has(port))).toEqual([]);
        for (const { endpoint, codeiumFolder } of ides) {
          expect(isLoopbackAddress(endpoint.host)).toBe(true);
          expect(codeiumFolder?.split("/") ?? []).not.toContain("..");
        }
      }),
      { numRuns: 150 },
    );
  });
});
