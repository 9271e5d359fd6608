const test = require("node:test");
const assert = require("node:assert");
test("the title", () => assert.equal(require("../src/app.js").title(), "Shop"));
