import {
  type Chunk,
  type Client,
  type Fixes,
  type Late,
  lastEvent,
  type Message,
  nothing,
  type State,
  type Step,
  spell,
} from "./state.ts";

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

  if (state.late !== null) {
    const label = "server works on an attach whose connection is gone";
    found.push({ label, state: workOnLate(state, state.late, fixes) });
  }

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

/** An attach like any other, but that nobody is there to be welcomed. */
function workOnLate(state: State, { creates, brings }: Late, fixes: Fixes): State {
  const over: State = { ...state, late: null };
  const said = fixes.lastWords ? brings : [];
  if (!state.server.known) {
    const created = { ...nothing, known: true };
    return creates ? takeAll({ ...over, epoch: state.epoch + 1, server: created, durable: created }, said) : over;
  }
  const isThere = state.clients.some(({ phase }) => phase === "attached");
  if (isThere && fixes.liveAttaches) {
    return takeAll(
      over,
      said.filter(({ payload }) => payload === "abort").map((abort) => ({ ...abort, seqno: null })),
    );
  }
  const claimed = takeAll({ ...over, epoch: state.epoch + 1 }, said);
  if (!isThere || !fixes.attachEpochs) return claimed;
  const fence = (client: Client): Client =>
    client.phase === "attached" ? { ...client, phase: "fenced", out: [], in: [] } : client;
  const broken = "a client is told that another one has its stream, and there is none";
  return { ...claimed, broken, clients: state.clients.map(fence) };
}

/** What a client that has left still said: stored like any other message, but without an acknowledgement. */
function takeAll(state: State, chunks: readonly Chunk[]): State {
  let { server, generations } = state;
  for (const { seqno, payload } of chunks) {
    if (payload === "abort") server = { ...server, aborted: true };
    if (seqno === null || seqno !== server.accepted.length) continue; // it is there already, or another one is
    if (seqno === 0) generations++;
    server = { ...server, accepted: [...server.accepted, { seqno, payload }] };
  }
  const broken = generations > 1 ? "the answer is generated a second time" : state.broken;
  return { ...state, server, durable: server, generations, broken };
}
