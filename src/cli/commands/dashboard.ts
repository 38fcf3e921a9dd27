import { spawn } from "node:child_process";
import { z } from "zod";
import { MillraceError } from "../../base/errors.ts";
import { defineCommand } from "../command.ts";
import { callGateway, findGateway } from "../gateway-process/gateway-client.ts";
import { flag } from "../options.ts";
import { outlines } from "../outlines.ts";

const linkSchema = z.object({ path: z.string().startsWith("/sign-in?code="), expires_in_seconds: z.number() });

export const dashboardCommand = defineCommand({
  ...outlines.dashboard,
  description:
    "Opens the dashboard of the running gateway. The link signs in one browser, works once, and expires after two minutes. The session lasts twelve hours, even if the gateway restarts.",
  options: {
    print: flag("print the link and do not open it"),
    json: flag("print the link as JSON and do not open it"),
  },
  examples: [
    ["millrace dashboard", "open it"],
    ["millrace dashboard --print", "for a browser elsewhere on this machine"],
  ],
  async run({ options }, { io, out, settings, signal }) {
    const gateway = await findGateway(settings, signal);
    if (gateway === undefined) {
      throw new MillraceError("ide_not_running", "There is no dashboard to open, because no gateway is running.", {
        hint: "Start one with `millrace serve`, in another terminal.",
      });
    }
    const response = await callGateway(gateway, "/v1/dashboard/link", { method: "POST", signal });
    const link = linkSchema.parse(await response.json());
    const url = new URL(link.path, gateway.url).href;
    if (options.json) return out.json({ url, expires_in_seconds: link.expires_in_seconds });
    out.line(url);
    out.note(`The link works once, within ${Math.round(link.expires_in_seconds / 60)} minutes.`);
    if (!options.print && out.isTerminal) await openInBrowser(url, io.platform);
  },
});

/** Hands the link to the system's own opener, as an argument, never through a shell. That it fails is no failure: the link is printed. */
async function openInBrowser(url: string, platform: NodeJS.Platform): Promise<void> {
  const [program, ...args] = {
    darwin: ["open"],
    win32: ["rundll32", "url.dll,FileProtocolHandler"],
  }[platform as string] ?? ["xdg-open"];
  if (program === undefined) return;
  await new Promise<void>((resolve) => {
    const opener = spawn(program, [...args, url], { stdio: "ignore", detached: true });
    opener.once("error", () => resolve());
    opener.once("spawn", () => {
      opener.unref();
      resolve();
    });
  });
}
