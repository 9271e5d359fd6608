#define VERSION "1.0"
