const { mkdirSync, readFileSync, writeFileSync } = require("fs");
mkdirSync("dist", { recursive: true });
const banner = readFileSync("banner.txt", "utf8").trim();
writeFileSync("dist/index.js", `// ${banner}\n` + readFileSync("src/index.js", "utf8"));
