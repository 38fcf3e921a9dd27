import type { ConsentBook } from "./http/options.ts";

/** One IDE that nobody has agreed to yet. */
export function fakeConsents(): ConsentBook {
  let acceptedAt: string | null = null;
  return {
    list: () =>
      Promise.resolve([{ ide: "windsurf", product: "Devin Desktop", text: "They use the plan.", acceptedAt }]),
    give(ide) {
      if (ide === "windsurf") acceptedAt ??= "2026-01-02T03:04:05.000Z";
      return Promise.resolve(ide === "windsurf");
    },
  };
}
