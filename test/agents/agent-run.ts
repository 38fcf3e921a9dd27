import { strict as assert } from "node:assert";
import { existsSync, readFileSync } from "node:fs";
import { isObject, type JsonObject } from "../../src/base/json.ts";
import { actsNot, answersPlainly, loops, takesTools } from "./answers.ts";
import { type Bench, openBench } from "./bench.ts";
import { allCells, type Cell, fewCells, sampleCells } from "./cells.ts";
import { check } from "./check.ts";
import { checkGateway } from "./gateway-checks.ts";
import { checkHalves } from "./halves.ts";
import { Matrix } from "./matrix.ts";
import { startModelServer } from "./model-server.ts";
import { commandsIn, openOwnerSession } from "./owner-session.ts";
import type { Owner } from "./owners/owner.ts";
import { makePlace, secrets } from "./place.ts";
import type { Sighting } from "./recorded.ts";
import { barePaths, commandAttacks, pathAttacks, toolAttack, usualCommands } from "./texts.ts";
import { tracesOf } from "./traces.ts";

/** What an agent came to, by the heading of a column. */
export interface AgentOutcome {
  readonly sighting: Sighting;
  readonly columns: Readonly<Record<string, boolean>>;
  /** Patterns of files that hold a prompt's text in the clear: while its gateway runs, and after it has ended. */
  readonly clear: { readonly after: readonly string[]; readonly ended: readonly string[] };
}

/** What its owner's editor sees of an agent. */
interface Offer extends Pick<Sighting, "owner"> {
  readonly tools: Readonly<Record<string, JsonObject>>;
}

/** A word that the plain questions hold, to find them again on the disk. */
const marker = "count to 5 for";

/** Asks an agent what it can do, as its owner has it, and calls all that was planted: so it is known that the plants work. */
async function askOwner(owner: Owner, program: string): Promise<Offer> {
  const model = await startModelServer();
  const place = makePlace(owner, model, true);
  const session = await openOwnerSession(owner, program, place);
  try {
    const command = JSON.stringify(owner.input(place.mark("allowed-command")));
    const texts = [
      "Please count to 3.",
      ...owner.calls,
      `Look at @${place.home}/${secrets.plain}`,
      `Please use the tool ${owner.tool} with ${command} now`,
    ];
    for (const text of texts) await session.prompt(text).catch(() => {}); // some commands end so
    await session.end();
    const tools = Object.assign({}, ...model.requests.map((request) => request.tools)) as Offer["tools"];
    const read = new Set(model.requests.flatMap((request) => place.readIn(request.texts.join("\n"))));
    const names = Object.keys(tools).sort();
    return { tools, owner: { commands: session.commands(), tools: names, ran: place.marks(), read: [...read].sort() } };
  } finally {
    await session.end();
    await model.close();
    place.remove();
  }
}

/** All that is tried with one agent. `full`: every text in every way. */
export async function runAgent(owner: Owner, program: string, version: string, full: boolean): Promise<AgentOutcome> {
  let offer: Offer = { tools: {}, owner: { commands: [], tools: [], ran: [], read: [] } };
  await check(`${owner.name}: what its owner's editor can ask of it`, async () => {
    offer = await askOwner(owner, program);
    assert(offer.owner.commands.length + offer.owner.tools.length > 0, "it offers nothing");
  });
  const free = await openBench(owner, program, true);
  try {
    const plain = await answersPlainly(free);
    const tame = await actsNot(free);
    const commands = [...new Set([...offer.owner.commands, ...announced(free)])].sort();
    const matrix = new Matrix(free);
    const quiet = await trySoFar(matrix, owner.name);
    const cells = cellsOf(free, commands, full);
    const holds = await tryAll(`${owner.name}: a text stays a text`, matrix, cells);
    const noTool = await tryTools(matrix, free, offer);
    const looped = await loops(free);
    if (owner.name === "opencode") {
      await checkGateway(free);
      await checkHalves(free, full ? 3 : 1);
    }
    const stays = await trySoFar(matrix, owner.name);
    const after = tracesOf(owner, free.place, free.before, marker);
    await free.stop();
    const late = await tryLate(matrix, free);
    const ended = tracesOf(owner, free.place, free.before, marker);
    const kept = await check(`${owner.name}: its owner's files and sign-in are as before`, async () => {
      assert.deepEqual([...after.changed, ...ended.changed], []);
    });
    const { untouched, clear } = await runDefaults(owner, program);
    const left = [...new Set([...after.left, ...ended.left])].sort();
    const behind = { commands: announced(free), tools: [...matrix.offered].sort(), left };
    return {
      sighting: { version, owner: offer.owner, behind },
      columns: {
        "plain answer": plain,
        "its own tools do nothing": tame && noTool,
        "a text stays a text": quiet && stays && holds && late && kept && untouched,
        "30 rounds of a tool loop are one prompt, in three APIs": looped,
      },
      clear,
    };
  } finally {
    await free.close();
  }
}

/** The same agent with the settings that it comes with: the owner's commands, and a tool of the client. Nothing is killed here, so what lies on the disk is what stays of orderly turns. */
async function runDefaults(
  owner: Owner,
  program: string,
): Promise<Pick<AgentOutcome, "clear"> & { readonly untouched: boolean }> {
  const bench = await openBench(owner, program, false);
  try {
    const plain = await answersPlainly(bench);
    const taken = await takesTools(bench);
    const matrix = new Matrix(bench);
    const quiet = await trySoFar(matrix, `${owner.name}, with its default settings`);
    const calls = commandAttacks(owner, [], bench.place);
    const cells = fewCells(calls, pathAttacks(bench.place));
    const holds = await tryAll(`${owner.name}, with its default settings: a text stays a text`, matrix, cells);
    const after = tracesOf(owner, bench.place, bench.before, marker);
    await bench.stop();
    const late = await tryLate(matrix, bench);
    const { changed, clear: ended } = tracesOf(owner, bench.place, bench.before, marker);
    const kept = await check(`${owner.name}, with its default settings: its owner's files are as before`, async () => {
      assert.deepEqual(changed, []);
    });
    return { untouched: plain && taken && quiet && holds && late && kept, clear: { after: after.clear, ended } };
  } finally {
    await bench.close();
  }
}

function cellsOf({ owner, place }: Bench, commands: readonly string[], full: boolean): readonly Cell[] {
  const usual = full ? usualCommands : usualCommands.filter((_, index) => index % 8 === 0);
  const calls = commandAttacks(owner, [...commands, ...usual], place);
  const [paths, bare] = [pathAttacks(place), barePaths(place)];
  return full ? allCells([...calls, ...paths, ...bare]) : sampleCells(calls, paths, bare);
}

/** Each kind of fault is told once, with the cells that have it. */
async function tryAll(sentence: string, matrix: Matrix, cells: readonly Cell[]): Promise<boolean> {
  return check(`${sentence}, in ${cells.length} cells`, async () => {
    const found = new Map<string, string[]>();
    for (const cell of cells)
      for (const fault of await matrix.run(cell))
        found.set(fault, [...(found.get(fault) ?? []), `${cell.attack.name} in ${cell.way.name}`]);
    assertNone(found);
  });
}

async function tryTools(matrix: Matrix, { owner, place }: Bench, { tools }: Offer): Promise<boolean> {
  const names = Object.entries(tools);
  return check(`${owner.name}: none of its ${names.length} own tools does anything`, async () => {
    const found = new Map<string, string[]>();
    for (const [index, [name, schema]] of names.entries())
      for (const fault of await matrix.runTool(toolAttack(name, schema, place), index % 2 === 1))
        found.set(fault, [...(found.get(fault) ?? []), name]);
    assertNone(found);
  });
}

function assertNone(found: ReadonlyMap<string, readonly string[]>): void {
  const lines = [...found].map(
    ([fault, cells]) => `\n        ${fault} (${cells.length}): ${cells.slice(0, 6).join("; ")}`,
  );
  assert.equal(lines.join(""), "");
}

/** What came beside the texts: from the start of the agent on, in plain questions and in loops. */
async function trySoFar(matrix: Matrix, agent: string): Promise<boolean> {
  return check(`${agent}: nothing of its owner ran or was read, since its start or the last text`, async () => {
    assert.deepEqual(
      matrix.late().filter((fault) => !fault.startsWith("a request of the model")),
      [],
    );
  });
}

async function tryLate(matrix: Matrix, { owner }: Bench): Promise<boolean> {
  return check(`${owner.name}: nothing happened later, for a title or at its end`, async () => {
    assert.deepEqual(matrix.late(), []);
  });
}

/** The commands that an agent announced to Millrace. */
function announced({ place }: Bench): readonly string[] {
  if (!existsSync(place.wire)) return [];
  const lines = readFileSync(place.wire, "utf8")
    .split("\n")
    .filter((line) => line.includes("available_commands_update"));
  const names = lines.flatMap((line) => {
    const { params }: { params?: unknown } = JSON.parse(line.slice(2)) as object; // the tap's
    return isObject(params) ? commandsIn(params) : [];
  });
  return [...new Set(names)].sort();
}
