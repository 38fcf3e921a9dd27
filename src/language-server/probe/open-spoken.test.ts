import { describe, expect, it } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { Secret } from "../../base/secret.ts";
import { LanguageServerService } from "../../proto/windsurf/exa/language_server_pb.ts";
import { createWireIds } from "../metadata.ts";
import type { SpokenSchema } from "../open-language-server.ts";
import { startRpcServer } from "../rpc-server.fake.ts";
import { openSpokenLanguageServer } from "./open-spoken.ts";

const never = new AbortController().signal;
const identity = {
  variant: "windsurf",
  ideVersion: "2.2.17",
  extensionVersion: "",
  extensionPath: "",
  apiKey: new Secret("k"),
} as const;

async function withServer(
  readSpoken: (signal: AbortSignal) => Promise<SpokenSchema | undefined>,
  use: (server: ReturnType<typeof openSpokenLanguageServer>) => Promise<void>,
): Promise<{ readonly requests: number; readonly problems: readonly unknown[] }> {
  await using rpc = await startRpcServer({ getUserStatus: () => ({ userStatus: { name: "Ada" } }) });
  const problems: unknown[] = [];
  const server = openSpokenLanguageServer(rpc.endpoint("grpc"), identity, {
    clock: systemClock,
    ids: createWireIds(systemClock),
    readSpoken,
    onUnread: (error) => problems.push(error),
    readMs: 50,
  });
  try {
    await use(server);
  } finally {
    server.close();
  }
  return { requests: rpc.requests.length, problems };
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

  it("continues with our own numbers where that cannot be read, and says so", async () => {
    const { problems } = await withServer(
      () => Promise.reject(new Error("unreadable")),
      async (server) => expect((await server.getUserStatus(never)).name).toBe("Ada"),
    );
    expect(problems).toHaveLength(1);
  });

  it("does not wait for it for ever", async () => {
    const hang = (signal: AbortSignal) =>
      new Promise<undefined>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    const { problems } = await withServer(hang, async (server) => {
      expect((await server.getUserStatus(never)).name).toBe("Ada");
    });
    expect(problems).toHaveLength(1);
  });

  it("asks again when the only caller left before the answer", async () => {
    let asked = 0;
    const quitter = new AbortController();
    const read = (signal: AbortSignal) =>
      new Promise<undefined>((resolve, reject) => {
        if (++asked > 1) resolve(undefined);
        signal.addEventListener("abort", () => reject(signal.reason as Error));
        quitter.abort(new Error("enough"));
      });
    const { problems } = await withServer(read, async (server) => {
      await expect(server.getUserStatus(quitter.signal)).rejects.toMatchObject({ code: "cancelled" });
      expect((await server.getUserStatus(never)).name).toBe("Ada");
    });
    expect([asked, problems]).toEqual([2, []]);
  });

  it("sends nothing once it is closed", async () => {
    const { requests } = await withServer(
      async () => undefined,
      async (server) => {
        server.close();
        await expect(server.getUserStatus(never)).rejects.toThrow("closed");
      },
    );
    expect(requests).toBe(0);
  });
});
