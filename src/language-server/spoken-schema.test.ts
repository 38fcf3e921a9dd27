import { describe, expect, it } from "vitest";
import { systemClock } from "../base/clock.ts";
import { Secret } from "../base/secret.ts";
import { LanguageServerService } from "../proto/windsurf/exa/language_server_pb.ts";
import type { LanguageServer } from "./language-server.ts";
import { createWireIds } from "./metadata.ts";
import { openLanguageServer } from "./open-language-server.ts";
import { startRpcServer } from "./rpc-server.fake.ts";
import { ourSchema, type SpokenSchema } from "./spoken-schema.ts";

const never = new AbortController().signal;
const identity = {
  variant: "windsurf",
  ideVersion: "2.2.17",
  extensionVersion: "",
  extensionPath: "",
  apiKey: new Secret("k"),
} as const;

async function withServer(
  readSpoken: (signal: AbortSignal) => Promise<SpokenSchema>,
  use: (server: LanguageServer) => Promise<void>,
): Promise<number> {
  await using rpc = await startRpcServer({ getUserStatus: () => ({ userStatus: { name: "Ada" } }) });
  const server = openLanguageServer(rpc.endpoint("grpc"), identity, {
    clock: systemClock,
    ids: createWireIds(systemClock),
    readSpoken,
    readSpokenMs: 50,
  });
  try {
    await use(server);
  } finally {
    server.close();
  }
  return rpc.requests.length;
}

describe("a client that learns first what the build speaks", () => {
  it("asks once for all callers", async () => {
    let asked = 0;
    let intercepted = 0;
    const spoken: SpokenSchema = {
      service: LanguageServerService,
      interceptors: [
        (next) => (request) => {
          intercepted++;
          return next(request);
        },
      ],
    };
    const read = async () => {
      asked++;
      return spoken;
    };
    await withServer(read, async (server) => {
      await Promise.all([server.getUserStatus(never), server.getUserStatus(never)]);
      await server.getUserStatus(never);
    });
    expect([asked, intercepted]).toEqual([1, 3]);
  });

  it("continues with our own numbers where that cannot be read", async () => {
    await withServer(
      () => Promise.reject(new Error("unreadable")),
      async (server) => expect((await server.getUserStatus(never)).name).toBe("Ada"),
    );
  });

  it("does not wait for it for ever", async () => {
    const hang = (signal: AbortSignal) =>
      new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    await withServer(hang, async (server) => expect((await server.getUserStatus(never)).name).toBe("Ada"));
  });

  it("asks again when the only caller left before the answer", async () => {
    let asked = 0;
    const quitter = new AbortController();
    const read = (signal: AbortSignal) =>
      new Promise<SpokenSchema>((resolve, reject) => {
        if (++asked > 1) resolve(ourSchema);
        signal.addEventListener("abort", () => reject(signal.reason as Error));
        quitter.abort(new Error("enough"));
      });
    await withServer(read, async (server) => {
      await expect(server.getUserStatus(quitter.signal)).rejects.toMatchObject({ code: "cancelled" });
      expect((await server.getUserStatus(never)).name).toBe("Ada");
    });
    expect(asked).toBe(2);
  });

  it("sends nothing once it is closed", async () => {
    const requests = await withServer(
      async () => ourSchema,
      async (server) => {
        server.close();
        await expect(server.getUserStatus(never)).rejects.toThrow("closed");
      },
    );
    expect(requests).toBe(0);
  });
});
