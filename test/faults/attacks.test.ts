import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { requestBytes, sendRaw, untilClosed } from "../attacks/raw-socket.ts";
import { type Target, targets } from "../attacks/route-rows.ts";
import { rowsOf } from "../support/tables.ts";
import { sharedWorld } from "../support/world.ts";

const world = sharedWorld(["--retention", "1m"]);

type Headers = Readonly<Record<string, string | undefined>>;

const portOf = () => Number(new URL(world().served.url).port);

/** The headers of an honest request of the owner. */
function honest({ text }: Target): Headers {
  const { key } = world().served;
  return {
    host: "127.0.0.1",
    authorization: `Bearer ${key}`,
    ...(text === "" ? {} : { "content-type": "application/json" }),
    "content-length": String(Buffer.byteLength(text)),
    connection: "close",
  };
}

/** The answer's status to a request that differs from the honest one in these headers, target or body. */
async function ask(target: Target, headers: Headers = {}, path = target.target, body = target.text) {
  const sent = { ...honest(target), "content-length": String(Buffer.byteLength(body)), ...headers };
  const { statuses, text } = await sendRaw(portOf(), requestBytes(target.route.method, path, sent, body));
  return { status: statuses[0], text };
}

/** What the route answers without a key. */
const unkeyed = ({ route, status }: Target) => (route.guard === "open" ? status : 401);

const wrong = "wrong-wrong-wrong-wrong";
const noKey: Headers = { authorization: undefined };
const foreign = "https://evil.example";

/** Attacks that a change of headers makes, and the status that answers each. */
const headerAttacks: readonly [name: string, headers: Headers, status: (target: Target) => number][] = [
  ["without a key", noKey, unkeyed],
  ["with a wrong key", { authorization: `Bearer ${wrong}` }, unkeyed],
  ["with a wrong key beside", { authorization: undefined, "x-api-key": wrong }, unkeyed],
  ["with another scheme", { authorization: `Basic ${wrong}` }, unkeyed],
  ["with a made-up session", { ...noKey, "x-millrace-session": wrong }, unkeyed],
  [
    "with a made-up cookie",
    { ...noKey, cookie: `millrace_session=${wrong}`, "sec-fetch-site": "same-origin" },
    unkeyed,
  ],
  ["with a foreign Host", { host: "evil.example" }, () => 403],
  ["with a Host that only begins like ours", { host: "127.0.0.1.evil.example" }, () => 403],
  ["without a Host", { host: undefined }, () => 400],
  ["from a foreign page", { origin: foreign }, () => 403],
  ["from a page without an origin", { origin: "null" }, () => 403],
  ["with headers of 64 KB", { "x-large": "x".repeat(65_536) }, () => 431],
  ["with 5,000 headers", Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`x-${i}`, "1"])), () => 431],
  ["with two ends of its body", { "transfer-encoding": "chunked" }, () => 400],
];

describe.each(rowsOf(targets()))("$name", (target) => {
  const { route } = target;

  it("answers its owner", async () => {
    expect((await ask(target)).status).toBe(target.status);
  });

  it.each(headerAttacks)("asked %s is refused", async (_, headers, status) => {
    const answer = await ask(target, headers);
    expect(answer.status).toBe(status(target));
    expect(answer.text).not.toMatch(/^access-control-allow-/im);
  });

  it("is not preflighted for a foreign page, on a private network or not", async () => {
    const preflight = {
      ...noKey,
      origin: foreign,
      "access-control-request-method": route.method,
      "access-control-request-private-network": "true",
    };
    const bytes = requestBytes("OPTIONS", target.target, { host: "127.0.0.1", ...preflight });
    const { statuses, text } = await sendRaw(portOf(), bytes);
    expect(statuses).toEqual([403]);
    expect(text).not.toMatch(/^access-control-allow-/im);
  });

  it("takes no key from its URL, unless Google's programs put theirs there, and no URL of 64 KB", async () => {
    const { key } = world().served;
    const readsKey = target.target.startsWith("/v1beta/");
    const withQuery = (query: string) => `${target.target}${target.target.includes("?") ? "&" : "?"}${query}`;
    expect((await ask(target, noKey, withQuery(`api_key=${key}&token=${key}`))).status).toBe(unkeyed(target));
    const status = readsKey ? target.status : unkeyed(target);
    expect((await ask(target, noKey, withQuery(`key=${key}`))).status).toBe(status);
    expect((await ask(target, noKey, withQuery(`key=${wrong}`))).status).toBe(unkeyed(target));
    expect((await ask(target, {}, withQuery("x".repeat(65_536)))).status).toBe(431);
  });

  it("is reached by no other spelling without a key", async () => {
    const { target: path } = target;
    const spellings = [
      `/${path}`,
      `/.${path}`,
      `/x/..${path}`,
      `/x/%2e%2e${path}`,
      `/health/..${path}`,
      `/api/hello/../..${path}`,
      path.replaceAll(/(?<=.)\//g, "%2f"),
      path.replaceAll(/(?<=.)\//g, "\\"),
      `${path}%00`,
      `${path};a=b`,
      path.toUpperCase(),
      `${path}#/health`,
    ];
    for (const spelling of spellings) {
      const { status = 0 } = await ask(target, noKey, spelling);
      const isOpen = route.guard === "open" && status === target.status;
      expect([spelling, isOpen || [400, 401, 404].includes(status)]).toEqual([spelling, true]);
      expect([spelling, (await ask(target, {}, spelling)).status]).not.toEqual([spelling, 500]);
    }
    expect((await ask(target, {}, `${path}\0`)).status).toBe(400);
    expect((await ask(target, {}, `http://evil.example${path}`)).status).toBe(400);
  });

  it("hands over no second request behind two lengths", async () => {
    const hidden = requestBytes("GET", "/api/hello", { host: "127.0.0.1" });
    const bytes = requestBytes(route.method, target.target, honest(target), hidden);
    const twice = bytes.replace("\r\n\r\n", `\r\ncontent-length: ${Buffer.byteLength(hidden)}\r\n\r\n`);
    expect((await sendRaw(portOf(), twice, untilClosed)).statuses).toEqual([400]);
  });
});

/** 32 MB of blanks. */
const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024, " "));

describe.each(rowsOf(targets().filter(({ route }) => route.body !== undefined)))("$name, with a body", (target) => {
  const { route } = target;

  it.each([
    ["a body that says it has 65 MB", { "content-length": String(65 * 1024 * 1024) }, "{", 413],
    ["a body of 100,000 levels", {}, `${"[".repeat(100_000)}${"]".repeat(100_000)}`, 400],
    ["a body of 100,000 open objects", {}, '{"a":'.repeat(100_000), 400],
  ] as const)("refuses %s", async (_, headers, body, status) => {
    expect((await ask(target, headers, target.target, body)).status).toBe(status);
  });

  it.each([
    ["gzip", 413],
    ["deflate", 400],
    ["br", 400],
    ["zstd", 400],
    ["gzip, gzip", 400],
    ["compress", 415],
    ["gzip, gzip, gzip, gzip", 415],
  ])("unpacks no more than it would read, and nothing that is not %s", async (coding, status) => {
    const head = { ...honest(target), "content-encoding": coding, "content-length": String(bomb.length) };
    const bytes = Buffer.concat([Buffer.from(requestBytes(route.method, target.target, head)), bomb]);
    expect((await sendRaw(portOf(), bytes)).statuses).toEqual([status]);
  });
});

describe.each(rowsOf(targets().filter(({ route }) => route.body === undefined)))("$name, without a body", (target) => {
  it("does not wait for a body that it has no use for", async () => {
    const answer = await ask(target, { "content-length": String(65 * 1024 * 1024) }, target.target, "{");
    expect(answer.status).toBe(target.status);
  });
});

describe("every route with a body", () => {
  it("refuses a body that says no length and is larger than allowed", async () => {
    const piece = "x".repeat(1024 * 1024);
    const chunk = `${piece.length.toString(16)}\r\n${piece}\r\n`;
    for (const target of targets().filter(({ route }) => route.body !== undefined)) {
      const head = {
        ...honest(target),
        "content-length": undefined,
        "transfer-encoding": "chunked",
        connection: undefined,
      };
      const { statuses } = await sendRaw(
        portOf(),
        requestBytes(target.route.method, target.target, head, chunk.repeat(66)),
      );
      expect([target.name, statuses]).toEqual([target.name, [413]]);
    }
    const alive = requestBytes("GET", "/api/hello", { host: "127.0.0.1" });
    expect((await sendRaw(portOf(), alive)).statuses).toEqual([200]);
  });
});
