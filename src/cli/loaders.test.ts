import { expect, test } from "vitest";
import { commandsFor } from "./main.ts";
import { outlines } from "./outlines.ts";

const names = Object.keys(outlines);

test("the command that is named is whole, and the others are what the list says of them", async () => {
  for (const argv of [
    ["keys", "--value"],
    ["--debug", "keys"],
    ["help", "keys"],
  ]) {
    const commands = await commandsFor(argv);
    expect(commands.map(({ name }) => name)).toEqual(names);
    expect(commands.filter(({ options }) => Object.keys(options).length > 0).map(({ name }) => name)).toEqual(["keys"]);
  }
});

test("without a command, or with one that does not exist, every command is listed and none is loaded", async () => {
  for (const argv of [[], ["--help"], ["kye"]]) {
    const commands = await commandsFor(argv);
    expect(commands.map(({ name, summary }) => [name, summary])).toEqual(
      Object.values(outlines).map(({ name, summary }) => [name, summary]),
    );
    expect(commands.every(({ options }) => Object.keys(options).length === 0)).toBe(true);
  }
});

test("each name loads the command of that name", async () => {
  for (const name of names) {
    const loaded = (await commandsFor([name])).find((command) => command.name === name);
    expect(loaded).toMatchObject(outlines[name as keyof typeof outlines]); // a key of it
    expect((loaded?.examples?.length ?? 0) + (loaded?.subcommands?.length ?? 0)).toBeGreaterThan(0);
  }
});
