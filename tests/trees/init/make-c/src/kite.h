#ifndef KITE_H
#define KITE_H

#include <stdio.h>

void kite_draw(FILE *out, int height);

#endif
