import { type Client, type Fixes, lastEvent, type Message, type State, type Step, spell } from "./state.ts";

/** A step of the server, or a fault; `steps` adds `optional`. */
export type Taken = Omit<Step, "optional">;

/** The steps that the server can take. */
export function serverSteps(state: State, fixes: Fixes): Taken[] {
  const found: Taken[] = [];
  const { server } = state;
  state.clients.forEach((client, index) => {
    const [chunk, ...rest] = client.out;
    if (chunk === undefined || (client.phase !== "attached" && client.phase !== "aborted" && client.phase !== "done"))
      return;
    const replace = (next: Client) => state.clients.map((c, i) => (i === index ? next : c));
    if (fixes.attachEpochs && client.epoch < state.epoch) {
      const phase = client.phase === "attached" ? "fenced" : client.phase; // who has gone is not told
      found.push({
        label: "server refuses a chunk of an older attach",
        state: { ...state, clients: replace({ ...client, phase, out: [], in: [] }) },
      });
      return;
    }
    if (chunk.seqno === null) {
      found.push({
        label: "server takes the abort",
        state: {
          ...state,
          server: { ...server, aborted: true },
          durable: { ...state.durable, aborted: true },
          clients: replace({ ...client, out: rest }),
        },
      });
      return;
    }
    const before = server.accepted.find(({ seqno }) => seqno === chunk.seqno);
    const ack: Message = { ack: chunk.seqno };
    if (before !== undefined) {
      const broken =
        before.payload === chunk.payload
          ? null
          : `number ${chunk.seqno} was acknowledged for two different chunks: one is lost`;
      found.push({
        label: `server drops ${spell(chunk)} as a duplicate and acknowledges it`,
        state: { ...state, broken, clients: replace({ ...client, out: rest, in: [...client.in, ack] }) },
      });
      return;
    }
    if (chunk.seqno !== server.accepted.length) return; // a gap on an ordered connection: held until the one before it comes
    const generations = state.generations + (chunk.seqno === 0 ? 1 : 0);
    const accepted = {
      ...server,
      accepted: [...server.accepted, chunk],
      aborted: server.aborted || chunk.payload === "abort",
    };
    found.push({
      label: fixes.ackMeansDurable
        ? `server stores ${spell(chunk)} and acknowledges it`
        : `server takes ${spell(chunk)} into memory and acknowledges it`,
      state: {
        ...state,
        generations,
        broken: generations > 1 ? "the answer is generated a second time" : null,
        server: accepted,
        durable: fixes.ackMeansDurable ? accepted : state.durable,
        clients: replace({ ...client, out: rest, in: [...client.in, ack] }),
      },
    });
  });
  if (JSON.stringify(server) !== JSON.stringify(state.durable))
    found.push({ label: "server's memory reaches the disk", state: { ...state, durable: server } });

  const hasResult = server.accepted.some(({ payload }) => payload.startsWith("result"));
  const mayGenerate =
    server.known &&
    !server.aborted &&
    server.accepted.length > 0 &&
    (server.events < 2 || (hasResult && server.events < lastEvent));
  if (mayGenerate) {
    const event = server.events + 1;
    const next = { ...server, events: event };
    found.push({
      label: `server generates event ${event} (${["", "a tool call", "text", "the end"][event]})`,
      state: {
        ...state,
        server: next,
        durable: fixes.ackMeansDurable ? next : state.durable,
        clients: state.clients.map((client) =>
          client.phase === "attached" && (!fixes.attachEpochs || client.epoch === state.epoch)
            ? { ...client, in: [...client.in, { event }] }
            : client,
        ),
      },
    });
  }
  return found;
}
