import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { z } from "zod";
import { bestEffort } from "../../base/async.ts";
import { barrierTo } from "../../base/node/file-access.ts";
import { defineCommand } from "../command.ts";
import { defaultLogFile, peopleLine } from "../gateway-process/gateway-log.ts";
import { flag, integer, text } from "../options.ts";
import { outlines } from "../outlines.ts";
import { exitCodes, nothingHere } from "../terminal/exit-codes.ts";

const lookEveryMs = 250;
const entrySchema = z.looseObject({ level: z.string(), time: z.iso.datetime(), event: z.string() });

export const logsCommand = defineCommand({
  ...outlines.logs,
  description:
    "Prints the log of a gateway that runs in the background or as a service. A gateway on a terminal writes its log to that terminal. Each line ends with the id of its request; the answer has the same id in x-request-id.",
  options: {
    follow: flag("keep printing new lines until Ctrl-C", { short: "f" }),
    lines: integer(
      "number of earlier lines to print first",
      "<count>",
      { min: 0, max: 1_000_000, initial: 50 },
      { short: "n" },
    ),
    file: text("another log file", "<file>", { defaultText: "~/.millrace/logs/gateway.log" }),
    json: flag("print the lines as JSON, as in the file"),
  },
  examples: [
    ["millrace logs --follow", "what happens now"],
    ["millrace logs -n 1000 --json | jq 'select(.level == \"warn\")'", "the warnings among the last lines"],
  ],
  async run({ options }, { io, out, signal, settings }) {
    const file = options.file ?? defaultLogFile(settings);
    if (!existsSync(file) && barrierTo(file)?.cannot !== "read") {
      throw nothingHere(
        `There is no log at ${file}.`,
        "A gateway writes it after `millrace serve --background` or `millrace service install`.",
      );
    }
    const print = (line: string) => {
      if (options.json) return out.line(line);
      const text = spelled(line);
      if (text !== undefined) out.prose(text);
    };
    const earlier = existsSync(`${file}.1`) ? readFileSync(`${file}.1`, "utf8") : "";
    const tail = openTail(file);
    const lines = [...earlier.split("\n").filter((line) => line !== ""), ...tail.read()];
    const shown = options.json ? lines : lines.filter((line) => spelled(line) !== undefined);
    for (const line of shown.slice(Math.max(0, shown.length - options.lines))) print(line);
    while (options.follow && !signal.aborted) {
      await bestEffort(io.clock.sleep(lookEveryMs, signal));
      for (const line of tail.read()) print(line);
    }
    tail.close();
    return exitCodes.ok;
  },
});

/** A line of the log for people; undefined where it tells them nothing. */
function spelled(line: string): string | undefined {
  let entry: z.output<typeof entrySchema>;
  try {
    entry = entrySchema.parse(JSON.parse(line));
  } catch {
    return line; // written for people already, or half of a line
  }
  const { level, time, event, ...fields } = entry;
  return peopleLine({ level, atMs: Date.parse(time), event, fields });
}

/** The whole lines that were added since the last reading, also over a rotation. */
function openTail(file: string): { read(): readonly string[]; close(): void } {
  let descriptor = openSync(file, "r");
  let at = 0;
  let rest = "";
  const readOn = () => {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(Math.max(0, size - at));
    at += readSync(descriptor, bytes, 0, bytes.length, at);
    rest += bytes.toString("utf8");
  };
  return {
    read() {
      readOn();
      if (existsSync(file) && statSync(file).ino !== fstatSync(descriptor).ino) {
        const next = openSync(file, "r");
        closeSync(descriptor);
        descriptor = next;
        at = 0;
        readOn();
      }
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      return lines.filter((line) => line !== "");
    },
    close: () => closeSync(descriptor),
  };
}
