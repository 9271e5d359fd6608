project = "rookery"
