module example.org/gull

go 1.23
