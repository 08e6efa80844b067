// Builds page/dist from page/src.
//
//   node build.mjs            writes dist/
//   node build.mjs --check    fails if dist/ is not what src/ gives
//   node build.mjs --tests    bundles tests/*.test.ts into build/tests/

import { build } from "esbuild";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(fileURLToPath(import.meta.url));
const at = (...parts) => join(root, ...parts);

/** The files of the page, by name. The code is left readable: what is checked in can be reviewed. */
async function page() {
  const { outputFiles } = await build({
    entryPoints: { app: at("src/main.ts") },
    bundle: true,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    write: false,
    outdir: at("dist"),
    absWorkingDir: root,
  });
  const files = new Map();
  files.set("app.js", outputFiles[0].text);
  for (const name of ["index.html", "app.css"]) files.set(name, await readFile(at("src", name), "utf8"));
  return files;
}

async function tests() {
  const names = (await readdir(at("tests"))).filter((name) => name.endsWith(".test.ts"));
  await build({
    entryPoints: names.map((name) => at("tests", name)),
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    outdir: at("build/tests"),
    absWorkingDir: root,
  });
}

if (process.argv.includes("--tests")) {
  await tests();
} else if (process.argv.includes("--check")) {
  for (const [name, text] of await page()) {
    if ((await readFile(at("dist", name), "utf8").catch(() => "")) !== text) {
      console.error(`dist/${name} is not what src/ gives: run \`npm run build\``);
      process.exitCode = 1;
    }
  }
} else {
  await mkdir(at("dist"), { recursive: true });
  for (const [name, text] of await page()) await writeFile(at("dist", name), text);
}
