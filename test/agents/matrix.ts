import type { Asked } from "./asked.ts";
import { type Bench } from "./bench.ts";
import type { Cell } from "./cells.ts";
import type { Attack } from "./texts.ts";
import { clientTool } from "./ways.ts";

/** What was wrong with a cell, in words; none where it held. */
export type Faults = readonly string[];

/** Runs the cells of one bench, one after the other, and knows which requests of the model belong to which. */
export class Matrix {
  readonly #bench: Bench;
  #seen = 0;
  /** The names of tools that the model was offered, but the client's. */
  readonly offered = new Set<string>();

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  /** Sends the text of a cell, and says what was wrong. */
  async run({ way, attack: { text } }: Cell): Promise<Faults> {
    const faults = [...this.late()];
    const target = { gateway: this.#bench.gateway, home: this.#bench.place.home, model: this.#bench.asked };
    const answer = await way.send(target, text).catch((error: unknown) => {
      faults.push(`no answer: ${plainly(error)}`);
      return undefined;
    });
    const asked = this.#take();
    const prompts = asked.filter(({ isPrompt }) => isPrompt);
    if (answer !== undefined && !/^(?:pong|\{"pong":1\}|1, 2(?:, 3)?)$/.test(answer.trim()))
      faults.push(`another answer: ${answer.slice(0, 200)}`);
    if (prompts.length !== way.requests) faults.push(`${prompts.length} requests of the model, not ${way.requests}`);
    const places = prompts.map((request) => (way.arrives === "user" ? request.user : request.texts)).flat();
    if (way.arrives !== "changed" && !places.some((place) => isIn(text, place)))
      faults.push("the model did not get the text word for word");
    return [...faults, ...this.#traces(asked, way.hasTool)];
  }

  /** Asks the model to use a tool of the agent's. The turn may fail, but nothing may happen. */
  async runTool({ text }: Attack, hasTool: boolean): Promise<Faults> {
    const faults = [...this.late()];
    const tools = hasTool
      ? {
          tools: [{ type: "function" as const, function: { ...clientTool, parameters: { ...clientTool.parameters } } }],
        }
      : {};
    const body = { model: this.#bench.asked, messages: [{ role: "user" as const, content: text }], ...tools };
    await this.#bench
      .client()
      .chat.completions.create(body)
      .catch(() => {});
    return [...faults, ...this.#traces(this.#take(), hasTool)];
  }

  /** What came since the last cell. */
  late(): Faults {
    const asked = this.#take();
    const extra = asked
      .filter(({ isPrompt }) => isPrompt)
      .map(({ path }) => `a request of the model after the turn: ${path}`);
    return [...extra, ...this.#traces(asked, true)];
  }

  #take(): readonly Asked[] {
    const { requests } = this.#bench.model;
    const asked = requests.slice(this.#seen);
    this.#seen = requests.length;
    return asked;
  }

  #traces(asked: readonly Asked[], hasTool: boolean): Faults {
    const { owner, place } = this.#bench;
    const faults: string[] = [];
    for (const { tools, texts } of asked) {
      for (const name of Object.keys(tools)) {
        if (hasTool && name.endsWith(clientTool.name)) continue;
        this.offered.add(name);
        if (owner.known[name] === undefined) faults.push(`the model was offered ${name}`);
      }
      for (const file of place.readIn(texts.join("\n")))
        if (owner.known[file] === undefined) faults.push(`the model got the owner's ${file}`);
    }
    const marks = place.marks().filter((mark) => owner.known[mark] === undefined);
    place.clearMarks();
    return [...new Set(faults), ...marks.map((mark) => `${mark} ran`)];
  }
}

/** Whether a text stands in another, also where that one is JSON around it. */
function isIn(text: string, place: string): boolean {
  return place.includes(text) || place.includes(JSON.stringify(text).slice(1, -1));
}

/** The sentence of an error, without what belongs to one request. */
function plainly(error: unknown): string {
  const text = String(error).replaceAll("\\", "");
  return (/"message":"([^"]*)|"error":"([^"]*)|error: (.*)/.exec(text)?.slice(1).find(Boolean) ?? text).slice(0, 160);
}
