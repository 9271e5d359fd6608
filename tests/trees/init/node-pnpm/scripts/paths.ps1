param([switch]$Strict)
