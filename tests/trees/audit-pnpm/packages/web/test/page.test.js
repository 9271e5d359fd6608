const test = require("node:test");
const assert = require("node:assert");
const { readFileSync } = require("fs");
const { page } = require("../src/page.js");

test("page", () => {
  assert.equal(page([1, 2]), readFileSync(`${__dirname}/page.txt`, "utf8").trim());
});
