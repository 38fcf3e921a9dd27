import {
  type Chunk,
  type Client,
  type Fixes,
  lastEvent,
  type Message,
  nothing,
  type State,
  type Step,
  save,
  spell,
} from "./state.ts";

/** The steps that one client can take. */
export function clientSteps(state: State, client: Client, index: number, fixes: Fixes): Step[] {
  const name = index === 0 ? "client" : "window 2";
  const found: Step[] = [];
  const put = (label: string, next: Client, rest: Partial<State> = {}) => {
    const optional = label.startsWith("is cancelled");
    found.push({
      label: `${name} ${label}`,
      optional,
      state: { ...state, ...rest, clients: state.clients.map((c, i) => (i === index ? next : c)) },
    });
  };

  if (client.phase === "idle") {
    const created = { ...client, phase: "detached" as const };
    put("starts a stream", created, { saved: save(created) });
  }
  if (client.phase === "detached") attach(state, client, put, fixes);
  if (client.half !== null && client.phase === "attached") {
    const chunk = client.half;
    const whole = { ...client, half: null, out: fixes.writeAhead ? [...client.out, chunk] : client.out };
    put(
      fixes.writeAhead ? `sends ${spell(chunk)}` : `stores ${spell(chunk)}`,
      whole,
      fixes.writeAhead ? {} : { saved: save(whole) },
    );
  }
  if (client.phase === "attached" && client.half === null) {
    if (client.next === 0)
      give(client, { seqno: 0, payload: `request${client.life}` }, put, fixes, "gives the request");
    if (client.tool === "running") {
      const chunk = { seqno: client.next, payload: `result${client.life}` };
      give({ ...client, tool: "sent" }, chunk, put, fixes, "finishes the tool and gives its result");
    }
    if (state.faults.aborts > 0 && index === 0 && client.next > 0) {
      const faults = { ...state.faults, aborts: state.faults.aborts - 1 };
      if (fixes.numberedAbort) {
        const chunk = { seqno: client.next, payload: "abort" };
        const stored = {
          ...client,
          next: client.next + 1,
          unacked: [...client.unacked, chunk],
          out: [...client.out, chunk],
        };
        put("is cancelled: stores and sends a numbered abort", stored, { faults, saved: save(stored) });
      } else {
        put(
          "is cancelled: sends an abort once",
          { ...client, phase: "aborted", out: [...client.out, { seqno: null, payload: "abort" }] },
          { faults, saved: null },
        );
      }
    }
  }
  const [message, ...rest] = client.in;
  if (client.phase === "attached" && message !== undefined)
    receive(state, { ...client, in: rest }, message, put, fixes);
  return found;
}

type Put = (label: string, next: Client, rest?: Partial<State>) => void;

function attach(state: State, client: Client, put: Put, fixes: Fixes): void {
  const known = state.server.known;
  if (!known && client.next > 0 && fixes.explicitIntent) {
    put("attaches to resume and is told that the stream has expired", { ...client, phase: "expired" }, { saved: null });
    return;
  }
  const epoch = state.epoch + 1;
  const replay: Message[] = [];
  for (let event = client.cursor + 1; event <= state.server.events; event++) replay.push({ event });
  const attached: Client = { ...client, phase: "attached", epoch, half: null, out: client.unacked, in: replay };
  const created = { ...nothing, known: true };
  put(
    known ? "attaches" : "attaches and the server creates the stream",
    attached,
    known ? { epoch } : { epoch, server: created, durable: created },
  );
}

function give(client: Client, chunk: Chunk, put: Put, fixes: Fixes, label: string): void {
  const taken = { ...client, next: client.next + 1, unacked: [...client.unacked, chunk], half: chunk };
  if (fixes.writeAhead) put(`${label}, stored as number ${chunk.seqno}`, taken, { saved: save(taken) });
  else put(`${label}, sent as number ${chunk.seqno}`, { ...taken, out: [...taken.out, chunk] });
}

function receive(state: State, client: Client, message: Message, put: Put, fixes: Fixes): void {
  if ("expired" in message) {
    put("is told that the stream has expired", { ...client, phase: "expired" }, { saved: null });
    return;
  }
  if ("ack" in message) {
    const unacked = client.unacked.filter(({ seqno }) => seqno !== message.ack);
    const told = { ...client, unacked };
    const isAborted = client.unacked.some(({ seqno, payload }) => seqno === message.ack && payload === "abort");
    put(`gets the acknowledgement of ${message.ack}`, isAborted ? { ...told, phase: "aborted" } : told, {
      saved: isAborted ? null : save(told),
    });
    return;
  }
  if (message.event === 1) {
    const isNew = client.tool === "none";
    const tool = isNew ? "running" : client.tool;
    const seen: Client = { ...client, tool }; // a call moves no cursor, with or without the fixes
    put(isNew ? "gets the tool call (event 1) and runs the tool" : "gets the tool call again", seen);
  } else {
    const holds = fixes.cursorWaitsForWork && client.tool !== "sent";
    const cursor = holds ? client.cursor : message.event;
    const isEnd = message.event === lastEvent;
    const moved: Client = { ...client, cursor, phase: isEnd ? "done" : client.phase };
    const broken = isEnd && state.server.events < lastEvent ? "an end was surfaced that the log does not hold" : null;
    put(isEnd ? "gets the end" : `gets text (event ${message.event})`, moved, {
      saved: isEnd ? null : save(moved),
      broken,
    });
  }
}
