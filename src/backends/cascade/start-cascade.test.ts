import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import type { ModelUid } from "../../base/ids.ts";
import { Secret } from "../../base/secret.ts";
import { createWireIds } from "../../language-server/metadata.ts";
import { openLanguageServer } from "../../language-server/open-language-server.ts";
import { startRpcServer } from "../../language-server/rpc-server.fake.ts";
import { InstantClock } from "../instant-clock.fake.ts";
import { cascadeBackend } from "./backend.ts";
import { PollPacer } from "./poll-pacer.ts";
import { defaultPace } from "./poll-schedule.ts";

const prompt = {
  modelUid: "m" as ModelUid, // any name will do
  modelNumber: undefined,
  instructions: "",
  text: "hello",
  messages: [],
  images: [],
  maxOutputTokens: undefined,
  continues: undefined,
  form: "text",
} as const;
const identity = {
  variant: "windsurf",
  ideVersion: "2",
  extensionVersion: "",
  extensionPath: "",
  apiKey: new Secret("k"),
} as const;
const capabilities = { cascade: true, steps: true, transcript: true, rawChat: false };

const failures = {
  "lost its panel state": () => new ConnectError("panel state not found", Code.NotFound),
  "does not trust the workspace": () => new ConnectError("untrusted workspace", Code.FailedPrecondition),
  "refused the token": () => new ConnectError("missing or invalid CSRF token", Code.Unauthenticated),
  "broke off": () => new ConnectError("the connection was lost", Code.Unavailable),
};
type Failure = keyof typeof failures;
const kinds = Object.keys(failures) as Failure[];

/** A turn up to its first batch, over a real connection to a server whose first StartCascade calls fail like this. */
async function start(...failing: readonly Failure[]) {
  let asked = 0;
  const clock = new InstantClock();
  const pacer = new PollPacer(clock);
  const paceMs = [pacer.leastIntervalMs];
  await using rpc = await startRpcServer({
    initializeCascadePanelState: () => ({}),
    startCascade: () => {
      const failure = failing[asked++];
      if (failure !== undefined) throw failures[failure]();
      return { cascadeId: "7f9f1d3e-1111-4222-8333-444455556666" };
    },
    archiveCascadeTrajectory: () => ({}),
  });
  const server = openLanguageServer(rpc.endpoint("grpc"), identity, {
    clock: systemClock,
    ids: createWireIds(systemClock),
  });
  try {
    const source = { find: async () => server, forget: () => {} };
    const settings = {
      clock,
      pace: defaultPace,
      pacer,
      silenceMs: 1_000,
      acceptGraceMs: 1_000,
      ideTools: "read" as const,
    };
    const backend = cascadeBackend(source, server, capabilities, settings);
    let first: string | undefined;
    for await (const batch of backend.run(prompt, { keep: false, onAlive: () => {} }, new AbortController().signal)) {
      first = batch[0]?.type;
      paceMs.push(pacer.leastIntervalMs);
      break;
    }
    paceMs.push(pacer.leastIntervalMs);
    return { asked, first, paceMs };
  } finally {
    server.close();
  }
}

test.each(kinds)("a server that %s once is asked a second time", async (failure) => {
  expect(await start(failure)).toMatchObject({ asked: 2, first: "started" });
});

test.each(kinds.flatMap((first) => kinds.map((second) => [first, second] as const)))(
  "a server that %s and then %s is not asked a third time",
  async (first, second) => {
    expect(await start(first, second, "broke off", "broke off")).toMatchObject({ asked: 2, first: "failed" });
  },
);

test("a turn counts for the pace of all from its beginning to its end", async () => {
  expect(await start()).toMatchObject({ first: "started", paceMs: [0, 14, 0] });
});
