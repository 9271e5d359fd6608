// Every source file says "use strict" first.
const { readdirSync, readFileSync } = require("node:fs");
const sources = ["apps/api", "apps/web", "packages/core"].flatMap((dir) =>
  readdirSync(`${dir}/src`).map((name) => `${dir}/src/${name}`));
const bad = sources.filter((file) => !readFileSync(file, "utf8").startsWith('"use strict"'));
for (const file of bad) console.error(`${file}:1:1 error: not strict`);
process.exit(bad.length ? 1 : 0);
