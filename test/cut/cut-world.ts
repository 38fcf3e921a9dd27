import type { EventSourceMessage } from "eventsource-parser";
import { type GatewayProcess, startGatewayProcess } from "../support/gateway-process.ts";
import { openUpstream, type Upstream, type UpstreamName } from "../support/upstream.ts";
import { type Cut, CuttingProxy } from "./cutting-proxy.ts";
import { type Asked, eventsOf, exchange } from "./exchange.ts";
import type { Places } from "./places.ts";
import type { Surface } from "./surfaces.ts";

/** A real gateway and simulator, and a proxy that cuts what runs through it. Promises that break are told in words. */
export class CutWorld implements AsyncDisposable {
  readonly upstream: Upstream;
  readonly gateway: GatewayProcess;
  readonly #proxy: CuttingProxy;
  #questions = 0;

  private constructor(upstream: Upstream, gateway: GatewayProcess, proxy: CuttingProxy) {
    this.upstream = upstream;
    this.gateway = gateway;
    this.#proxy = proxy;
  }

  static async open(backend: UpstreamName = "Cascade"): Promise<CutWorld> {
    const turn = { rate: 1_000, chunk: 7, inputMs: 0, firstMs: 10, thinking: 0 };
    const upstream = await openUpstream(backend, turn);
    const gateway = await startGatewayProcess({ home: upstream.home, args: upstream.args });
    return new CutWorld(upstream, gateway, await CuttingProxy.open(Number(new URL(gateway.url).port)));
  }

  /**
   * One finished turn, asked for again and again through a response that is cut after the given bytes, both ways; each
   * time the client comes back with the id of the last event it got. Answers how many cuts there were.
   */
  async cutResponses(surface: Surface, places: Places, broken: string[]): Promise<number> {
    const ask = this.#question(surface, cutAnswer);
    return this.#cutEverywhere(surface.name, ask, places, broken);
  }

  /** As `cutResponses`, of a turn's own events (`GET /v1/turns/{id}/events`). */
  async cutFollower(surface: Surface, places: Places, broken: string[]): Promise<number> {
    const key = `followed-${this.#questions}`;
    await exchange(this.#port, this.#ask(surface, `Followed. ${cutAnswer}`, key, undefined));
    const authorization = `Bearer ${this.gateway.key}`;
    const listed = await exchange(this.#port, { method: "GET", path: "/v1/turns?limit=5", headers: { authorization } });
    const { data } = JSON.parse(listed.text) as { readonly data: readonly { id: string; idempotency_key: string }[] };
    const turn = data.find(({ idempotency_key }) => idempotency_key === key);
    if (turn === undefined) throw new Error(`the turn is not listed: ${listed.text}`);
    const ask: Ask = (after) => ({
      method: "GET",
      path: `/v1/turns/${turn.id}/events`,
      headers: { authorization, ...(after === undefined ? {} : { "last-event-id": after }) },
    });
    return this.#cutEverywhere("turns/events", ask, places, broken);
  }

  async #cutEverywhere(name: string, ask: Ask, places: Places, broken: string[]): Promise<number> {
    const whole = await exchange(this.#port, ask(undefined));
    const expected = eventsOf(whole.text);
    if (!whole.whole || expected.length < 3) throw new Error(`no whole answer to begin with: ${whole.text}`);
    const replay = await exchange(this.#port, ask(undefined)); // from the log, as every one after it
    let cuts = 0;
    for (const afterBytes of places.upTo(replay.bytes)) {
      for (const how of ["fin", "rst"] as const) {
        cuts++;
        const got = await this.#cutAndResume(ask, { direction: "down", afterBytes, how });
        const difference = compare(got, expected);
        if (difference !== undefined) broken.push(`${name}, ${how} after byte ${afterBytes}: ${difference}`);
      }
    }
    return cuts;
  }

  /** New turns whose stream is cut while it is written, at bytes that are spread over it. */
  async cutLive(surface: Surface, turns: number, broken: string[]): Promise<number> {
    for (let i = 0; i < turns; i++) {
      const text = `Live turn ${i} goes on for a while, so that it can be cut in the middle of what it says.`;
      const ask = this.#question(surface, `[[sim: text="${text}"]]`);
      const how = i % 2 === 0 ? "fin" : "rst";
      const afterBytes = 150 + Math.floor((i * 2_500) / turns);
      const got = await this.#cutAndResume(ask, { direction: "down", afterBytes, how });
      const expected = eventsOf((await exchange(this.#port, ask(undefined))).text);
      const difference = compare(got, expected);
      if (difference !== undefined) broken.push(`${surface.name}, live, ${how} at ${afterBytes}: ${difference}`);
    }
    return turns;
  }

  /** Requests that are cut after the given ones of their bytes and then sent again: each is one turn and one prompt. */
  async cutRequests(surface: Surface, places: Places, broken: string[]): Promise<number> {
    const length = this.#requestBytes(surface);
    const names: string[] = [];
    for (const afterBytes of places.upTo(length)) {
      for (const how of ["fin", "rst"] as const) {
        const name = `request-${surface.name}-${afterBytes}-${how}-end`;
        names.push(name);
        const ask = this.#question(surface, `${name} [[sim: text="ok" rate=instant]]`);
        this.#proxy.cut = { direction: "up", afterBytes, how };
        await exchange(this.#proxy.port, ask(undefined));
        const again = await exchange(this.#port, ask(undefined));
        if (again.status !== 200 || !again.whole) broken.push(`${name}: ${again.status} after the cut: ${again.text}`);
      }
    }
    const prompts = await this.upstream.prompts();
    for (const name of names) {
      const accepted = prompts.filter((text) => text.includes(name)).length;
      if (accepted !== 1) broken.push(`${name}: ${accepted} prompts`);
    }
    return names.length;
  }

  async #cutAndResume(ask: Ask, cut: Cut): Promise<readonly EventSourceMessage[]> {
    this.#proxy.cut = cut;
    const first = eventsOf((await exchange(this.#proxy.port, ask(undefined))).text);
    const last = first.findLast((event) => event.id !== undefined)?.id;
    if (last === undefined) return eventsOf((await exchange(this.#port, ask(undefined))).text);
    const rest = await exchange(this.#port, ask(last));
    return [...first.filter(isKept), ...eventsOf(rest.text)];
  }

  #question(surface: Surface, text: string): Ask {
    const number = this.#questions++;
    return (after) => this.#ask(surface, `Question ${number}. ${text}`, `key-${number}`, after);
  }

  #requestBytes(surface: Surface): number {
    const { path, headers, body = "" } = this.#ask(surface, "x".repeat(90), "key-1000", undefined);
    const head = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return `POST ${path} HTTP/1.1\r\n${head.join("")}host: 127.0.0.1:65535\r\nconnection: close\r\n\r\n${body}`.length;
  }

  #ask(surface: Surface, question: string, key: string, after: string | undefined): Asked {
    return surface.ask(question, key, this.gateway.key, after, this.upstream.model);
  }

  get #port(): number {
    return Number(new URL(this.gateway.url).port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
    await this.gateway.stop();
    await this.upstream[Symbol.asyncDispose]();
  }
}

type Ask = (after: string | undefined) => Asked;

/** Characters of one to four bytes, and a line end. */
const cutAnswer = '[[sim: text="Grüße, 世界 🙂! And a line\\nmore."]]';

/** Events without an id are no-ops (heartbeats): they may come or not. */
function isKept(event: EventSourceMessage): boolean {
  return event.id !== undefined;
}

function compare(got: readonly EventSourceMessage[], expected: readonly EventSourceMessage[]): string | undefined {
  const [a, b] = [got, expected].map((events) =>
    events.filter(isKept).map(({ id, event, data }) => `${id} ${event} ${data}`),
  );
  if (a === undefined || b === undefined) return undefined;
  const at = b.findIndex((event, i) => event !== a[i]);
  if (at >= 0) return `event ${at} is ${a[at] ?? "missing"} instead of ${b[at]}`;
  return a.length > b.length ? `${a.length - b.length} events too many` : undefined;
}
