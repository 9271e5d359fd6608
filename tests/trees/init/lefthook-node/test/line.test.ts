import { expect, it } from "vitest";
import { length } from "../src/line";

it("adds up", () => {
  expect(length([{ x: 0, y: 0 }, { x: 3, y: 4 }])).toBe(5);
});
