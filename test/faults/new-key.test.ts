import { expect, test } from "vitest";
import { millrace } from "../support/gateway-process.ts";
import { temporaryHome } from "../support/home.ts";
import { ask, gateway, openai, patience, patienceMs, world } from "../support/world.ts";

/** The session of a page that used the link of `millrace dashboard`. */
async function signIn(url: string, link: string): Promise<{ readonly status: number; readonly session: string }> {
  const code = link.trim().split("/#/sign-in/")[1] ?? "";
  const answer = await fetch(`${url}/sign-in?code=${code}`, { method: "POST" });
  const { session = "" } = (await answer.json()) as { readonly session?: string };
  return { status: answer.status, session };
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

test(
  "`millrace keys --new` ends the old key, the dashboard's sessions and its unused links in a running gateway, and the new key works at once",
  async () => {
    const home = temporaryHome();
    const running = await gateway({ home });
    const link = async () => (await millrace(["dashboard", "--print"], { home })).stdout;
    const { session } = await signIn(running.url, await link());
    const unused = await link();
    const status = async (headers: Record<string, string>) =>
      (await fetch(`${running.url}/v1/turns`, { headers })).status;
    const inSession = { "x-millrace-session": session };
    expect([await status(bearer(running.key)), await status(inSession)]).toEqual([200, 200]);

    const { code, stdout } = await millrace(["keys", "--new", "--value"], { home });
    expect(code).toBe(0);
    expect(await status(bearer(running.key))).toBe(401);
    expect(await status(inSession)).toBe(401);
    expect((await signIn(running.url, unused)).status).not.toBe(200);
    expect(await status(bearer(stdout.trim()))).toBe(200);
    const again = await signIn(running.url, await link());
    expect(await status({ "x-millrace-session": again.session })).toBe(200);
  },
  patienceMs,
);

test(
  "an open stream of the dashboard shows nothing that begins after its key was replaced",
  async () => {
    const { home, served } = await world({});
    const { session } = await signIn(served.url, (await millrace(["dashboard", "--print"], { home })).stdout);
    const signal = patience();
    const feed = await fetch(`${served.url}/dashboard/api/turns/feed`, {
      headers: { "x-millrace-session": session },
      signal,
    });
    expect(feed.status).toBe(200);
    const { stdout } = await millrace(["keys", "--new", "--value"], { home });
    const asked = await openai({ url: served.url, key: stdout.trim() })
      .chat.completions.create(ask("after the change"))
      .withResponse();
    const seen = await feed.text(); // it ends
    expect(seen).not.toContain(asked.response.headers.get("x-millrace-turn"));
  },
  patienceMs,
);
