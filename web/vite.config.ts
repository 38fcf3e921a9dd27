import { readFileSync } from "node:fs";
import { join } from "node:path";
import { preact } from "@preact/preset-vite";
import { defineConfig, type Plugin } from "vite";

/**
 * The dashboard: static files for the gateway to serve under a strict policy. The page itself holds the styles and the script of its
 * first paint; the gateway allows these two by their hashes. All other styles come after what is painted first.
 */
export default defineConfig({
  root: import.meta.dirname,
  plugins: [preact({ devToolsEnabled: false, prefreshEnabled: false }), firstPaint()],
  build: {
    outDir: "../dist/dashboard",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 200,
  },
});

function firstPaint(): Plugin {
  const read = (name: string) => readFileSync(join(import.meta.dirname, "src", name), "utf8");
  const withoutComments = (text: string) =>
    text
      .replace(/\/\*.*?\*\//gs, "")
      .replace(/\n\s*/g, "\n")
      .trim();
  return {
    name: "first-paint",
    transformIndexHtml: {
      order: "post",
      handler(html) {
        const links: string[] = [];
        const without = html.replace(/\s*<link rel="stylesheet"[^>]*>/g, (link) => {
          links.push(link.trim());
          return "";
        });
        const style = `<style>${withoutComments(read("first-paint.css"))}</style>`;
        const script = `<script>${withoutComments(read("first-paint.js"))}</script>`;
        return without
          .replace("</title>", `</title>\n    ${style}\n    ${script}`)
          .replace("<noscript>", `${links.join("\n    ")}\n    <noscript>`);
      },
    },
  };
}
