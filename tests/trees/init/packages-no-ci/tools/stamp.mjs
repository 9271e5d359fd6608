console.log("stamped");
