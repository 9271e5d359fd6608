module example.com/heron

go 1.24
