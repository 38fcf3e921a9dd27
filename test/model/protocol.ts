/**
 * A small model of an idempotent stream: one server, a client that may crash, a second window of it, a connection that
 * may be cut. Pure data; `steps` answers every state that can follow. The algorithm is set by its fixes, so that the
 * checker can be held against the algorithm without them. Source: docs/wire/idempotent-streams.md, "Client algorithm", "Hazards".
 */

/** The corrections that our algorithm makes; each closes one hazard. */
export interface Fixes {
  /** H1: the cursor is the low-water mark of finished work, and a running tool holds it back. */
  readonly cursorWaitsForWork: boolean;
  /** H2: a chunk is stored before it is sent. */
  readonly writeAhead: boolean;
  /** H3: an abort is numbered, stored and acknowledged like a chunk. */
  readonly numberedAbort: boolean;
  /** H4: an acknowledgement means durable. */
  readonly ackMeansDurable: boolean;
  /** H6: an attach says whether it creates or resumes; a resume of what is gone is answered `expired`. */
  readonly explicitIntent: boolean;
  /** H7: the newest attach fences the older one, and a record has one owner. */
  readonly attachEpochs: boolean;
  /** An attach that is worked on late takes no stream from a client that is there: its own connection is gone. */
  readonly liveAttaches: boolean;
  /** What came whole before its connection ended counts, where no other attach has the stream; an abort counts there too. */
  readonly lastWords: boolean;
}

export const allFixes: Fixes = {
  cursorWaitsForWork: true,
  writeAhead: true,
  numberedAbort: true,
  ackMeansDurable: true,
  explicitIntent: true,
  attachEpochs: true,
  liveAttaches: true,
  lastWords: true,
};

/** What may go wrong, and how often. */
export interface Faults {
  readonly cuts: number;
  readonly clientCrashes: number;
  readonly serverCrashes: number;
  readonly expiries: number;
  readonly secondWindows: number;
  /** Of the cuts, those that come before the server has worked on the attach. */
  readonly lateAttaches: number;
  /** Whether the user cancels at some point. */
  readonly aborts: number;
  /** Whether the client may do so as the original ones do: by an abort without a number, on a connection that it leaves at once. */
  readonly leavingAborts: number;
}

/** What the client sends: the request, the result of the tool, or an abort. `payload` tells two chunks of one number apart. */
interface Chunk {
  readonly seqno: number | null;
  readonly payload: string;
}

/** What the server sends. Event 1 is a tool call, 2 text, 3 the end (after the tool's result was accepted). */
type Message = { readonly event: number } | { readonly ack: number } | { readonly expired: true };

interface Saved {
  readonly next: number;
  readonly unacked: readonly Chunk[];
  readonly cursor: number;
  readonly tool: Tool;
}

/** The tool that event 1 asks for: not seen, running, its result handed to the stream. */
type Tool = "none" | "running" | "sent";

interface Client extends Saved {
  readonly phase: "idle" | "detached" | "attached" | "down" | "done" | "aborted" | "left" | "expired" | "fenced";
  /** Chunks the application gave, waiting for their second half (store after send, or send after store). */
  readonly half: Chunk | null;
  readonly out: readonly Chunk[];
  readonly in: readonly Message[];
  readonly epoch: number;
  /** Sets the payloads of one life of a process apart from those of another. */
  readonly life: string;
}

interface ServerMemory {
  readonly known: boolean;
  readonly accepted: readonly Chunk[];
  readonly events: number;
  readonly aborted: boolean;
}

export interface State {
  readonly clients: readonly Client[];
  readonly saved: Saved | null;
  readonly server: ServerMemory;
  readonly durable: ServerMemory;
  readonly epoch: number;
  /** An attach without a connection that the server has not worked on. */
  readonly late: Late | null;
  readonly generations: number;
  readonly faults: Faults;
  /** Set by the step that broke an invariant. */
  readonly broken: string | null;
}

/** Whether it would make the stream, and what came whole before its connection ended. */
interface Late {
  readonly creates: boolean;
  readonly brings: readonly Chunk[];
}

export interface Step {
  readonly label: string;
  readonly state: State;
  /** Nobody has to do it: a fault, or the user's cancel. A stream must not depend on it. */
  readonly optional: boolean;
}

const nothing: ServerMemory = { known: false, accepted: [], events: 0, aborted: false };
const lastEvent = 3;

function fresh(life: string): Client {
  return { phase: "idle", next: 0, unacked: [], cursor: 0, tool: "none", half: null, out: [], in: [], epoch: 0, life };
}

export function initial(faults: Faults): State {
  return {
    clients: [fresh("")],
    saved: null,
    server: nothing,
    durable: nothing,
    epoch: 0,
    late: null,
    generations: 0,
    faults,
    broken: null,
  };
}

/** Every step that can be taken, with a sentence for the trace. */
export function steps(state: State, fixes: Fixes): Step[] {
  if (state.broken !== null) return [];
  return [
    ...state.clients.flatMap((client, index) => clientSteps(state, client, index, fixes)),
    ...serverSteps(state, fixes).map((step) => ({ ...step, optional: false })),
    ...faultSteps(state, fixes).map((step) => ({
      ...step,
      optional: !step.label.includes("starts again from its record"),
    })),
  ];
}

/** Whether nothing more is owed to anyone: the stream is complete, cancelled on both sides, or its end was told. */
export function isSettled(state: State): boolean {
  return state.clients.every(({ phase }, index) => {
    if (phase === "fenced" && index === 0) return false; // no other client continues its stream
    if (phase === "fenced" || phase === "expired" || phase === "down") return true;
    if (phase === "aborted" || phase === "left")
      return state.server.aborted || !state.server.known || state.server.events === lastEvent;
    return phase === "done";
  });
}

function clientSteps(state: State, client: Client, index: number, fixes: Fixes): Step[] {
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
  const { aborts, leavingAborts } = state.faults;
  const isOpen = client.phase === "attached" || client.phase === "detached";
  if (aborts > 0 && leavingAborts > 0 && index === 0 && client.next > 0 && isOpen && state.late === null) {
    put(
      "is cancelled: attaches afresh, says an abort without a number and leaves at once",
      { ...client, phase: "left", half: null, out: [], in: [] },
      {
        faults: { ...state.faults, aborts: aborts - 1, leavingAborts: leavingAborts - 1 },
        late: { creates: false, brings: [{ seqno: null, payload: "abort" }] },
        saved: null,
      },
    );
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

type Taken = Omit<Step, "optional">;

function serverSteps(state: State, fixes: Fixes): Taken[] {
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

function faultSteps(state: State, fixes: Fixes): Taken[] {
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
  if (faults.cuts > 0 && faults.lateAttaches > 0 && first.phase === "detached" && state.late === null) {
    const creates = first.next === 0 || !fixes.explicitIntent;
    const left = { ...faults, cuts: faults.cuts - 1, lateAttaches: faults.lateAttaches - 1 };
    const label = "the client's connection is cut before the server has worked on its attach";
    found.push({ label, state: { ...state, late: { creates, brings: [] }, faults: left } });
    if (first.unacked.length > 0) {
      const brings = first.unacked;
      found.push({
        label: `${label} and on what it sent`,
        state: { ...state, late: { creates, brings }, faults: left },
      });
    }
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
        late: state.late && { ...state.late, creates: !fixes.explicitIntent && state.late.creates }, // a tombstone is left
        faults: { ...faults, expiries: faults.expiries - 1 },
      },
    });
  }
  return found;
}

function save({ next, unacked, cursor, tool }: Client): Saved {
  return { next, unacked, cursor, tool };
}

/** A process that starts from the record. A tool that ran when the process died is asked for again by a replay of its call. */
function revive(client: Client, saved: Saved): Client {
  return { ...client, ...saved, tool: saved.tool === "running" ? "none" : saved.tool, phase: "detached" };
}

function spell({ seqno, payload }: Chunk): string {
  return seqno === null ? payload : `number ${seqno} (${payload})`;
}
