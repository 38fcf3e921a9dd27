import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../../test/support/any-character.ts";
import { credentialsFile, keyOfCredentials } from "../account/cli-credentials.ts";
import { type IdeOverrides, noOverrides } from "../discover/overrides.ts";
import { Trace } from "../discover/trace.ts";
import { FakeHost } from "../host/host.fake.ts";
import type { FileFacts } from "../host/host.ts";
import { findAgents } from "./find-agents.ts";

const never = new AbortController().signal;
const root = "/usr/share/devin-desktop/resources/app";
const appAgent = `${root}/extensions/windsurf/devin/bin/devin`;
const cli = "/home/me/.local/bin/devin";
const credentials = "/home/me/.local/share/devin/credentials.toml";
const stateFile = "/home/me/.config/Devin/User/globalStorage/state.vscdb";
const own = "devin-session-token$eyJhbGciOi.own.x";
const editors = "devin-session-token$eyJhbGciOi.editor.x";

interface Machine {
  readonly app?: string;
  readonly cli?: Partial<FileFacts>;
  readonly credentials?: string;
  readonly editorKey?: string;
}

function machine({ app, cli: cliFacts, credentials: text, editorKey }: Machine): FakeHost {
  const host = new FakeHost();
  if (app !== undefined) {
    host.texts.set(`${root}/product.json`, JSON.stringify({ nameShort: "Devin", windsurfVersion: app }));
    host.files.set(appAgent, {});
  }
  if (cliFacts !== undefined) host.files.set(cli, cliFacts);
  if (text !== undefined) host.texts.set(credentials, text);
  if (editorKey !== undefined)
    host.states.set(stateFile, { windsurfAuthStatus: JSON.stringify({ apiKey: editorKey }) });
  return host;
}

async function look(host: FakeHost, overrides: Partial<IdeOverrides> = {}, running: readonly string[] = []) {
  const trace = new Trace();
  const options = {
    host,
    overrides: { ...noOverrides, ...overrides },
    probe: () => Promise.reject(new Error("nothing is probed")),
    lastGood: new Map(),
  };
  const found = await findAgents(options, running, trace, never);
  return { ...found, trace: trace.entries };
}

const signedInToml = `windsurf_api_key = "${own}"\napi_server_url = "https://server.self-serve.windsurf.com"\n`;

describe("agent programs", () => {
  it("are that of the app and the CLI, the app's first, although nothing runs", async () => {
    const host = machine({ app: "3.10.48", cli: {}, credentials: signedInToml });
    const { agents, apps } = await look(host);
    expect(agents).toMatchObject([
      {
        variant: "windsurf",
        product: "Devin Desktop 3.10 (formerly Windsurf)",
        path: appAgent,
        from: "app",
        version: "3.10.48",
        signedIn: "own",
        home: "/home/me",
      },
      { product: "Devin CLI", path: cli, from: "cli", version: undefined, signedIn: "own" },
    ]);
    expect(apps).toMatchObject([{ appRoot: root, running: false }]);
    expect((await agents[0]?.readApiKey(never))?.reveal()).toBe(own);
  });

  it.each([
    ["own", "credentials of its own", { credentials: signedInToml, editorKey: editors }, own],
    ["editor", "a key of the app alone", { editorKey: editors }, editors],
    ["no", "neither", {}, undefined],
    ["no", "credentials without a key", { credentials: 'api_server_url = "https://x"' }, undefined],
    ["no", "credentials that are no TOML", { credentials: "windsurf_api_key = " }, undefined],
  ] as const)("are signed in: %s, with %s", async (signedIn, _, files, key) => {
    const { agents } = await look(machine({ cli: {}, ...files }));
    expect(agents).toMatchObject([{ signedIn }]);
    expect((await agents[0]?.readApiKey(never))?.reveal()).toBe(key);
  });

  it("read the key when they are asked, not when they are found", async () => {
    const host = machine({ cli: {}, credentials: signedInToml });
    const { agents } = await look(host);
    host.texts.delete(credentials);
    expect(await agents[0]?.readApiKey(never)).toBeUndefined();
  });

  it.each([
    ["another user could have put there", { risk: "can be written by every user" }, /every user, so it is not started/],
    ["this user may not run", { executable: false }, /is not executable/],
    ["are no files", { kind: "folder" }, /is not a program file/],
  ] as const)("that %s are left out, and the trace says so", async (_, facts, why) => {
    const { agents, trace } = await look(machine({ cli: facts, credentials: signedInToml }));
    expect(agents).toEqual([]);
    expect(trace).toContainEqual(
      expect.objectContaining({ stage: "agents", subject: cli, verdict: "rejected", why: expect.stringMatching(why) }),
    );
  });

  it("are named once, however many links lead there", async () => {
    const host = machine({ app: "3.10.48", cli: { realPath: appAgent } });
    host.variables["PATH"] = "/home/me/.local/bin:/usr/local/bin:relative::/home/me/.local/bin/";
    expect((await look(host)).agents.map(({ path }) => path)).toEqual([appAgent]);
  });

  it("have the version from an installer's link or a package", async () => {
    const linked = machine({ cli: { realPath: "/home/me/.local/share/devin/versions/3000.2.17/devin" } });
    expect((await look(linked)).agents).toMatchObject([{ product: "Devin CLI 3000.2.17", version: "3000.2.17" }]);
    const packed = machine({ cli: { realPath: "/opt/pack/bin/devin" } });
    packed.texts.set("/opt/pack/package.json", '{"name":"devin","version":"3000.11.3"}');
    expect((await look(packed)).agents).toMatchObject([{ version: "3000.11.3" }]);
  });

  it("are not the window's own program, which has the same name on macOS and Windows", async () => {
    const host = machine({});
    host.variables["PATH"] = "/Applications/Devin.app/Contents/MacOS:/programs/Devin";
    host.files.set("/Applications/Devin.app/Contents/MacOS/devin", {});
    host.files.set("/programs/Devin/devin", {});
    host.texts.set("/programs/Devin/resources/app/product.json", "{}");
    expect((await look(host)).agents).toEqual([]);
  });

  it("of a running app come before those of one that does not run", async () => {
    const host = machine({ app: "3.10.48", credentials: signedInToml });
    const other = "/media/stick/Devin/resources/app";
    host.texts.set(`${other}/product.json`, JSON.stringify({ nameShort: "Devin", windsurfVersion: "3.9.19" }));
    host.files.set(`${other}/extensions/windsurf/devin/bin/devin`, {});
    const running = [`${other}/extensions/windsurf/devin/bin/devin`];
    const { agents } = await look(host, {}, running);
    expect(agents.map(({ version }) => version)).toEqual(["3.9.19", "3.10.48"]);
    expect((await look(host)).agents.map(({ version }) => version)).toEqual(["3.10.48"]);
  });

  it("are looked for below the one home that is asked for, and nowhere else", async () => {
    const host = machine({ app: "3.10.48", cli: {}, credentials: signedInToml });
    host.variables["PATH"] = "/usr/bin:/tmp/h/bin";
    host.files.set("/usr/bin/devin", {});
    host.files.set("/tmp/h/bin/devin", {});
    const { agents } = await look(host, { onlyHome: "/tmp/h" });
    expect(agents).toMatchObject([{ path: "/tmp/h/bin/devin", signedIn: "no", home: "/tmp/h" }]);
  });

  it("of another variant than the one asked for are left out", async () => {
    const host = machine({ app: "3.10.48", cli: {} });
    expect((await look(host, { variant: "windsurf-next" })).agents).toEqual([]);
    expect((await look(host, { variant: "antigravity" })).agents).toEqual([]);
  });

  it("leave no key in the trace, nor in what is printed of them", async () => {
    const found = await look(machine({ app: "3.10.48", cli: {}, credentials: signedInToml, editorKey: editors }));
    expect(JSON.stringify(found)).not.toContain("eyJ");
  });
});

describe("the CLI's credentials", () => {
  it("lie in the folder of user data, on each system", () => {
    expect(credentialsFile("linux", "/home/me", {})).toBe(credentials);
    expect(credentialsFile("darwin", "/Users/me", { XDG_DATA_HOME: "/d" })).toBe("/d/devin/credentials.toml");
    expect(credentialsFile("windows", String.raw`C:\Users\me`, {})).toBe(
      String.raw`C:\Users\me\AppData\Roaming\devin\credentials.toml`,
    );
  });

  it("never crash the reader, for any content", () => {
    const line = fc.oneof(
      fc.string({ unit: anyCharacter }),
      fc.json().map((value) => `windsurf_api_key = ${value}`),
      fc.constant('windsurf_api_key = "abc"'),
    );
    const property = fc.property(fc.array(line), (lines) => {
      keyOfCredentials(lines.join("\n"));
    });
    expect(() => fc.assert(property)).not.toThrow();
  });
});
