import { expect } from "vitest";
import type { FakeGateway } from "../gateway.fake.ts";

/** The headers of a caller without a key. */
export const anonymous = { authorization: "" };

/** The headers of a browser that signed in to the dashboard by its link. */
export async function signedIn(fake: FakeGateway): Promise<Record<string, string>> {
  const link = (await (await fake.request("/v1/dashboard/link", { method: "POST" })).json()) as { path: string };
  const response = await fake.request(link.path, { headers: anonymous });
  expect(response.status).toBe(303);
  const cookie = response.headers.get("set-cookie")?.split(";")[0] ?? "";
  return { authorization: "", cookie, "sec-fetch-site": "same-origin" };
}
