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

const attack = "\u001B]52;c;YQ==\u0007\u009B2Jsafe\rEVIL";
const shown = "␛]52;c;YQ==␇\uFFFD2Jsafe␍EVIL";

test("a terminal gets foreign text without its controls, from every verb that prints", () => {
  const { out, written } = outputTo(true, { NO_COLOR: "1" }, 200);
  out.line(attack);
  out.prose(attack);
  out.row(attack);
  out.write(attack);
  out.note(attack);
  out.talk(attack);
  out.problem({ message: attack, hint: attack });
  expect(written.screen.split(shown).length - 1).toBe(8);
  // oxlint-disable-next-line no-control-regex
  expect(written.screen).not.toMatch(/[\0-\u0009\u000B-\u001F\u007F-\u009F]/);
  out.json({ attack });
  // oxlint-disable-next-line no-control-regex
  expect(written.screen).not.toMatch(/[\0-\u0009\u000B-\u001F\u007F-\u009F]/);
});

test("styles are added after that", () => {
  const { out, written } = outputTo(true, {}, 200);
  out.line(out.style("bold", attack));
  out.line(out.style("red", attack));
  const own = ["\u001B[1m", "\u001B[22m", "\u001B[31m", "\u001B[39m"];
  let rest = written.screen;
  for (const code of own) {
    expect(rest).toContain(code);
    rest = rest.replaceAll(code, "");
  }
  expect(rest.replaceAll(shown, "").trim()).toBe("");
});

test("a pipe gets the bytes of an answer, and notes without controls", () => {
  const { out, written } = outputTo(false);
  out.write(attack);
  out.note(attack);
  expect([written.stdout, written.stderr]).toEqual([attack, `${shown}\n`]);
});

test("JSON has one style: names of members in snake_case, IDEs by today's names, texts of others unchanged", () => {
  const { out, written } = outputTo(false);
  const ofModels = { "gpt-5.2:high": 1, MODEL_X: 2 };
  out.json(
    { data: [{ eventId: "a1", ide: "windsurf", product: "windsurf", ofModels }], variant: "windsurf-next" },
    "line",
  );
  expect(written.stdout).toBe(
    '{"data":[{"event_id":"a1","ide":"devin","product":"windsurf","of_models":{"gpt-5.2:high":1,"MODEL_X":2}}],"variant":"devin-next"}\n',
  );
});
