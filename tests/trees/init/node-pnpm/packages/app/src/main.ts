import { waves } from "@sandpiper/shore";
console.log(waves(1));
