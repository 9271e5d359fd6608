project = "plover"
