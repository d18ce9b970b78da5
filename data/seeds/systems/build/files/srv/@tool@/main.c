#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "scale.h"
#include "version.h"

int main(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "--version") == 0)
        printf("@tool@ %s (headers %d)\n", VERSION, HEADERS);
    else
        printf("%.0f\n", scale(atof(count > 1 ? words[1] : "0")));
    return 0;
}
