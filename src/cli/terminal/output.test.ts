import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { openOutput } from "./output.ts";

/** Both streams as one screen shows them, and each for itself. */
function outputTo(isTTY: boolean, env: Readonly<Record<string, string>> = {}, columns = 80) {
  const written = { screen: "", stdout: "", stderr: "" };
  const into = (name: "stdout" | "stderr") => {
    const stream = Object.assign(new PassThrough(), { isTTY, columns });
    stream.on("data", (chunk: Buffer) => {
      written[name] += chunk.toString();
      written.screen += chunk.toString();
    });
    return stream;
  };
  return { written, out: openOutput(into("stdout"), into("stderr"), env) };
}

describe("talk beside a result that is not finished", () => {
  test("begins a line of its own on a screen", () => {
    const { out, written } = outputTo(true);
    out.write("The wh");
    out.note("Gone.");
    out.note("Back.");
    out.write("eel");
    out.talk("hm");
    out.write(" turns");
    out.endLine();
    out.endLine();
    expect(written.screen).toBe("The wh\nGone.\nBack.\neel\nhm\n turns\n");
    expect(written.stdout.replaceAll("\n", "")).toBe("The wheel turns");
  });

  test("leaves what goes to a file unchanged", () => {
    const { out, written } = outputTo(false);
    out.talk("hm");
    out.write("The wh");
    out.note("Gone.");
    out.talk("and");
    out.write("eel");
    out.endLine();
    expect(written.stdout).toBe("The wheel\n");
    expect(written.stderr).toBe("hm\nGone.\nand\n");
  });
});

test("cuts a row where the terminal ends, and nowhere else", () => {
  const screen = outputTo(true, {}, 10);
  screen.out.row("0123456789");
  screen.out.row("0123456789abc");
  expect(screen.written.stdout).toBe("0123456789\n012345678…\n");
  const file = outputTo(false, {}, 10);
  file.out.row("0123456789abc");
  expect(file.written.stdout).toBe("0123456789abc\n");
});

test("colours a terminal only, and none under NO_COLOR", () => {
  expect(outputTo(true).out.style("bold", "x")).not.toBe("x");
  expect(outputTo(false).out.style("bold", "x")).toBe("x");
  expect(outputTo(true, { NO_COLOR: "1" }).out.style("bold", "x")).toBe("x");
});
