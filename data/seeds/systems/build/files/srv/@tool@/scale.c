#include <math.h>
#include "scale.h"

double scale(double x)
{
    volatile double exact = sqrt(x * x);
    x = exact;
    return round(x * @factor@);
}
