import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "jsonc-parser";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it, onTestFinished } from "vitest";
import { temporaryFolder } from "../../../test/support/temporary.ts";
import { startGateway } from "../compose/start-gateway.ts";
import { runMain } from "../run-main.fake.ts";
import { runCommand } from "./run.ts";
import { setupCommand } from "./setup.ts";
import { files, home, program } from "./setup-home.fake.ts";

/** A home with a gateway and no IDE, and the command line over it. */
async function emptyHome() {
  const homeFolder = temporaryFolder();
  const env = { PATH: join(homeFolder, "bin"), MILLRACE_IDE_ONLY_HOME: homeFolder };
  const gateway = await startGateway({ homeFolder, env });
  onTestFinished(() => gateway.close());
  const millrace = (...argv: string[]) => runMain(argv, [setupCommand, runCommand], { homeFolder, env });
  return { url: gateway.url, homeFolder, millrace, file: (name: string) => join(homeFolder, name) };
}

describe("without an IDE", () => {
  it("setup points a client at the gateway, names a model that every account resolves, and says what is to do", async () => {
    const { url, millrace, file } = await emptyHome();
    const { code, stderr } = await millrace("setup", "codex", "--yes");
    expect([code, stderr]).toEqual([0, expect.stringContaining("Codex is set up.")]);
    expect(stderr).toMatch(/No IDE runs.*claude-sonnet.*`--model` names another one.*before the first question/);
    expect(parseToml(readFileSync(file(files["codex"] ?? ""), "utf8"))).toMatchObject({
      model: "claude-sonnet",
      model_providers: { millrace: { base_url: `${url}/v1` } },
    });
  });

  it("setup asks nothing where nothing would change", async () => {
    const { millrace } = await emptyHome();
    await millrace("setup", "codex", "--yes");
    const { code, stdout, stderr } = await millrace("setup", "codex"); // there is no terminal to ask on
    expect([code, stdout]).toEqual([0, expect.stringContaining("(nothing to change)")]);
    expect(stderr).toContain("Codex is set up already.");
  });

  it("setup takes the model that was asked for", async () => {
    const { millrace, file } = await emptyHome();
    const { stderr } = await millrace("setup", "pi", "--yes", "--model", "gpt-5.5");
    expect(stderr).toContain("names only gpt-5.5.");
    expect(parse(readFileSync(file(".pi/agent/settings.json"), "utf8"))).toMatchObject({ defaultModel: "gpt-5.5" });
  });

  for (const [client, name] of Object.entries(files)) {
    it(`setup and --undo leave ${client} as it was`, async () => {
      const { millrace, file } = await emptyHome();
      expect((await millrace("setup", client, "--yes")).code).toBe(0);
      expect(existsSync(file(name))).toBe(true);
      expect(existsSync(file(".aider.model.metadata.json"))).toBe(false);
      expect((await millrace("setup", client, "--undo", "--yes")).code).toBe(0);
      expect(existsSync(file(name))).toBe(false);
    });
  }

  it("run says so at once, and does not start the client", async () => {
    const { millrace, homeFolder } = await emptyHome();
    program(homeFolder, "codex");
    const { code, stderr } = await millrace("run", "codex");
    expect([code, stderr]).toEqual([69, expect.stringMatching(/does not run here[^]*Start Devin Desktop/)]);
  });
});

describe("a setup that is repeated", () => {
  it("leaves no model of the first one behind, and still gives back the file from before it", async () => {
    const before = '{\n  "customModels": [{ "id": "own" }]\n}\n';
    const { millrace, file } = await emptyHome();
    const settings = files["droid"] ?? "";
    mkdirSync(dirname(file(settings)), { recursive: true });
    writeFileSync(file(settings), before);
    const ids = () => {
      const text = readFileSync(file(settings), "utf8");
      return (parse(text) as { readonly customModels: readonly { readonly id: string }[] }).customModels.map(
        (m) => m.id,
      );
    };
    await millrace("setup", "droid", "--yes");
    expect(ids()).toEqual(["own", "custom:millrace:claude-sonnet"]);
    writeFileSync(file(settings), readFileSync(file(settings), "utf8").replace('"own"', '"mine"'));
    await millrace("setup", "droid", "--yes", "--model", "gpt-5.5");
    expect(ids()).toEqual(["mine", "custom:millrace:gpt-5.5"]);
    await millrace("setup", "droid", "--undo", "--yes");
    expect(parse(readFileSync(file(settings), "utf8"))).toEqual({ customModels: [{ id: "mine" }] });
  });

  it("does not bring back a file that was deleted since", async () => {
    const { millrace, file, write } = await home();
    const name = files["claude-code"] ?? "";
    write(name, '{ "theme": "dark" }\n');
    await millrace(["setup", "claude-code", "--yes"]);
    rmSync(file(name));
    await millrace(["setup", "claude-code", "--yes"]);
    expect(readFileSync(file(name), "utf8")).not.toContain("theme");
    await millrace(["setup", "claude-code", "--undo", "--yes"]);
    expect(existsSync(file(name))).toBe(false);
  });
});
