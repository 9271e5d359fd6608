import { readdirSync, writeFileSync } from "node:fs";

const names = readdirSync("icons").map((file) => file.replace(/\.svg$/, ""));
writeFileSync("src/generated/sprites.ts", `export const sprites = ${JSON.stringify(names)};\n`);
