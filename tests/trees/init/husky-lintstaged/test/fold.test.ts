import { expect, it } from "vitest";
import { fold } from "../src/fold";

it("halves the longer side", () => {
  expect(fold({ width: 210, height: 297 })).toEqual({ width: 148.5, height: 210 });
});
