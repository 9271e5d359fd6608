module example.org/sum

go 1.23
