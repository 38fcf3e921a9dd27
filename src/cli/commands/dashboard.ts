import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { z } from "zod";
import { bestEffort } from "../../base/async.ts";
import { childEnvironment } from "../../base/node/child-environment.ts";
import { replaceFileSync } from "../../base/node/replace-file.ts";
import { defineCommand } from "../command.ts";
import { askGateway, type GatewayClient, needGateway } from "../gateway-process/gateway-client.ts";
import { linkFileIn } from "../gateway-process/gateway-file.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";
import type { Io } from "../terminal/output.ts";

const linkSchema = z.object({ path: z.string().startsWith("/#/sign-in/"), expires_in_seconds: z.number() });

export const dashboardCommand = defineCommand({
  ...outlines.dashboard,
  description:
    "Opens the dashboard of the running gateway. The link signs in one browser, works once, and expires after two minutes. The session lasts until eight days after its last use, even if the gateway restarts. The browser is started with the name of a file that only you can read, not with the link.",
  options: {
    print: flag("print the link and do not open it"),
    failed: flag("show the turns that failed"),
    json: flag("print the link as JSON and do not open it"),
  },
  examples: [
    ["millrace dashboard", "open it"],
    ["millrace dashboard --failed", "open it on the turns that failed"],
    ["millrace dashboard --print", "for a browser elsewhere on this machine"],
  ],
  async run({ options }, { io, out, settings, signal }) {
    const gateway = await needGateway("There is no dashboard to open", settings, signal);
    const { url, expiresInSeconds } = await askForLink(gateway, signal, options.failed ? "?status=failed" : "");
    if (options.json) return out.json({ url, expires_in_seconds: expiresInSeconds });
    out.line(url);
    out.note(`The link works once, within ${Math.round(expiresInSeconds / 60)} minutes.`);
    if (options.print || !out.isTerminal) return;
    const file = linkFileIn(settings.folder);
    replaceFileSync(file, redirectTo(url)); // the gateway removes it once the link is used, or has expired
    await openInBrowser(file, io);
    out.note("If no page opens, follow the link yourself: some packaged browsers cannot read hidden folders.");
  },
});

/** A link to the dashboard of a gateway that signs in one browser, once. `query` says what it shows. */
export async function askForLink(gateway: GatewayClient, signal: AbortSignal, query = "") {
  const link = await askGateway(gateway, "/dashboard/api/link", linkSchema, { method: "POST", signal });
  return { url: new URL(`${link.path}${query}`, gateway.url).href, expiresInSeconds: link.expires_in_seconds };
}

/** A page that leads a browser to the link. */
export const redirectTo = (url: string): string =>
  `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Millrace</title><meta http-equiv="refresh" content="0;url=${url}">\n`;

/**
 * Hands a file to the system's own opener, never through a shell. Other users can read a program's arguments, so the arguments name
 * the file and not the link. A failure changes nothing: the link is printed as well.
 */
async function openInBrowser(file: string, { platform, env }: Pick<Io, "platform" | "env">): Promise<void> {
  const [program, ...args] = {
    darwin: ["open"],
    win32: ["rundll32", "url.dll,FileProtocolHandler"],
  }[platform as string] ?? ["xdg-open"];
  if (program === undefined) return;
  const own = childEnvironment("own", env, platform);
  const opened = new Promise<void>((resolve, reject) => {
    const opener = spawn(program, [...args, pathToFileURL(file).href], { stdio: "ignore", detached: true, env: own });
    opener.once("error", reject);
    opener.once("spawn", () => {
      opener.unref();
      resolve();
    });
  });
  await bestEffort(opened);
}
