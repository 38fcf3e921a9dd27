import type { Taken } from "./server-steps.ts";
import { type Client, type Fixes, fresh, nothing, revive, type State } from "./state.ts";

/** The faults that may happen in this state: cut connections, crashes of client and server, a second window, an expired log. */
export function faultSteps(state: State, fixes: Fixes): Taken[] {
  const found: Taken[] = [];
  const { faults } = state;
  const lost = (client: Client): Client =>
    client.phase === "attached"
      ? { ...client, phase: "detached", out: [], in: [], half: fixes.writeAhead ? null : client.half }
      : { ...client, out: [], in: [] };
  const [first, second] = state.clients;
  if (first === undefined) return found;
  const isConnected = first.phase === "attached" || first.out.length > 0;
  if (faults.cuts > 0 && isConnected) {
    found.push({
      label: "the connection is cut",
      state: {
        ...state,
        clients: state.clients.map((c, i) => (i === 0 ? lost(c) : c)),
        faults: { ...faults, cuts: faults.cuts - 1 },
      },
    });
  }
  if (faults.clientCrashes > 0 && first.phase === "attached" && second === undefined) {
    const down: Client = { ...fresh(`${first.life}'`), phase: "down" };
    found.push({
      label: "the client crashes",
      state: { ...state, clients: [down], faults: { ...faults, clientCrashes: faults.clientCrashes - 1 } },
    });
  }
  if (first.phase === "down" && state.saved !== null) {
    found.push({
      label: "the client starts again from its record",
      state: { ...state, clients: [revive(first, state.saved)] },
    });
    if (faults.secondWindows > 0) {
      const two = fixes.attachEpochs
        ? { ...fresh(""), phase: "fenced" as const }
        : { ...revive(first, state.saved), life: `${first.life}2` };
      const label = fixes.attachEpochs
        ? "two windows start; one of them gets the record"
        : "two windows start from the same record";
      found.push({
        label,
        state: {
          ...state,
          clients: [revive(first, state.saved), two],
          faults: { ...faults, secondWindows: faults.secondWindows - 1 },
        },
      });
    }
  }
  if (faults.serverCrashes > 0 && state.server.known) {
    const acked = state.server.accepted.filter((chunk) =>
      state.clients.every(({ unacked }) => !unacked.some(({ payload }) => payload === chunk.payload)),
    );
    const isLost = acked.some((chunk) => !state.durable.accepted.some(({ payload }) => payload === chunk.payload));
    found.push({
      label: "the server crashes and starts again from its disk",
      state: {
        ...state,
        server: state.durable,
        clients: state.clients.map(lost),
        faults: { ...faults, serverCrashes: faults.serverCrashes - 1 },
        broken: isLost ? "an acknowledged chunk is lost" : null,
      },
    });
  }
  if (
    faults.expiries > 0 &&
    state.server.known &&
    state.clients.every(({ phase }) => phase === "detached" || phase === "down")
  ) {
    found.push({
      label: "the server's retention ends",
      state: {
        ...state,
        server: nothing,
        durable: nothing,
        faults: { ...faults, expiries: faults.expiries - 1 },
      },
    });
  }
  return found;
}
