#include "kite.h"
#include <stdlib.h>

int main(int argc, char **argv) {
    kite_draw(stdout, argc > 1 ? atoi(argv[1]) : 3);
    return 0;
}
