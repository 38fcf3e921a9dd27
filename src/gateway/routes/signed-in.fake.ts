import { expect } from "vitest";
import type { FakeGateway } from "../gateway.fake.ts";

/** The headers of a caller without a key. */
export const anonymous = { authorization: "" };

/** The request that uses a link up, as the page makes it. */
export const signInPath = (link: string) => link.replace("/#/sign-in/", "/sign-in?code=");

/** What the page sends when the owner agrees that it shows texts. */
export const showTexts = { show: true, consent: true };

/** The headers of a page that signed in to the dashboard by its link, and shows texts if `withTexts`. */
export async function signedIn(fake: FakeGateway, withTexts = false): Promise<Record<string, string>> {
  const link = (await (await fake.request("/dashboard/api/link", { method: "POST" })).json()) as { path: string };
  const response = await fake.request(signInPath(link.path), { method: "POST", headers: anonymous });
  expect(response.status).toBe(200);
  const { session } = (await response.json()) as { session: string };
  const headers = { authorization: "", "x-millrace-session": session };
  if (withTexts) await fake.request("/dashboard/api/texts", { json: showTexts, headers });
  return headers;
}
