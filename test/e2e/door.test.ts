import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { Ollama } from "ollama";
import OpenAI from "openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { ask, gateway, model, patience, patienceMs, world } from "../support/world.ts";

/** The status of `GET /api/tags` with these headers, by a program of this user or of another one. */
function curl(url: string, headers: Readonly<Record<string, string>> = {}, uid = process.getuid?.()) {
  const given = Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
  const script = ["-s", "-o", "/dev/null", "-w", "%{http_code}", ...given, `${url}/api/tags`];
  return new Promise<string>((resolve) => {
    execFile("curl", script, { uid, cwd: "/", signal: patience() }, (_error, stdout) => resolve(stdout));
  });
}

describe.runIf(process.platform === "linux")("a door", { timeout: patienceMs }, () => {
  it("lets a program with an address alone ask as its key, and nobody else, until the key is revoked", async () => {
    const { home, served } = await world({ args: ["--accept"] });
    const added = await millrace(["keys", "add", "notes", "--door", "--turns-per-day", "2", "--json"], { home });
    const { door } = JSON.parse(added.stdout) as { readonly door: string };

    const ollama = new Ollama({ host: door });
    expect((await ollama.list()).models.map(({ name }) => name)).toContain(model);
    expect((await ollama.show({ model })).capabilities).toContain("completion");
    const { message } = await ollama.chat(ask("[[sim: text=milled]]"));
    expect(message.content).toBe("milled");
    const openai = new OpenAI({ baseURL: `${door}/v1`, apiKey: "none", maxRetries: 0 });
    const { data, response } = await openai.chat.completions.create(ask("hello")).withResponse();
    expect(data.choices[0]?.finish_reason).toBe("stop");

    const turn = response.headers.get("x-millrace-turn");
    const owner = { headers: { authorization: `Bearer ${served.key}` } };
    const summary = await fetch(`${served.url}/dashboard/api/turns/${turn}/summary`, owner);
    expect(await summary.json()).toMatchObject({ key: "notes" });
    await expect(openai.chat.completions.create(ask("a third"))).rejects.toMatchObject({ status: 429 });
    expect((await fetch(`${door}/v1/usage`, owner)).status).toBe(403); // the owner's key is none here
    expect(await (await fetch(door)).text()).toContain("Ollama is running");

    expect(await curl(door)).toBe("200");
    expect(await curl(door, { origin: "https://evil.example" })).toBe("403");
    expect(await curl(door, { origin: door })).toBe("403");
    expect(await curl(door, { origin: "null" })).toBe("403");
    expect(await curl(door, { "sec-fetch-site": "cross-site" })).toBe("403");
    expect(await curl(door, { host: "evil.example" })).toBe("403");
    expect(await curl(door, { host: "127.0.0.1:1" })).toBe("403");
    expect(await curl(door, { host: door.replace("http://127.0.0.1", "0.0.0.0") })).toBe("403");
    const uids = process.getuid?.() === 0 ? [65_534] : []; // only root can start a program of another user
    expect(await Promise.all(uids.map((uid) => curl(door, {}, uid)))).toEqual(uids.map(() => "403"));

    const other = await millrace(["keys", "add", "twin", "--door", new URL(door).port], { home });
    expect([other.code, other.stderr]).toEqual([64, expect.stringContaining("is taken")]);
    expect((await millrace(["keys"], { home })).stdout).toContain(door);

    await served.stop();
    const next = await gateway({ home, args: ["--accept"] });
    expect(await curl(door)).toBe("200");
    expect((await millrace(["keys", "revoke", "notes"], { home })).code).toBe(0);
    expect(await curl(door)).toBe("000"); // nothing listens there
    await next.stop();
    await gateway({ home });
    expect(await curl(door)).toBe("000");
  });

  it("whose port is taken at the start is a note, and opens once the port is free", async () => {
    const { home, served } = await world();
    const added = await millrace(["keys", "add", "notes", "--door", "--json"], { home });
    const { door } = JSON.parse(added.stdout) as { readonly door: string };
    await served.stop();
    const stranger = createServer((socket) => void socket.end()).listen(Number(new URL(door).port), "127.0.0.1");
    onTestFinished(() => void stranger.close());
    await once(stranger, "listening");
    const next = await gateway({ home });
    expect(next.log()).toContain("The door of the key notes is closed");
    stranger.close();
    await once(stranger, "close");
    expect((await millrace(["keys"], { home })).code).toBe(0);
    expect(await curl(door)).toBe("200");
  });
});
