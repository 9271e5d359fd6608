#!/usr/bin/env node
import { month } from "@almanac/text";

console.log(month(process.argv[2] ?? "March"));
