const test = require("node:test");
const assert = require("node:assert");
test("an order has a total", () => assert.equal(require("../src/server.js").order([2, 3]).total, 5));
