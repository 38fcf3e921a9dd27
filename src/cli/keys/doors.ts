import { createServer } from "node:net";
import { bestEffort } from "../../base/async.ts";
import type { Clock } from "../../base/clock.ts";
import { isMillraceError, MillraceError } from "../../base/errors.ts";
import { isOfSameUser, tellsUserOfClient } from "../../base/node/socket-owner.ts";
import type { FoundKey } from "../../gateway/http/guard.ts";
import type { Listener } from "../../gateway/http/listen.ts";
import type { OpenGateway } from "../../gateway/open-gateway.ts";
import type { composeKeys } from "./compose-keys.ts";
import { keyState } from "./key-record.ts";

/** The address of a door, for a program that can be given nothing else. */
export function doorUrl(port: number): string {
  return `http://127.0.0.1:${port}`;
}

/** The doors of a running gateway: a listener for each key that has a port and works. */
export function openDoors({
  keys,
  gateway,
  clock,
}: {
  readonly keys: Pick<ReturnType<typeof composeKeys>, "all" | "ofCaller">;
  readonly gateway: Pick<OpenGateway, "openDoor">;
  readonly clock: Pick<Clock, "now">;
}) {
  const open = new Map<string, Listener>();
  const ever = new Set<Listener>();
  let isOver = false;
  const adjustNow = async (): Promise<readonly string[]> => {
    const nowMs = clock.now();
    const isWanted = (caller: string) => {
      const key = keys.all().get(caller);
      return key !== undefined && keyState(key, nowMs) === "works";
    };
    for (const [caller, listener] of open) {
      if (isWanted(caller)) continue;
      open.delete(caller);
      await listener.stopAccepting(); // running answers continue
    }
    const problems: string[] = [];
    for (const [caller, { name, door: port }] of keys.all()) {
      if (port === undefined || open.has(caller) || isOver || !isWanted(caller)) continue;
      try {
        const listener = await gateway.openDoor({ port, key: () => keys.ofCaller(caller), admits: isOfSameUser });
        open.set(caller, listener);
        ever.add(listener);
      } catch (error) {
        if (!isMillraceError(error)) throw error;
        problems.push(`The door of the key ${name} is closed: ${error.message}`);
      }
    }
    return problems;
  };
  let last: Promise<unknown> = Promise.resolve();
  return {
    /** Opens and closes doors as the list of keys has them now; answers why others cannot be opened. */
    adjust(): Promise<readonly string[]> {
      const next = bestEffort(last).then(adjustNow);
      last = next;
      return next;
    },
    /** A door for a key that is lent until the signal aborts, at this port or, for 0, at a free one; answers its port. Throws as `doorPort` does. */
    async lend(wanted: number, key: () => FoundKey | undefined, until: AbortSignal): Promise<number> {
      const port = await doorPort(wanted, process.platform);
      const listener = await gateway.openDoor({ port, key, admits: isOfSameUser });
      ever.add(listener);
      const end = () => void bestEffort(listener.close()).then(() => ever.delete(listener));
      if (until.aborted) end();
      else until.addEventListener("abort", end, { once: true });
      return port;
    },
    /** These connections and those of all doors. */
    withConnections: (others: ReturnType<Listener["connections"]>) =>
      [...ever]
        .map((listener) => listener.connections())
        .reduce((sum, each) => ({ open: sum.open + each.open, ever: sum.ever + each.ever }), others),
    async stopAccepting(): Promise<void> {
      isOver = true;
      await bestEffort(last);
      await Promise.all([...ever].map((listener) => listener.stopAccepting()));
    },
    async close(): Promise<void> {
      await Promise.all([...ever].map((listener) => listener.close()));
    },
  };
}

/**
 * The port of a new door: this one, or a free one for 0. Throws `invalid_request` where another program has it, or where the system
 * does not tell whose program connects.
 */
export async function doorPort(port: number, platform: string): Promise<number> {
  if (!tellsUserOfClient(platform))
    throw new MillraceError(
      "invalid_request",
      "This system does not tell whose program connects, so there are no doors.",
      {
        param: "door",
        hint: "`millrace keys create <name>` without --door makes a key.",
      },
    );
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", (cause) =>
      reject(
        new MillraceError("invalid_request", `Port ${port} is taken or not allowed.`, {
          param: "door",
          hint:
            port === 11_434
              ? "Does Ollama run? Stop it, or leave the port out."
              : "Choose another one, or leave the port out.",
          cause,
        }),
      ),
    );
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : port));
    });
  });
}
