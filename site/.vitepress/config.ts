import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineConfig } from "vitepress";
import { anchorOf } from "../../scripts/docs/anchor.ts";
import { miniSearch } from "./search.ts";

const root = join(import.meta.dirname, "../..");
/** Files that pages link to and that are no pages. */
const linked = ["docs/openapi.yaml", "docs/config.schema.json", "proto/aiserver/v1/chat.proto"];

const page = (text: string, name: string) => ({ text, link: `/docs/${name}` });

/** These pages have tables that need the room of the outline. */
const wide = /^docs\/(retries|settings|turn-machine|wire\/.*)\.md$/;

/** Code in a sentence or a table: a line ends between its words, and inside a long one only where it has a sign. */
function keptWords(code: string): string {
  const word = (text: string) =>
    text.length > 18 ? text.replaceAll(/(?<=[\w;][./_,=:|-])(?=\w)/g, "<wbr>") : `<span class="word">${text}</span>`;
  return code.split(" ").map(word).join(" ");
}

/** The pages stand where they do in the repository, so that one link works in a clone, in the package and on the site. */
export default defineConfig({
  title: "Millrace",
  description: "Serves the models of your AI IDE on 127.0.0.1, through the OpenAI and Anthropic APIs.",
  srcDir: root,
  srcExclude: ["{bench,dist,records,scripts,site,src,test,web,proto}/**", ".bundle/**", "coverage/**"],
  outDir: join(root, "site/dist"),
  cacheDir: join(import.meta.dirname, "../node_modules/.vitepress"),
  rewrites: { "README.md": "index.md", "docs/dev/wire/README.md": "docs/dev/wire/index.md" },
  markdown: {
    anchor: { slugify: anchorOf },
    // Links to a README lead to the page that `rewrites` makes of it.
    config: (md) => {
      const { code_inline: inline } = md.renderer.rules;
      md.renderer.rules.code_inline = (...rule) =>
        (inline?.(...rule) ?? "").replace(/(?<=^<code[^>]*>).*(?=<\/code>$)/s, keptWords);
      md.core.ruler.push("readme", ({ tokens }) => {
        for (const link of tokens.flatMap(({ children }) => children ?? [])) {
          const target = link.type === "link_open" ? link.attrGet("href") : null;
          if (target !== null) link.attrSet("href", target.replace(/README\.md(?=#|$)/, "index.md"));
        }
      });
    },
  },
  transformPageData: (data) => (wide.test(data.filePath) ? { frontmatter: { ...data.frontmatter, aside: false } } : {}),
  themeConfig: {
    outline: [2, 3],
    search: { provider: "local", options: { miniSearch } },
    nav: [
      { text: "Start", link: "/" },
      page("Troubleshooting", "troubleshooting"),
      { text: "Reference", link: "/docs/cli" },
    ],
    sidebar: [
      {
        text: "Start",
        items: [
          { text: "What it is, and a quick start", link: "/" },
          page("FAQ", "faq"),
          page("Check this machine", "doctor"),
        ],
      },
      { text: "Clients", items: [page("Guides", "guides"), page("What was tried", "clients")] },
      {
        text: "Streams and resuming",
        items: [
          page("What survives what", "reliability"),
          page("Which failures may be sent again", "retries"),
          page("The client library", "client"),
        ],
      },
      { text: "Usage", items: [page("The meter", "usage")] },
      {
        text: "Running it",
        items: [
          page("Configuration", "configuration"),
          page("Reach it from elsewhere", "reach"),
          page("Agents that speak ACP", "agents"),
          page("The stand-in IDE", "simulator"),
          page("How an IDE is found", "discovery"),
          page("Performance", "performance"),
        ],
      },
      { text: "Troubleshooting", items: [page("By message", "troubleshooting")] },
      { text: "Security", items: [{ text: "Security", link: "/SECURITY" }] },
      {
        text: "Reference",
        items: [
          page("Command line", "cli"),
          page("Settings", "settings"),
          page("HTTP API", "http-api"),
          page("Stream protocol", "stream-protocol"),
          { text: "What the vendor's software speaks", link: "/docs/dev/wire/" },
          { text: "Changelog", link: "/CHANGELOG" },
        ],
      },
      {
        text: "Contributing",
        items: [
          { text: "Contributing", link: "/CONTRIBUTING" },
          page("Architecture", "architecture"),
          page("Folders", "folders"),
          page("A tour of the code", "tour"),
          page("The turn machine", "turn-machine"),
          page("Schemas out of a build", "schema"),
          page("Glossary", "glossary"),
        ],
      },
    ],
  },
  buildEnd({ outDir }) {
    for (const file of linked) {
      mkdirSync(dirname(join(outDir, file)), { recursive: true });
      copyFileSync(join(root, file), join(outDir, file));
    }
  },
});
