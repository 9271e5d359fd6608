import { expect, test } from "vitest";
import { month } from "./index";

test("three letters", () => expect(month("January")).toBe("Jan"));
