import { describe, expect, it } from "vitest";
import { fakeConsents } from "../consents.fake.ts";
import { fakeGateway, guestKey } from "../gateway.fake.ts";

const agree = { ide: "windsurf", agree: true };
const path = "/dashboard/api/consents";

describe("the consents", () => {
  it("are given once for an IDE that is here, by the owner, who says so in the body", async () => {
    const { request } = fakeGateway({ consents: fakeConsents() });
    const listed = async () => ((await (await request(path)).json()) as { readonly data: readonly object[] }).data;
    const before = { ide: "windsurf", product: "Devin Desktop", text: "They use the plan.", accepted_at: null };
    expect(await listed()).toEqual([before]);
    const guest = { authorization: `Bearer ${guestKey}` };
    expect((await request(path, { json: agree, headers: guest })).status).toBe(403);
    expect((await request(path, { headers: guest })).status).toBe(403);
    for (const json of [{}, { ide: "windsurf" }, { ...agree, agree: false }, { ...agree, ide: "../key" }])
      expect((await request(path, { json })).status).toBe(400);
    expect(await listed()).toEqual([before]);

    const given = await request(path, { json: agree });
    expect(given.status).toBe(200);
    const after = [{ ...before, accepted_at: "2026-01-02T03:04:05.000Z" }];
    expect(await given.json()).toEqual({ object: "list", data: after });
    expect(await listed()).toEqual(after);
  });

  it("are none where nothing needs one", async () => {
    const { request } = fakeGateway();
    expect(await (await request(path)).json()).toEqual({ object: "list", data: [] });
    expect((await request(path, { json: agree })).status).toBe(400);
  });
});
