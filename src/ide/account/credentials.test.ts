import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyCharacter } from "../../../test/support/any-character.ts";
import { Secret } from "../../base/secret.ts";
import type { StateQuestion } from "../apps/layouts.ts";
import { Trace } from "../discover/trace.ts";
import { FakeHost } from "../host/host.fake.ts";
import { parseFlags } from "../process/command-line.ts";
import { csrfTokens, parseToken } from "../process/csrf-token.ts";
import { apiKeyOfJson, parseApiKey, readAccount } from "./api-key.ts";

const signal = new AbortController().signal;
const stateFile = "/home/me/.config/Windsurf/User/globalStorage/state.vscdb";
const question: StateQuestion = {
  platform: "linux",
  variant: "windsurf",
  environment: undefined,
  userDataDir: undefined,
  homes: ["/home/me"],
  sandboxes: new Map(),
};

describe("CSRF tokens", () => {
  const reveal = (...all: Parameters<typeof csrfTokens>) =>
    csrfTokens(...all).map(({ token, source }) => `${source} ${token.reveal()}`);

  it("come from the environment, the argument and memory, in this order and each once", () => {
    const environment = new Map([["WINDSURF_CSRF_TOKEN", "e"]] as const);
    const flags = parseFlags(["--extension_server_csrf_token=x", "--csrf_token", "a"]);
    expect(reveal(environment, flags, new Secret("c"))).toEqual(["environment e", "argument a", "cache c"]);
    expect(reveal(environment, parseFlags(["--csrf_token=e"]), new Secret("e"))).toEqual(["environment e"]);
    expect(reveal(undefined, parseFlags(["--extension_server_csrf_token=x"]), undefined)).toEqual([]);
  });

  it("never hold what could break out of a header", () => {
    const header = /^[\x21-\x7e]{1,512}$/;
    const property = fc.property(fc.string({ unit: anyCharacter }), (value) => {
      const found = csrfTokens(new Map([["WINDSURF_CSRF_TOKEN", value]]), new Map(), undefined);
      return found.every(({ token }) => header.test(token.reveal()));
    });
    expect(() => fc.assert(property)).not.toThrow();
    expect(reveal(new Map([["WINDSURF_CSRF_TOKEN", "a\r\nx: y"]]), new Map(), undefined)).toEqual([]);
    const lengths = [512, 513].map((length) => parseToken("t".repeat(length))?.reveal().length);
    expect(lengths).toEqual([512, undefined]);
  });
});

describe("API keys", () => {
  it.each([
    ["2f6f0a30-7c1e-4b7e-9c54-6f1d2b0a9e11", "uuid"],
    ["sk-ws-01-AbC_def", "sk-ws"],
    ["devin-session-token$eyJhbGciOi.J9.x-_", "devin-session"],
    ["cog_abcdef123", "cog"],
    ["a-form-of-next-year", "unknown"],
  ])("%s is of the form %s", (text, form) => {
    const found = apiKeyOfJson(JSON.stringify({ apiKey: text, userStatusProtoBinaryBase64: "AA==" }));
    expect(found?.form).toBe(form);
    expect(found?.key.reveal()).toBe(text);
  });

  it.each(["", "[]", "null", "{}", '{"apiKey":""}', '{"apiKey":7}', '{"apiKey":"a b c d e f"}', "{"])(
    "%s holds none",
    (json) => {
      expect(apiKeyOfJson(json)).toBeUndefined();
    },
  );

  it("never crash the reader, for any value", () => {
    const property = fc.property(fc.oneof(fc.string({ unit: anyCharacter }), fc.json()), (text) => {
      apiKeyOfJson(text);
      parseApiKey(text);
    });
    expect(() => fc.assert(property)).not.toThrow();
  });
});

describe("the account", () => {
  async function read(host: FakeHost, changes: Partial<StateQuestion> = {}) {
    const trace = new Trace();
    const account = await readAccount(host, { ...question, ...changes }, trace, signal);
    return {
      key: account.apiKey.reveal(),
      signedIn: account.signedIn,
      file: account.file,
      rules: trace.entries.map(({ rule, verdict }) => `${rule} ${verdict}`),
    };
  }

  it("is read from the first database that is there", async () => {
    const host = new FakeHost();
    host.states.set(stateFile, { windsurfAuthStatus: '{"apiKey":"sk-ws-01-a"}' });
    expect(await read(host)).toEqual({ key: "sk-ws-01-a", signedIn: true, file: stateFile, rules: ["state-db kept"] });
  });

  const devinFile = "/home/me/.config/Devin/User/globalStorage/state.vscdb";
  const session = "devin-session-token$eyJhbGciOi.J9.x-_";

  it("is read from the folder of the new name on a machine that never had the old one", async () => {
    const host = new FakeHost();
    host.states.set(devinFile, { windsurfAuthStatus: JSON.stringify({ apiKey: session }) });
    expect(await read(host)).toMatchObject({ key: session, signedIn: true, file: devinFile });
  });

  describe("where the folders of the old and the new name are both there", () => {
    function upgraded(oldMs: number, newMs: number, newKey: string | undefined = session) {
      const host = new FakeHost();
      host.states.set(stateFile, { windsurfAuthStatus: '{"apiKey":"sk-ws-01-old"}' });
      host.states.set(devinFile, { windsurfAuthStatus: JSON.stringify({ apiKey: newKey }) });
      host.files.set(stateFile, { modifiedMs: oldMs });
      host.files.set(devinFile, { modifiedMs: newMs });
      return host;
    }

    it.each([
      ["the new one, which changed last", upgraded(1_000, 2_000), session],
      ["the old one, if that changed last", upgraded(2_000, 1_000), "sk-ws-01-old"],
      ["the old one, if no account is signed in in the new one", upgraded(1_000, 2_000, ""), "sk-ws-01-old"],
    ])("is %s", async (_, host, key) => {
      expect(await read(host)).toMatchObject({ key, signedIn: true });
    });

    it("counts what a running IDE wrote beside the database as a change", async () => {
      const host = upgraded(2_000, 1_000);
      host.files.set(`${devinFile}-wal`, { modifiedMs: 3_000 });
      expect(await read(host)).toMatchObject({ key: session });
    });

    it("is that of the folder which the process names, whichever changed last", async () => {
      const named = { userDataDir: "/home/me/.config/Windsurf" };
      expect(await read(upgraded(1_000, 2_000), named)).toMatchObject({ key: "sk-ws-01-old" });
      const asked = { askUserDataDir: async () => "/home/me/.config/Windsurf" };
      expect(await read(upgraded(1_000, 2_000), asked)).toMatchObject({ key: "sk-ws-01-old" });
    });

    it("is explained in the trace, without a key in it", async () => {
      const trace = new Trace();
      await readAccount(upgraded(1_000, 2_000), question, trace, signal);
      expect(trace.entries).toEqual([
        expect.objectContaining({
          subject: devinFile,
          verdict: "kept",
          why: "holds an API key (devin-session); of 2 folders with an account it changed last, 1970-01-01T00:00:02.000Z",
        }),
        expect.objectContaining({
          subject: stateFile,
          verdict: "note",
          why: "holds an API key too, not used: last changed earlier, 1970-01-01T00:00:01.000Z",
        }),
      ]);
      expect(JSON.stringify(trace.entries)).not.toContain("eyJ");
    });
  });

  it("has no account when the database says so, even if an old file still holds a key", async () => {
    const host = new FakeHost();
    host.states.set(stateFile, { windsurfAuthStatus: "{}" });
    host.texts.set("/home/me/.codeium/config.json", '{"apiKey":"old-old-old"}');
    expect(await read(host)).toMatchObject({ key: "", signedIn: false });
  });

  it("of an older build is in its own file", async () => {
    const host = new FakeHost();
    host.states.set(stateFile, {});
    host.texts.set("/home/me/.codeium/config.json", '{"apiKey":"2f6f0a30-7c1e-4b7e-9c54-6f1d2b0a9e11"}');
    expect(await read(host)).toMatchObject({ signedIn: true, file: "/home/me/.codeium/config.json" });
  });

  it("never comes from another home than the one the process names", async () => {
    const host = new FakeHost();
    host.states.set(stateFile, { windsurfAuthStatus: '{"apiKey":"sk-ws-01-a"}' });
    expect(await read(host, { environment: new Map([["HOME", "/home/demo"]]) })).toMatchObject({
      key: "",
      signedIn: false,
    });
  });

  it("of Antigravity needs no key, and the one stored is not taken", async () => {
    const host = new FakeHost();
    host.states.set("/home/me/.config/Antigravity/User/globalStorage/state.vscdb", {
      antigravityAuthStatus: '{"apiKey":"google-token"}',
    });
    expect(await read(host, { variant: "antigravity" })).toMatchObject({ key: "", signedIn: true });
  });
});
