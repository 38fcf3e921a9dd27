import { describe, expect, it } from "vitest";
import type { SimulatorOptions } from "../../simulator/index.ts";
import { millrace } from "../support/gateway-process.ts";
import { gateway, openai } from "../support/world.ts";
import { ask, machine, model, olderModel, prompted } from "./acp-machine.ts";

/** What a listed model says of itself beside OpenAI's fields. */
interface ListedModel {
  readonly millrace: { readonly backend: string };
}

/** What the agent was asked, as it was asked. */

describe("which backend", () => {
  it("an editor of before 3.9 keeps Cascade, unless the user decides", async () => {
    const old: SimulatorOptions = { profile: "devin-3", ideVersion: "3.8.20", cascade: "on" };
    const { home, ide, client, served } = await machine(old);
    const first = await client.chat.completions.create(ask("count to 7", olderModel)).withResponse();
    expect([first.response.headers.get("x-millrace-backend"), prompted(ide)]).toEqual(["cascade", []]);
    await served.stop();
    const byHand = openai(await gateway({ home, args: ["--backend", "acp"] }));
    const second = await byHand.chat.completions.create(ask("count to 8", olderModel)).withResponse();
    expect([second.response.headers.get("x-millrace-backend"), prompted(ide)]).toEqual(["acp", ["count to 8"]]);
  });

  it("a model that only the agent offers goes to it beside Cascade, in a request, a listing and doctor", async () => {
    const { home, ide, client, served } = await machine({ profile: "devin-3", ideVersion: "3.8.20", cascade: "on" });
    const backendOf = async (content: string, asked: string) => {
      const { response, data } = await client.chat.completions.create(ask(content, asked)).withResponse();
      return [response.headers.get("x-millrace-backend"), data.choices[0]?.message.content];
    };
    expect(await backendOf("count to 5", olderModel)).toEqual(["cascade", "1, 2, 3, 4, 5"]);
    expect(ide.agentReport().processes).toEqual([]);
    expect(await backendOf("count to 6", model)).toEqual(["acp", "1, 2, 3, 4, 5, 6"]);
    expect(await backendOf("count to 7", olderModel)).toEqual(["cascade", "1, 2, 3, 4, 5, 6, 7"]);
    expect(prompted(ide)).toEqual(["count to 6"]);

    const list = await client.models.list();
    const overAcp = list.data.filter((listed) => (listed as unknown as ListedModel).millrace.backend === "acp");
    expect(overAcp.map(({ id }) => id).toSorted()).toEqual([
      "claude-opus-5:high", // the language server lists it too, as one that the plan does not allow
      "claude-opus-5:medium",
      "claude-sonnet-5",
      "fusion-opus-swe",
      "gpt-5.6:high",
      "gpt-5.6:low",
      "swe-1.6:slow",
      "swe-2:high",
      "swe-2:max",
      "swe-2:medium",
    ]);
    expect(list.data.length).toBeGreaterThan(overAcp.length + 20);
    const listed = await millrace(["models", "--all", "--json"], { home });
    const { data } = JSON.parse(listed.stdout) as { readonly data: readonly object[] };
    expect(data).toContainEqual(expect.objectContaining({ name: model, backend: "acp" }));
    const { stdout } = await millrace(["doctor", "--json"], { home });
    expect(JSON.parse(stdout)).toMatchObject({
      backend: { kind: "cascade", beside: expect.stringContaining("Devin Desktop") as string },
      agents: [{ name: "devin", models: 11 }],
    });
    expect(stdout).toContain("Prompts to models that only");
    await served.stop();
  });

  it("an account whose plan does not allow Cascade is never sent there, and status and doctor say so", async () => {
    const plan = { allows: "cli" } as const;
    const { home, ide, client } = await machine({ profile: "devin-3", ideVersion: "3.8.20", cascade: "on", plan });
    const { response } = await client.chat.completions.create(ask("count to 7", olderModel)).withResponse();
    expect([response.headers.get("x-millrace-backend"), prompted(ide)]).toEqual(["acp", ["count to 7"]]);
    const { startedCascades, messages } = await ide.report();
    expect([startedCascades, messages]).toEqual([0, []]);
    expect((await millrace(["status"], { home })).stdout).toContain("without Cascade");
    expect((await millrace(["doctor"], { home })).stdout).toMatch(/plan does not allow Cascade/);
  });

  it("doctor and /metrics say which, why, and what the agent costs", async () => {
    const { home, served, client } = await machine({ profile: "devin-cli" });
    await client.chat.completions.create(ask("count to 7"));
    const { code, stdout } = await millrace(["doctor", "--json"], { home });
    expect(code).toBe(0);
    const report = JSON.parse(stdout) as Record<string, unknown>;
    expect(report).toMatchObject({
      backend: { kind: "acp", product: "Devin CLI" },
      agents: [{ name: "devin", models: 11, startup_ms: expect.any(Number) as number }],
    });
    const metrics = await fetch(`${served.url}/metrics`, { headers: { authorization: `Bearer ${served.key}` } });
    const text = await metrics.text();
    expect(text).toContain('millrace_agent_prompts{agent="devin"} 1');
    expect(text).toMatch(/^millrace_agent_startup_seconds\{agent="devin"\} 0?\.?\d/m);
  });
});
