import { month } from "@almanac/text";

document.title = month("April");
