import { once } from "node:events";
import { createServer, type Server } from "node:net";
import { networkInterfaces } from "node:os";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../base/clock.ts";
import type { LanguageServer } from "../../language-server/language-server.ts";
import { openIdeFinder } from "../discover/finder.ts";
import { noOverrides } from "../discover/overrides.ts";
import { LinuxWorld, newTokenFlags, token } from "../linux-world.fake.ts";
import { onlyProcesses, probeStandIn } from "../stand-in-process.fake.ts";

const hasIpv6 = Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === "::1"));
const never = new AbortController().signal;

/** This very process listens beside the IDE's on its port, as a program of the same user may (SO_REUSEPORT). */
describe.runIf(process.platform === "linux")("a squatter on the IDE's own port", () => {
  let world: LinuxWorld;
  let squatter: Server;
  let received: string;
  beforeEach(() => {
    world = new LinuxWorld();
    received = "";
    squatter = createServer((socket) => {
      socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1"))).on("error", () => {});
    });
  });
  afterEach(async () => {
    squatter.close();
    await world.close();
  });

  async function squat(port: number): Promise<void> {
    squatter.listen({ port, host: "127.0.0.1", reusePort: true });
    await once(squatter, "listening");
  }
  const startIde = () =>
    world.start({
      flags: newTokenFlags,
      environment: { HOME: world.home, WINDSURF_CSRF_TOKEN: token },
      ports: 1,
      reusePort: true,
    });

  it("is asked nothing when it was there first", async () => {
    const ide = await startIde();
    await squat(ide.ports[0] ?? 0);
    for (let look = 0; look < 8; look++) {
      const { ides, trace } = await world.look();
      expect(ides).toEqual([]);
      expect(trace).toContainEqual(
        expect.objectContaining({ subject: `port ${ide.ports[0]}`, rule: "shared", verdict: "rejected" }),
      );
    }
    expect(received).toBe("");
  });

  it.runIf(hasIpv6)("does not hide the IDE from a socket for every IPv6 address", async () => {
    const ide = await startIde();
    squatter.listen({ port: ide.ports[0] ?? 0, host: "::", ipv6Only: true });
    await once(squatter, "listening");
    const { ides } = await world.look();
    expect(ides.map(({ endpoint }) => `${endpoint.host}:${endpoint.port}`)).toEqual([`127.0.0.1:${ide.ports[0]}`]);
    expect(received).toBe("");
  });

  it("gets no client and no key when it comes later, and the IDE is used again once it has gone", async () => {
    const ide = await startIde();
    const connected: string[] = [];
    const finder = openIdeFinder({
      host: onlyProcesses(world.host, () => [ide.pid]),
      clock: systemClock,
      probe: probeStandIn,
      overrides: noOverrides,
      connect: ({ port }) => {
        connected.push(`connected to ${port}`);
        return { close: () => {} } as unknown as LanguageServer; // only opened and closed here
      },
    });
    try {
      const [found] = (await finder.find(never)).ides;
      if (found === undefined) throw new Error("nothing found");
      await squat(found.endpoint.port);
      await expect(finder.connect(found, never)).rejects.toMatchObject({
        code: "ide_not_running",
        message: expect.stringContaining("another process listens on the same port too"),
      });
      expect({ connected, received }).toEqual({ connected: [], received: "" });
      squatter.close();
      await finder.connect(found, never);
      expect(connected).toEqual([`connected to ${found.endpoint.port}`]);
    } finally {
      finder.close();
    }
  });
});
