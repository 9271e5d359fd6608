echo "#define VERSION \"$(cat "$1")\""
